package synth

// Fabric says what the job's inter-node traffic really used, and how it
// came to that.
type Fabric string

// The fabrics. "Everywhere" is meant unless the comment says otherwise.
const (
	// OnEFA: the plugin chose efa.
	OnEFA Fabric = "on-efa"
	// OnEFAAfterRDMAAttempt: the rdma protocol found nothing, the next attempt chose efa.
	OnEFAAfterRDMAAttempt Fabric = "on-efa-after-rdma-attempt"
	// OnEFAReselected: tcp was selected first, efa last.
	OnEFAReselected Fabric = "on-efa-reselected"
	// OnEFAStacked: the provider is efa;ofi_rxr.
	OnEFAStacked Fabric = "on-efa-stacked"
	// PluginMissing: sockets, because no plugin was found.
	PluginMissing Fabric = "plugin-missing"
	// PluginMissingPinned: NCCL_NET demands the missing plugin; NCCL aborts.
	PluginMissingPinned Fabric = "plugin-missing-pinned"
	// PluginMissingOneNode: the first process is on sockets, the others on EFA.
	PluginMissingOneNode Fabric = "plugin-missing-one-node"
	// DeviceMissing: sockets, because the plugin found no EFA device.
	DeviceMissing Fabric = "device-missing"
	// DeviceMissingPinned: as before, but NCCL_NET demands the plugin; NCCL aborts.
	DeviceMissingPinned Fabric = "device-missing-pinned"
	// DeviceMissingOneRank: the first process only.
	DeviceMissingOneRank Fabric = "device-missing-one-rank"
	// LibfabricTooOld: efa was selected, then the plugin failed; sockets.
	LibfabricTooOld Fabric = "libfabric-too-old"
	// EndpointFailed: efa was selected, then no completion queue; sockets.
	EndpointFailed Fabric = "endpoint-failed"
	// InitFailureContradicted: the plugin failed after selecting efa, and yet the
	// channels name it.
	InitFailureContradicted Fabric = "init-failure-contradicted"
	// ProviderTCP, ProviderCXI, ProviderVerbs: the plugin on another provider.
	ProviderTCP   Fabric = "provider-tcp"
	ProviderCXI   Fabric = "provider-cxi"
	ProviderVerbs Fabric = "provider-verbs"
	// ProviderTCPOneRank: the first process only.
	ProviderTCPOneRank Fabric = "provider-tcp-one-rank"
	// ProviderReselectedTCP: efa was selected first, tcp last.
	ProviderReselectedTCP Fabric = "provider-reselected-tcp"
	// SocketForced: NCCL_NET=Socket; the log shows no cause.
	SocketForced Fabric = "socket-forced"
	// SocketOneRank: the first process only; both sides hang.
	SocketOneRank Fabric = "socket-one-rank"
	// SocketOneRankConnected: as before, but it connects.
	SocketOneRankConnected Fabric = "socket-one-rank-connected"
	// SocketOneChannel: one channel line of the first process names Socket.
	SocketOneChannel Fabric = "socket-one-channel"
	// SocketSecondComm: a second communicator of all ranks is on sockets.
	SocketSecondComm Fabric = "socket-second-comm"
	// SocketAgainstTCP: one process on sockets, the others on the plugin over tcp.
	SocketAgainstTCP Fabric = "socket-against-tcp"
	// InfiniBand: NCCL's own IB transport.
	InfiniBand Fabric = "infiniband"
)

// Fabrics lists every fabric.
func Fabrics() []Fabric {
	return []Fabric{
		OnEFA, OnEFAAfterRDMAAttempt, OnEFAReselected, OnEFAStacked,
		PluginMissing, PluginMissingPinned, PluginMissingOneNode,
		DeviceMissing, DeviceMissingPinned, DeviceMissingOneRank,
		LibfabricTooOld, EndpointFailed, InitFailureContradicted,
		ProviderTCP, ProviderCXI, ProviderVerbs, ProviderTCPOneRank, ProviderReselectedTCP,
		SocketForced, SocketOneRank, SocketOneRankConnected, SocketOneChannel, SocketSecondComm,
		SocketAgainstTCP, InfiniBand,
	}
}

// fabricState is what one process ends up with.
type fabricState struct {
	network  string   // of `Using network`; "" when NCCL aborts
	attempts []string // providers selected, in order; "none" for an attempt that found nothing
	failure  initFailure
	missing  bool // no plugin library
	forced   bool // the plugin is not even tried
}

