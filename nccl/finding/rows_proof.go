package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// proofRows contains the lines that a verdict is based on.
var proofRows = map[Code]words{
	ProofProvider: {
		name: "proof-provider", severity: report.Note,
		cause:   "the libfabric provider that the plugin selected last",
		next:    "nothing to do",
		how:     "The last `Selected provider` line of a rank's process.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	ProofNetwork: {
		name: "proof-network", severity: report.Note,
		cause:   "the network that the communicator uses",
		next:    "nothing to do",
		how:     "The rank's `Using network` line.",
		sources: []string{"NCCL src/init.cc"},
	},
	ProofChannel: {
		name: "proof-channel", severity: report.Note,
		cause:   "an inter-node channel and its transport",
		next:    "nothing to do",
		how:     "The first channel line of its kind.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	ProofConnected: {
		name: "proof-connected", severity: report.Note,
		cause:   "the channels were connected",
		next:    "nothing to do",
		how:     "The first `Connected` line after the channels.",
		sources: []string{"NCCL src/init.cc"},
	},
}
