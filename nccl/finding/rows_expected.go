package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// expectedRows contains the findings about unmet expectations.
var expectedRows = map[Code]words{
	WorldSizeMismatch: {
		name: "world-size-mismatch", severity: report.Error,
		cause:   "the largest communicator does not have the expected number of ranks",
		next:    "check the number of workers and GPUs per worker, and that these are this run's logs",
		how:     "--world-size, or the gate, gave a number of ranks that no communicator has.",
		sources: []string{"NCCL src/init.cc"},
	},
	NodesMismatch: {
		name: "nodes-mismatch", severity: report.Error,
		cause:   "the run does not have the expected number of nodes",
		next:    "check the number of nodes and pods, and that these are this run's logs",
		how:     "--nodes, or the gate, gave a number of nodes that the run does not show.",
		sources: []string{"NCCL src/init.cc"},
	},
	ProviderUnexpected: {
		name: "provider-unexpected", severity: report.Error,
		cause:   "the run used efa although another provider was expected",
		next:    "remove --provider, or correct FI_PROVIDER",
		how:     "--provider names a provider other than efa.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	SizeConflict: {
		name: "size-conflict", severity: report.Error,
		cause:   "ranks disagree about the size of one communicator, or a rank is outside it",
		next:    "judge one run's logs at a time",
		how:     "Logs of two runs are mixed, or a line was changed.",
		sources: []string{"NCCL src/init.cc"},
	},
}
