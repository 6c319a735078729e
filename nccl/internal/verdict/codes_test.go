package verdict_test

import (
	"slices"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fire is one way to make a finding: edits of a proof that holds.
type fire struct {
	code   finding.Code
	rank0  func([]string) []string
	rank1  func([]string) []string
	opts   nccl.Options
	only   bool // rank 0's log alone
	append string
}

// first puts messages before all others.
func first(more ...string) func([]string) []string {
	return func(m []string) []string { return append(append([]string{}, more...), m...) }
}

func none([]string) []string { return nil }

// fires lists how each code comes about.
func fires() []fire {
	unselected := replace("NET/OFI Selected provider is efa, fabric is efa (found 1 nics)", "Initialized NET plugin Libfabric")
	plugin := func(line string) func([]string) []string { return both(unselected, first(line)) }
	return []fire{
		{code: finding.OtherNetwork, rank1: replace("Libfabric", "Socket")},
		{code: finding.ProviderNotEFA, rank1: replace("provider is efa", "provider is tcp")},
		{code: finding.MixedTransports, rank1: replace("Libfabric", "Socket")},
		{code: finding.TwoNetworks, rank1: replace("Libfabric", "Socket")},
		{code: finding.NetworkMismatch, rank1: replace("via NET/Libfabric", "via NET/OFI")},
		{code: finding.MNNVLBetweenNodes, rank1: appended("Channel 01/0 : 1[0] -> 0[0] via P2P/MNNVL", "Connected all rings")},
		{code: finding.UnknownTransport, rank1: after("[send]", "Channel 01/0 : 1[0] -> 0[0] via PIGEON/0")},
		{code: finding.PluginNotFound, rank1: plugin("NET/Plugin: Could not find: libnccl-net.so")},
		{code: finding.PluginLoadError, rank1: plugin("NET/Plugin: libnccl-net-ofi.so: undefined symbol: fi_getinfo")},
		{code: finding.PinnedNetworkAbsent, rank0: none, rank1: func([]string) []string { return []string{"Failed to initialize any NET plugin"} }},
		{code: finding.NoEligibleProvider, rank1: plugin("NET/OFI No eligible providers were found")},
		{code: finding.EFADeviceMissing, rank1: plugin("NET/OFI Only EFA provider is supported")},
		{code: finding.LibfabricTooOld, rank1: plugin("NET/OFI EFA provider requires at least libfabric version 1.18.0.")},
		{code: finding.EndpointFailed, rank1: plugin("NET/OFI Creating new endpoint for device 0 failed. RC: -12")},
		{code: finding.QueueFailed, rank1: plugin("NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory")},
		{code: finding.GDRRefused, rank1: first("NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR")},
		{code: finding.PluginInitFailed, rank1: plugin("NET/OFI aws-ofi-nccl initialization failed")},
		{code: finding.ProviderFailedLater, rank1: after("Selected", "NET/OFI aws-ofi-nccl initialization failed")},
		{code: finding.SocketInterfaceWrong, rank1: first("Bootstrap : no socket interface found")},
		{code: finding.BootstrapOnLoopback, rank1: first("Bootstrap: Using lo:127.0.0.1<0>")},
		{code: finding.NeverConnected, rank1: without("Connected")},
		{code: finding.MagicFlood, rank1: appended("socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<34568>")},
		{code: finding.TransferFailed, rank1: appended("NET/OFI Request 0x7f completed with error. RC: 21. Error: unknown error")},
		{code: finding.RemoteLost, rank1: appended("socketProgress: Connection closed by remote peer host-0<40001>")},
		{code: finding.PeerUnreachable, rank1: appended("NET/OFI Unable to insert remote address into address vector for device 0. RC: -22")},
		{code: finding.DeviceCountsDiffer, rank1: appended("Detected mixed local Net device counts across ranks (min 1, max 4). Ignoring due to NCCL_IGNORE_NET_MISMATCH.")},
		{code: finding.NoNCCLLines, rank0: none, rank1: none, append: "step 1 loss 2.0\n"},
		{code: finding.DebugTooLow, rank0: none, rank1: none, append: "NCCL version 2.29.7+cuda13.0\n"},
		{code: finding.SubsystemMask, rank0: none, rank1: both(first("NCCL_DEBUG_SUBSYS set by environment to NET"), both(without("omm"), without("Using network")))},
		{code: finding.RankMissing, only: true},
		{code: finding.NodeMissing, only: true},
		{code: finding.NetworkUnknown, rank1: without("Using network")},
		{code: finding.ProviderUnknown, rank1: without("Selected")},
		{code: finding.NoTraffic, rank0: both(without("via"), without("Connected")), rank1: both(without("via"), without("Connected"))},
		{code: finding.NoInterNode, rank0: both(replace("nNodes 2", "nNodes 1"), without("via")), rank1: both(replace("nNodes 2", "nNodes 1"), without("via"))},
		{code: finding.PointToPointUnproven, rank1: appended("Channel 00/1 : 1[0] -> 0[0] [send] via NET/Libfabric/0/Shared")},
		{code: finding.RayDeduplicated, rank1: replace("use ring PXN 0 GDR 0", "use ring PXN 0 GDR 0 [repeated 3x across cluster]")},
		{code: finding.LinesOutOfOrder, rank1: func(m []string) []string { slices.Reverse(m); return m }},
		{code: finding.LogCut, rank0: none, rank1: func(m []string) []string { return m[5:] }},
		{code: finding.TornLines, rank1: appended("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Libf")},
		{code: finding.VersionTooOld, rank1: first("NCCL version 2.4.8+cuda10.1")},
		{code: finding.InitIncomplete, rank0: func(m []string) []string { return m[:4] }, rank1: func(m []string) []string { return m[:4] }},
		{code: finding.OneSided, rank1: without("[receive]")},
		{code: finding.WorldSizeMismatch, opts: nccl.Options{WorldSize: 4}},
		{code: finding.NodesMismatch, opts: nccl.Options{Nodes: 3}},
		{code: finding.ProviderUnexpected, opts: nccl.Options{Provider: "tcp"}},
		{code: finding.SizeConflict, rank1: replace("nranks 2", "nranks 3")},
		{code: finding.SeveralRuns, rank1: appended("Bootstrap: Using eth0:10.0.0.1<0>", "comm 0x9 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0")},
		{code: finding.StaleRun, append: "old:7:7 [0] NCCL INFO ncclCommInitRankConfig comm 0x77 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xabc - Init START\n"},
		{code: finding.AttemptFailed, append: "old:7:7 [0] NCCL INFO Failed to initialize any NET plugin\n"},
		{code: finding.TwoNCCLVersions, rank0: first("NCCL version 2.29.7+cuda13.0"), rank1: first("NCCL version 2.28.9+cuda13.0")},
		{code: finding.TwoPluginVersions, rank0: first("NET/OFI Initializing aws-ofi-nccl 1.20.0"), rank1: first("NET/OFI Initializing aws-ofi-nccl 1.19.0")},
		{code: finding.HostsShareName, rank0: replace("nNodes 2", "nNodes 3"), rank1: replace("nNodes 2", "nNodes 3")},
		{code: finding.GDRAbsent},
		{code: finding.FewerDevices, rank1: replace("found 1 nics", "found 4 nics")},
		{code: finding.UnbalancedChannels, rank1: both(
			after("[send]", "Channel 01/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0", "Channel 02/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0"),
			after("[send]", "Channel 03/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0", "Channel 04/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0",
				"Channel 05/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0", "Channel 06/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0"))},
		{code: finding.UnusedCommunicator, rank0: both(without("via"), without("Connected")), rank1: both(without("via"), without("Connected"))},
		{code: finding.GetinfoFailed, rank1: plugin("NET/OFI fi_getinfo() call failed: No data available")},
		{code: finding.DuplicateGPU, rank1: appended("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000")},
		{code: finding.MemoryRegistrationFailed, rank1: appended("NET/OFI Unable to register memory (type = 2) for device 0. RC: -22, Error: Invalid argument")},
		{code: finding.RailsDiffer, rank1: appended("NET/OFI Unexpected number of remote rails for dev 3. Expected 4 but got 1")},
		{code: finding.OneHost, rank0: none, rank1: func([]string) []string { return append(provenRank(0), provenRank(1)...) }},
		{code: finding.HostsRedacted, rank0: none, rank1: none, append: "[0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0\n"},
		{code: finding.UnexplainedWarning, append: "host-1:101:101 [0] enqueue.cc:1 NCCL WARN Mismatched collective detected\n"},
		{code: finding.RCCL, rank1: first("RCCL version : 2.22.3-HEAD:6a1fae3")},
		{code: finding.ProofProvider},
		{code: finding.ProofNetwork},
		{code: finding.ProofChannel},
		{code: finding.ProofConnected},
	}
}

// TestEveryCodeFires makes each finding once, by a change to a proof that does
// not hold it (the notes of the proof itself apart), and expects its words.
func TestEveryCodeFires(t *testing.T) {
	t.Parallel()
	fired := map[finding.Code]bool{}
	for _, f := range fires() {
		fired[f.code] = true
		t.Run(f.code.String(), func(t *testing.T) {
			t.Parallel()
			var sources []nccl.Source
			for rank, edit := range []func([]string) []string{f.rank0, f.rank1} {
				messages := provenRank(rank)
				if edit != nil {
					messages = edit(messages)
				}
				sources = append(sources, nccl.BytesSource("rank.log", logOf(rank, messages)))
			}
			if f.only {
				sources = sources[:1]
			}
			if f.append != "" {
				sources = append(sources, nccl.BytesSource("more.log", []byte(f.append)))
			}
			report, err := nccl.Judge(t.Context(), sources, f.opts)
			require.NoError(t, err)
			var codes []string
			for _, x := range report.Findings {
				codes = append(codes, x.Code)
			}
			assert.Contains(t, codes, f.code.String())
			_, cause, next := f.code.Describe(finding.Plain)
			assert.NotEmpty(t, cause)
			assert.NotEmpty(t, next)
		})
	}
	for _, c := range finding.Codes() {
		assert.True(t, fired[c], "no test makes %s", c)
	}
}
