// Package preflight checks, before anything is submitted, whether the cluster can run the job, and
// if not, why and what to run about it. It also reads what only the pods know: fi_info, the driver
// and the EFA hardware counters.
package preflight

import (
	"errors"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// The resources that device plugins make allocatable.
const (
	GPUResource = "nvidia.com/gpu"
	EFAResource = "vpc.amazonaws.com/efa"
)

// Facts is the state of the cluster at one moment.
type Facts struct {
	// Nodes holds the GPU nodes: those of the wanted instance type.
	Nodes []Node
	// Pods holds the RayCluster's pods.
	Pods []Pod
	// Ray holds the nodes that Ray knows; nil when RayError says why not.
	Ray      []rayapi.Node
	RayError error
}

// dashboardDown reports whether Ray's dashboard does not answer although the head's pod is ready.
func (f Facts) dashboardDown() bool {
	return errors.Is(f.RayError, rayapi.ErrUnreachable) && slices.ContainsFunc(f.Pods, Pod.readyHead)
}

func (p Pod) readyHead() bool { return p.Head && p.Ready }

// Node is one Kubernetes node.
type Node struct {
	Name  string
	Ready bool
	// GPUs and EFA are allocatable amounts.
	GPUs, EFA int64
	// EFAPlugin and GPUPlugin are the device plugins' pods on this node.
	EFAPlugin, GPUPlugin Plugin
}

// Plugin is a device plugin's pod on one node.
type Plugin struct {
	// Pod is "namespace/name"; empty when the node has none.
	Pod string
	// Absent is why the node has no pod of it; empty when it has one, or will have one soon.
	Absent string
	// Trouble is why it does not run, such as "CrashLoopBackOff"; empty when it runs.
	Trouble string
}

// Pod is one pod of the RayCluster.
type Pod struct {
	Name string
	Head bool
	// Node is the node that it was bound to; empty before that.
	Node  string
	Ready bool
	// Trouble is why it is not ready, in Kubernetes' words.
	Trouble string
	// CPU is the Ray container's request, as Kubernetes writes it.
	CPU string
	// EFA is how many EFA devices the Ray container requests.
	EFA int64
	// ImageID is the image that the Ray container runs; empty until it runs.
	ImageID string
	// Group is KubeRay's name of the pod's group, Annotations are the pod's own.
	Group       string
	Annotations map[string]string
}

// Wanted is what the job requires.
type Wanted struct {
	InstanceType string
	Nodes        int
	GPUsPerNode  int
	EFAPerNode   int
	// ImageDigest ends in "sha256:...".
	ImageDigest string
	Namespace   string
	RayCluster  string
	// Templates holds what each group's template writes on its pods; nil when the spec does not
	// contain it.
	Templates Templates
	// RequireFIInfo is the expectation of that name. CUDA is true when the job computes on GPUs.
	RequireFIInfo, CUDA bool
}

// NewWanted returns what a job with these inputs requires.
func NewWanted(in jobs.Inputs) Wanted {
	return Wanted{
		InstanceType: in.InstanceType, Nodes: in.Expectations.Nodes,
		GPUsPerNode: in.Expectations.GPUsPerNode, EFAPerNode: in.Expectations.EFAPerNode,
		ImageDigest: in.ImageDigest, Namespace: in.Namespace, RayCluster: in.RayCluster,
		Templates:     ReadTemplates(in.RayClusterSpec),
		RequireFIInfo: in.Expectations.RequireFIInfo, CUDA: in.Training.Device == train.CUDA,
	}
}