// initFailure is how the plugin failed, if it did.
type initFailure uint8

const (
	noFailure initFailure = iota
	noProvider
	tooOld
	noQueue
)

// fabricOf says what process p ends up with.
func (w *world) fabricOf(p *process) fabricState {
	plugin := w.pluginNetwork()
	efa := fabricState{network: plugin, attempts: []string{"efa"}}
	tcp := fabricState{network: plugin, attempts: []string{"tcp"}}
	socket := fabricState{network: "Socket", forced: true}
	missing := fabricState{network: "Socket", missing: true}
	noDevice := fabricState{network: "Socket", attempts: []string{"none"}, failure: noProvider}
	ib := ""
	if w.run.Fabric == InfiniBand {
		ib = []string{"IB", "IBext_v8", "IBext"}[w.rng.IntN(3)]
	}
	// The state of most processes, and that of the different one.
	all := map[Fabric]fabricState{
		OnEFAAfterRDMAAttempt:   {network: plugin, attempts: []string{"none", "efa"}},
		OnEFAReselected:         {network: plugin, attempts: []string{"tcp;ofi_rxm", "efa"}},
		OnEFAStacked:            {network: plugin, attempts: []string{"efa;ofi_rxr"}},
		PluginMissing:           missing,
		PluginMissingPinned:     {missing: true},
		DeviceMissing:           noDevice,
		DeviceMissingPinned:     {attempts: []string{"none"}, failure: noProvider},
		LibfabricTooOld:         {network: "Socket", attempts: []string{"efa"}, failure: tooOld},
		EndpointFailed:          {network: "Socket", attempts: []string{"efa"}, failure: noQueue},
		InitFailureContradicted: {network: plugin, attempts: []string{"efa"}, failure: noQueue},
		ProviderTCP:             tcp,
		ProviderCXI:             {network: plugin, attempts: []string{"cxi"}},
		ProviderVerbs:           {network: plugin, attempts: []string{"verbs;ofi_rxm"}},
		ProviderReselectedTCP:   {network: plugin, attempts: []string{"efa", "tcp"}},
		SocketForced:            socket,
		SocketAgainstTCP:        tcp,
		InfiniBand:              {network: ib, forced: true},
	}
	odd := map[Fabric]fabricState{
		PluginMissingOneNode: missing, DeviceMissingOneRank: noDevice, ProviderTCPOneRank: tcp,
		SocketOneRank: socket, SocketOneRankConnected: socket, SocketAgainstTCP: socket,
	}
	if s, ok := odd[w.run.Fabric]; ok && p == w.different {
		return s
	}
	if s, ok := all[w.run.Fabric]; ok {
		return s
	}
	return efa
}

// pluginNetwork is the name that the plugin gives itself.
func (w *world) pluginNetwork() string {
	switch {
	case !w.run.Plugin.AtLeast(13, 0):
		return "AWS Libfabric"
	case w.run.Pin != "":
		return w.run.Pin
	default:
		return "Libfabric"
	}
}

// connects says whether the communicator's connections succeed.
func (w *world) connects(c *comm) bool {
	if w.run.Damage == NeverConnected {
		return c.nodes() < 2
	}
	switch w.run.Fabric {
	case SocketOneRank, PluginMissingOneNode, DeviceMissingOneRank, SocketAgainstTCP, ProviderTCPOneRank:
		// Two networks in one communicator hang; communicators without the different
		// process do not.
		odd, even := false, false
		for _, m := range c.members {
			odd = odd || m.proc == w.different
			even = even || m.proc != w.different
		}
		return c.nodes() < 2 || !odd || !even
	}
	return true
}

// provider is the line for a selected libfabric provider.
func (w *world) provider(name string) string {
	nics := max(1, w.run.GPUs/2)
	fabric := map[bool]string{true: "efa", false: "172.31.32.0/20"}[name == "efa" || name == "efa;ofi_rxr"]
	if fabric == "efa" && w.run.Plugin.AtLeast(16, 0) && w.rng.IntN(2) == 0 {
		fabric = "efa-direct"
	}
	v := w.run.Plugin
	switch {
	case v.AtLeast(14, 0):
		return "NET/OFI Selected provider is " + name + ", fabric is " + fabric + " (found " + itoa(nics) + " nics)"
	case v.AtLeast(6, 0) || v.Suffix == "aws":
		return "NET/OFI Selected Provider is " + name + " (found " + itoa(nics) + " nics)"
	default:
		return "NET/OFI Selected Provider is " + name
	}
}
