package api

import (
	"context"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
)

// Runtime runs the resources of the account: control planes, nodes and the pods of add-ons. The
// account calls it without holding its lock, and never twice at once for the same cluster.
type Runtime interface {
	// ClusterCreated starts (or, after a restart, finds again) a control plane and returns when its
	// API server responds.
	ClusterCreated(ctx context.Context, cluster ClusterSpec) (ClusterEndpoints, error)
	// ClusterDeleted stops the control plane and drops its data.
	ClusterDeleted(ctx context.Context, name string) error
	// NodesChanged takes the whole list of nodes that the cluster should have and
	// returns when those are Ready and the others are gone. A node that cannot
	// become Ready before ctx ends is an error: the node group then fails with
	// NodeCreationFailure.
	NodesChanged(ctx context.Context, cluster string, nodes []NodeSpec) error
	// AddonChanged takes the whole list of add-ons that the cluster should run and
	// returns when their objects are applied. It does not wait for pods.
	AddonChanged(ctx context.Context, cluster string, addons []AddonSpec) error
}

// ClusterSpec describes one EKS control plane.
type ClusterSpec struct {
	Name string `json:"name"`
	ARN  string `json:"arn"`
	// Version is the Kubernetes minor version, such as "1.36".
	Version string `json:"version"`
	// ServiceCIDR is the range of cluster IPs, 172.20.0.0/16 unless asked otherwise.
	ServiceCIDR string `json:"serviceCidr"`
	VPCID       string `json:"vpcId"`
	VPCCIDR     string `json:"vpcCidr"`
	// Issuer is the OIDC issuer that EKS announces for the cluster.
	Issuer string `json:"issuer"`
}

// ClusterEndpoints is how to reach a control plane.
type ClusterEndpoints struct {
	// Endpoint is the API server's URL.
	Endpoint string `json:"endpoint"`
	// CAData is the certificate authority in PEM, encoded in base64 once more, as
	// EKS returns it in certificateAuthority.data.
	CAData string `json:"caData"`
}

// NodeSpec is one EC2 instance of a node group, as the Kubernetes node it becomes.
type NodeSpec struct {
	// Name is the private DNS name, ip-10-0-1-23.us-east-2.compute.internal.
	Name string `json:"name"`
	// InstanceID is "i-" and 17 hexadecimal digits.
	InstanceID string `json:"instanceId"`
	// ProviderID is aws:///ZONE/INSTANCE, as the AWS cloud provider writes it.
	ProviderID   string `json:"providerId"`
	NodeGroup    string `json:"nodeGroup"`
	InstanceType string `json:"instanceType"`
	Region       string `json:"region"`
	Zone         string `json:"zone"`
	PrivateIP    string `json:"privateIp"`
	// Labels are the node group's and those that EKS and the kubelet add.
	Labels map[string]string `json:"labels"`
	Taints []Taint           `json:"taints"`
	// CPU and memory, whole and as the kubelet of an EKS AMI leaves to pods.
	CPUMillis            int `json:"cpuMillis"`
	AllocatableCPUMillis int `json:"allocatableCpuMillis"`
	MemoryMiB            int `json:"memoryMiB"`
	AllocatableMemoryMiB int `json:"allocatableMemoryMiB"`
	MaxPods              int `json:"maxPods"`
	// GPUs is what the NVIDIA device plugin will find: 0 on an AMI without a driver.
	GPUs int `json:"gpus"`
	// EFAInterfaces is what the EFA device plugin will find.
	EFAInterfaces int             `json:"efaInterfaces"`
	Facts         nodefacts.Facts `json:"facts"`
}

// Taint is a Kubernetes taint; Effect is spelled as Kubernetes does (NoSchedule).
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// AddonSpec is one add-on that a cluster runs.
type AddonSpec struct {
	// Name is vpc-cni, coredns, kube-proxy, eks-pod-identity-agent, ...
	Name    string `json:"name"`
	Version string `json:"version"`
	// Configuration is the JSON or YAML that the user gave, or "".
	Configuration string `json:"configuration"`
	// SelfManaged is true for the copies that EKS installs by itself when a
	// cluster is created with bootstrapSelfManagedAddons.
	SelfManaged bool `json:"selfManaged"`
}
