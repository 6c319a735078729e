package jobs

// Expectations is what the gate wants to see. All of it is part of the proof.
type Expectations struct {
	// WorldSize is the exact number of ranks.
	WorldSize int `pulumi:"worldSize"`
	// Nodes is the exact number of GPU nodes that the ranks span.
	Nodes int `pulumi:"nodes"`
	// GPUsPerNode is the allocatable nvidia.com/gpu of each GPU node.
	GPUsPerNode int `pulumi:"gpusPerNode"`
	// EFAPerNode is the allocatable vpc.amazonaws.com/efa of each GPU node.
	EFAPerNode int `pulumi:"efaPerNode"`
	// Provider is the libfabric provider that must carry the traffic: "efa".
	Provider string `pulumi:"provider"`
	// EFACounters makes unreadable EFA hardware counters a failure. Where they
	// are readable, too few bytes are one in any case.
	EFACounters bool `pulumi:"efaCounters"`
	// Probes makes a worker pod in which fi_info finds no EFA, or finds nothing
	// out, a refusal before the job. When false it is a warning, or a note.
	Probes bool `pulumi:"probes"`
}

// Finding is one thing that the preflight or the evidence shows.
type Finding struct {
	// Code is stable and kebab-case, such as "efa-device-missing".
	Code string `pulumi:"code"`
	// Severity is "error", "warning" or "note".
	Severity string `pulumi:"severity"`
	// Rank is the rank concerned; nil when it concerns the run.
	Rank *int `pulumi:"rank,optional"`
	// File and Line say where the evidence lies; Line is 1-based, 0 for none.
	File string `pulumi:"file"`
	Line int    `pulumi:"line"`
	// Text is the evidence itself: a log line or an observed value.
	Text string `pulumi:"text"`
	// Cause says why, Next what to run about it.
	Cause string `pulumi:"cause"`
	Next  string `pulumi:"next"`
}

// Rank is one row of the per-rank table.
type Rank struct {
	Rank int `pulumi:"rank"`
	// Node is Ray's id of the node that the rank ran on.
	Node string `pulumi:"node"`
	Host string `pulumi:"host"`
	PID  int    `pulumi:"pid"`
	// File is the rank's NCCL log, relative to the report's folder.
	File string `pulumi:"file"`
	// Network is NCCL's name of the network plugin, Provider libfabric's of
	// what carries it; each is empty when the log does not tell.
	Network  string `pulumi:"network"`
	Provider string `pulumi:"provider"`
	// Channels counts the rank's channel lines by transport.
	Channels map[string]int `pulumi:"channels"`
}

// Node is one GPU node as it was when the job was submitted.
type Node struct {
	Name string `pulumi:"name"`
	// GPUs and EFA are the allocatable nvidia.com/gpu and vpc.amazonaws.com/efa.
	GPUs int `pulumi:"gpus"`
	EFA  int `pulumi:"efa"`
}

// Pod is one pod of the RayCluster as it was when the job was submitted.
type Pod struct {
	Name string `pulumi:"name"`
	Node string `pulumi:"node"`
	Head bool   `pulumi:"head"`
	// ImageDigest is what the Ray container really ran, "sha256:...".
	ImageDigest string `pulumi:"imageDigest"`
	// Current tells whether the pod was made from the RayCluster's present
	// template; nil when the spec does not tell.
	Current *bool `pulumi:"current,optional"`
	// FIInfo is what `fi_info -p efa` found in a worker pod: "efa", "none" or
	// "unknown".
	FIInfo string `pulumi:"fiInfo"`
	// DriverVersion is the NVIDIA driver's, CUDAVersion the newest CUDA that it
	// serves, as nvidia-smi tells them in a worker pod; empty when unknown.
	DriverVersion string `pulumi:"driverVersion"`
	CUDAVersion   string `pulumi:"cudaVersion"`
}

// The answers of a probe.
const (
	Found   = "efa"
	Missing = "none"
	Unknown = "unknown"
)

// Counters is how far the EFA hardware counters of all worker pods moved
// between just before the job and just after it.
type Counters struct {
	TxBytes float64 `pulumi:"txBytes"`
	RxBytes float64 `pulumi:"rxBytes"`
	// Devices is the number of RDMA devices that were read.
	Devices int `pulumi:"devices"`
	// LeastBytes is what the job must have moved each way; 0 when no bound is
	// known for its model.
	LeastBytes float64 `pulumi:"leastBytes"`
}
