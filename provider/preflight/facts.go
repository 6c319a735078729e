// Package preflight checks whether the cluster can run the job before the job is submitted, and
// explains why not. It also reads facts from the pods: fi_info, the driver and the EFA hardware
// counters.
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
	// Nodes holds the GPU nodes: those of the required instance type.
	Nodes []Node
	// Pods holds the RayCluster's pods.
	Pods []Pod
	// Warnings holds the recent warning events of the RayCluster, as "REASON: MESSAGE".
	Warnings []string
	// Ray holds Ray's nodes; nil if RayError is set.
	Ray      []rayapi.Node
	RayError error
}

// dashboardDown reports whether Ray's dashboard cannot be reached although the head's pod is ready.
func (f Facts) dashboardDown() bool {
	return errors.Is(f.RayError, rayapi.ErrUnreachable) && slices.ContainsFunc(f.Pods, Pod.readyHead)
}

// tokenRejected reports whether the head rejects the RayCluster's token.
func (f Facts) tokenRejected() bool { return errors.Is(f.RayError, rayapi.ErrUnauthorized) }

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
	// Absent is why the node has no such pod; empty if it has one or one is starting.
	Absent string
	// UnlistedType reports whether that is because the chart does not list the node's instance type.
	UnlistedType bool
	// Reason is why it does not run, such as "CrashLoopBackOff"; empty when it runs.
	Reason string
}

// Pod is one pod of the RayCluster.
type Pod struct {
	Name string
	Head bool
	// Node is the node that it was bound to; empty before that.
	Node  string
	Ready bool
	// Reason is why it is not ready, as reported by Kubernetes.
	Reason string
	// CPU is the Ray container's request, as Kubernetes writes it.
	CPU string
	// EFA is how many EFA devices the Ray container requests.
	EFA int64
	// ImageID is the image that the Ray container runs; empty until it runs.
	ImageID string
	// Group is KubeRay's name for the group of the pod, Annotations are those of the pod.
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
	// Templates holds the annotations of each group's pod template; nil if the spec has none.
	Templates Templates
	// RequireFIInfo is jobs.Expectations.RequireFIInfo. CUDA is true when the job computes on GPUs.
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
