// Package settings is the one place that reads the stack's Pulumi config: typed, validated, every error reported at once.
package settings

import (
	"net/netip"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Namespace is the config namespace, the name of the Pulumi project.
const Namespace = "ray-train-efa"

// Settings is everything that a stack can choose. Parse is the only way to make one, so every value in it has been checked.
type Settings struct {
	// Region is the AWS region of everything in the stack.
	Region string
	// ClusterName is the EKS cluster's name, fixed before creation because the Kubernetes provider is identified by it.
	ClusterName string
	// KubernetesVersion is the EKS minor version, such as 1.36.
	KubernetesVersion string
	// VPC is the address block of the VPC.
	VPC netip.Prefix
	// Zone is the availability zone of all nodes; empty means the first one that offers both instance types.
	Zone string
	// PublicAccess lists who may reach the API server from outside the VPC; empty turns the public endpoint off.
	PublicAccess []netip.Prefix
	// AdminPrincipals are ARNs of IAM principals that become cluster administrators beside the creator.
	AdminPrincipals []string
	// LogRetentionDays is how long the control plane's logs are kept.
	LogRetentionDays int
	// GPU is the node group that trains.
	GPU NodeGroup
	// System is the node group of the head, the operator and CoreDNS.
	System NodeGroup
	// Image is what head and workers run.
	Image Image
	// Charts are the Helm charts of the device plugins and the operator.
	Charts Charts
	// Ray is the shape of the RayCluster.
	Ray Ray
	// Job is the training job whose transport is judged.
	Job Job
	// MaxHourlyUSD is the hourly price above which preview and up refuse.
	MaxHourlyUSD float64
	// Prices replaces or adds prices per instance type, in USD per hour.
	Prices map[string]float64
}

// NodeGroup is one EKS managed node group of fixed size.
type NodeGroup struct {
	// InstanceType is the EC2 instance type.
	InstanceType string
	// Nodes is the fixed number of instances.
	Nodes int
	// AMIRelease is the EKS AMI release version, such as 1.36.2-20260714.
	AMIRelease string
	// VolumeGiB is the size of the root volume.
	VolumeGiB int
}

// Image is a container image by digest, never by tag.
type Image struct {
	// Repository is registry and path without tag or digest.
	Repository string
	// Digest is sha256:<64 hex digits>.
	Digest string
}

// Reference is the image as a pod names it.
func (i Image) Reference() string { return i.Repository + "@" + i.Digest }

// Charts are the three Helm charts that the stack installs.
type Charts struct {
	NVIDIA, EFA, KubeRay Chart
	// EFAImage is the image repository of the EFA device plugin; empty means EKS's own registry in the stack's region.
	EFAImage string
	// Timeout is how long one release may take to become ready.
	Timeout time.Duration
}

// Chart is a Helm chart's origin.
type Chart struct {
	// Repository is an http(s) chart repository or an oci:// registry folder.
	Repository string
	// Version is the exact chart version.
	Version string
}

// Ray is the shape of the RayCluster.
type Ray struct {
	// Version is the Ray version in the image; KubeRay wants it for token authentication.
	Version string
	// Namespace holds the RayCluster and everything that belongs to it.
	Namespace string
	// HeadCPU is the head's CPU request and limit, as a Kubernetes quantity.
	HeadCPU string
	// HeadMemory is the head's memory request and limit, as a Kubernetes quantity.
	HeadMemory string
	// HeadObjectStoreMiB is the head's share of /dev/shm, which counts against its memory limit.
	HeadObjectStoreMiB int
	// WorkerObjectStoreMiB is a worker's share of /dev/shm, which counts against its memory limit.
	WorkerObjectStoreMiB int
}

// Job is the training job that the gate judges.
type Job struct {
	// Enabled is false to stand the platform up alone.
	Enabled bool
	// Training is what the job computes.
	Training train.Config
	// Startup is how long the RayCluster may take until it can run the job.
	Startup time.Duration
	// Deadline is how long the job may run before it is stopped and judged on what it left.
	Deadline time.Duration
	// Environment overrides variables of the workers; an empty value takes one away.
	Environment map[string]string
	// RequireEFACounters makes EFA hardware counters that cannot be read a failure. Readable ones must reach a bound always.
	RequireEFACounters bool
	// RequireFIInfo refuses the job unless fi_info finds EFA in every worker pod.
	RequireFIInfo bool
	// EvidenceDir is the local folder for reports.
	EvidenceDir string
}
