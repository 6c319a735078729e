package synth

// Fabric is the network that the job's inter-node traffic used, and the reason.
type Fabric string

// The fabrics. "Everywhere" is meant unless the comment says otherwise.
const (
	// OnEFA means that the plugin chose efa.
	OnEFA Fabric = "on-efa"
	// OnEFAAfterRDMAAttempt means that the rdma protocol found nothing and the next attempt chose efa.
	OnEFAAfterRDMAAttempt Fabric = "on-efa-after-rdma-attempt"
	// OnEFAReselected means that tcp was selected first, efa last.
	OnEFAReselected Fabric = "on-efa-reselected"
	// OnEFAStacked means that the provider is efa;ofi_rxr.
	OnEFAStacked Fabric = "on-efa-stacked"
	// PluginMissing means sockets, because no plugin was found.
	PluginMissing Fabric = "plugin-missing"
	// PluginMissingPinned means that NCCL_NET names the missing plugin, so NCCL aborts.
	PluginMissingPinned Fabric = "plugin-missing-pinned"
	// PluginMissingOneNode means that the first process is on sockets, the others on EFA.
	PluginMissingOneNode Fabric = "plugin-missing-one-node"
	// DeviceMissing means sockets, because the plugin found no EFA device.
	DeviceMissing Fabric = "device-missing"
	// DeviceMissingPinned is DeviceMissing, but NCCL_NET names the plugin, so NCCL aborts.
	DeviceMissingPinned Fabric = "device-missing-pinned"
	// DeviceMissingOneRank is DeviceMissing for the first process only.
	DeviceMissingOneRank Fabric = "device-missing-one-rank"
	// LibfabricTooOld means that efa was selected, then the plugin failed; sockets.
	LibfabricTooOld Fabric = "libfabric-too-old"
	// EndpointFailed means that efa was selected, then the completion queue failed; sockets.
	EndpointFailed Fabric = "endpoint-failed"
	// InitFailureContradicted means that the plugin failed after selecting efa, but the channels name
	// it.
	InitFailureContradicted Fabric = "init-failure-contradicted"
	// ProviderTCP, ProviderCXI and ProviderVerbs mean that the plugin uses another provider.
	ProviderTCP   Fabric = "provider-tcp"
	ProviderCXI   Fabric = "provider-cxi"
	ProviderVerbs Fabric = "provider-verbs"
	// ProviderTCPOneRank is ProviderTCP for the first process only.
	ProviderTCPOneRank Fabric = "provider-tcp-one-rank"
	// ProviderReselectedTCP means that efa was selected first, tcp last.
	ProviderReselectedTCP Fabric = "provider-reselected-tcp"
	// SocketForced means NCCL_NET=Socket; the log shows no cause.
	SocketForced Fabric = "socket-forced"
	// SocketOneRank is SocketForced for the first process only; both sides hang.
	SocketOneRank Fabric = "socket-one-rank"
	// SocketOneRankConnected is SocketOneRank, but the connection succeeds.
	SocketOneRankConnected Fabric = "socket-one-rank-connected"
	// SocketOneChannel means that one channel line of the first process names Socket.
	SocketOneChannel Fabric = "socket-one-channel"
	// SocketSecondComm means that a second communicator of all ranks is on sockets.
	SocketSecondComm Fabric = "socket-second-comm"
	// SocketAgainstTCP means that one process is on sockets, the others on the plugin over tcp.
	SocketAgainstTCP Fabric = "socket-against-tcp"
	// InfiniBand means NCCL's own IB transport.
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

// fabricState is the resulting network of one process.
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

// fabricOf returns the resulting network of process p.
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

// pluginNetwork returns the name that the plugin gives itself.
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

// connects reports whether the communicator's connections succeed.
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

// provider returns the line for a selected libfabric provider.
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
