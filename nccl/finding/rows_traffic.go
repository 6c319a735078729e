package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// trafficRows contains the findings about the network that was used.
var trafficRows = map[Code]words{
	LinesOutOfOrder: {
		name: "lines-out-of-order", severity: report.Error,
		cause: "the lines are not in the order in which NCCL printed them: a communicator starts after " +
			"it was complete",
		next: "sort the lines by time, oldest first: `tac FILE | raytrain verdict -` for an export with " +
			"the newest line first",
		how: "Log systems export the newest line first, or merge streams by a coarse time. Channels are " +
			"proven by the Connected line that follows them, so the order matters.",
		sources: []string{"NCCL src/init.cc"},
	},
	MixedTransports: {
		name: "mixed-transports", severity: report.Error,
		cause: "part of the inter-node traffic used EFA and part did not",
		next: "compare the ranks listed on each transport: all nodes must use the same image, " +
			"environment and EFA device request",
		how:     "Some ranks or communicators used EFA and others did not.",
		sources: []string{"DESIGN.md"},
	},
	ProviderNotEFA: {
		name: "provider-not-efa", severity: report.Error,
		cause: "the plugin uses a libfabric provider other than efa; the NCCL lines look the same",
		next:  "set FI_PROVIDER=efa, and run `fi_info -p efa` in the pod: it must list a device",
		how: "The plugin works over any libfabric provider. Its NCCL lines are the same over tcp, " +
			"cxi and verbs; only the selected provider differs.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp", "aws-ofi-nccl#803"},
	},
	OtherNetwork: {
		name: "other-network", severity: report.Error,
		cause: "inter-node channels run over a network that is not EFA; NCCL changes to it without " +
			"a warning",
		next: "set NCCL_NET=Libfabric so that the next run fails instead, and read the plugin findings " +
			"of this report for the reason",
		how: "NCCL chooses the first network that works: the plugin, then InfiniBand, then sockets. A " +
			"job over sockets succeeds, but is slower.",
		sources: []string{"NCCL src/transport/net.cc", "NCCL src/init.cc"},
	},
	NetworkMismatch: {
		name: "channel-off-network", severity: report.Error,
		cause: "a channel uses a network other than the one that its rank reported",
		next: "collect each rank's log in its own file (NCCL_DEBUG_FILE=/tmp/nccl.%h.%p) and judge " +
			"those",
		how:     "Lines of two processes were mixed in one log, or a line was changed.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	MNNVLBetweenNodes: {
		name: "mnnvl-between-nodes", severity: report.Error,
		cause: "ranks of different hosts are joined by multi-node NVLink, an inter-node transport " +
			"that is not EFA",
		next: "set NCCL_MNNVL_ENABLE=0 to prove EFA, or accept NVLink and do not gate this job on " +
			"EFA",
		how:     "On racks with multi-node NVLink (GB200) NCCL joins hosts by NVLink.",
		sources: []string{"NCCL src/transport/p2p.cc"},
	},
	UnknownTransport: {
		name: "unknown-transport", severity: report.Error,
		cause: "a channel uses a transport that this version does not know, so it cannot say " +
			"whether it crosses nodes",
		next: "update raytrain; a new form is one entry in nccl/internal/record/forms.go",
		how: "The channel line has a form that is not known here: a new release of NCCL, or a " +
			"fork.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	NeverConnected: {
		name: "never-connected", severity: report.Error,
		cause: "channels were set up but never connected: on EFA the usual reason is a security group " +
			"without self-referencing egress",
		next: "check that the EFA security group allows all traffic from and to itself, in both " +
			"directions; then look for a hang or crash of a peer",
		how: "NCCL prints a channel when it is set up and `Connected all rings` once the connection " +
			"works. A job that hangs in between prints only the first. This happens when a security group " +
			"blocks EFA traffic.",
		sources: []string{"NCCL src/transport/net.cc", "NCCL src/init.cc", "nccl#1597", "aws-ofi-nccl#24"},
	},
}
