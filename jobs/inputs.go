package jobs

import (
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// VerdictNone is the exported verdict when no job ran: the job is switched off, or refused before
// it started. It never passes the gate.
const VerdictNone report.Verdict = "none"

// Inputs is TrainingJobArgs with its outputs resolved, as the provider gets it. The SDK pairs the
// two by field name; TrainingJobArgs explains the fields.
type Inputs struct {
	Kubeconfig            string            `provider:"secret" pulumi:"kubeconfig"`
	ClusterName           string            `pulumi:"clusterName"`
	Namespace             string            `pulumi:"namespace"`
	RayCluster            string            `pulumi:"rayCluster"`
	ImageDigest           string            `pulumi:"imageDigest"`
	Environment           map[string]string `pulumi:"environment"`
	LaunchTemplateVersion string            `pulumi:"launchTemplateVersion"`
	AMIRelease            string            `pulumi:"amiRelease"`
	InstanceType          string            `pulumi:"instanceType"`
	ChartVersions         map[string]string `pulumi:"chartVersions"`
	RayClusterSpec        string            `pulumi:"rayClusterSpec"`
	Training              train.Config      `pulumi:"training"`
	Entrypoint            string            `pulumi:"entrypoint,optional"`
	WorkingDir            string            `pulumi:"workingDir,optional"`
	WorkingDirDigest      string            `pulumi:"workingDirDigest,optional"`
	Pip                   []string          `pulumi:"pip,optional"`
	Expectations          Expectations      `pulumi:"expectations"`
	StartupSeconds        int               `pulumi:"startupSeconds"`
	DeadlineSeconds       int               `pulumi:"deadlineSeconds"`
	PendingSeconds        int               `pulumi:"pendingSeconds,optional"`
	NoProgressSeconds     int               `pulumi:"noProgressSeconds,optional"`
	FailFast              bool              `pulumi:"failFast,optional"`
	OnCancel              OnCancel          `pulumi:"onCancel,optional"`
	HourlyUSD             float64           `pulumi:"hourlyUsd"`
	AWSRegion             string            `pulumi:"awsRegion"`
	EFASecurityGroupID    string            `pulumi:"efaSecurityGroupId,optional"`
	EvidenceDir           string            `pulumi:"evidenceDir"`
}

// OnCancel is what happens to a running job when its update is canceled.
type OnCancel string

// The values; empty means LeaveJob.
const (
	// LeaveJob lets the job run on. The next update continues with it.
	LeaveJob OnCancel = "leave"
	// StopJob stops the job. The next update runs a new attempt.
	StopJob OnCancel = "stop"
)

// OnCancels returns every value.
func OnCancels() []OnCancel { return []OnCancel{LeaveJob, StopJob} }

// Expectations is what the gate requires of the cluster and the run. All of it is part of the
// proof.
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
	// RequireEFACounters makes unreadable EFA hardware counters a failure. Where they are readable,
	// too few bytes are a failure in any case.
	RequireEFACounters bool `pulumi:"requireEfaCounters"`
	// RequireFIInfo refuses the job when fi_info finds no EFA in a worker pod, or returns no result.
	// When false, the first is a warning and the second a note.
	RequireFIInfo bool `pulumi:"requireFiInfo"`
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
	// ImageDigest is the digest of the image that the Ray container runs, "sha256:...".
	ImageDigest string `pulumi:"imageDigest"`
	// Current reports whether the pod was created from the RayCluster's current template; nil when
	// unknown.
	Current *bool `pulumi:"current,optional"`
	// FIInfo is what `fi_info -p efa` found in a worker pod.
	FIInfo FIInfo `pulumi:"fiInfo"`
	// DriverVersion is the NVIDIA driver's, CUDAVersion the newest CUDA that it supports, as
	// nvidia-smi prints them in a worker pod; empty when unknown.
	DriverVersion string `pulumi:"driverVersion"`
	CUDAVersion   string `pulumi:"cudaVersion"`
}

// FIInfo is the outcome of `fi_info -p efa` in a pod.
type FIInfo string

// The outcomes.
const (
	FIInfoEFA     FIInfo = "efa"
	FIInfoNone    FIInfo = "none"
	FIInfoUnknown FIInfo = "unknown"
)
