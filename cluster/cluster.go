// Package cluster creates the EKS control plane, its add-ons and its two node groups.
package cluster

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// Args describes the cluster.
type Args struct {
	// Name is the EKS cluster's name.
	Name string
	// Region is the AWS region in the kubeconfig.
	Region region.Region
	// KubernetesVersion is the EKS minor version.
	KubernetesVersion string
	// PublicAccessCIDRs may reach the API server from outside. With none, the public endpoint is off.
	PublicAccessCIDRs settings.CIDRs
	// AdminPrincipalARNs become cluster administrators, in addition to the creator.
	AdminPrincipalARNs []string

	// VPCID and the subnets come from the network.
	VPCID                 pulumi.StringInput
	ControlPlaneSubnetIDs pulumi.StringArrayInput
	NodeSubnetID          pulumi.StringInput
	// SecretsKeyARN is the KMS key of the Kubernetes secrets.
	SecretsKeyARN pulumi.StringInput
	// EFASecurityGroupID is the security group that EFA needs.
	EFASecurityGroupID pulumi.StringInput
	// PlacementGroupName is the placement group of the GPU nodes; nil for none.
	PlacementGroupName pulumi.StringInput

	// ReservationID is the capacity reservation that the stack made for the GPU nodes; nil for none.
	ReservationID pulumi.StringInput

	// GPU and System are the node groups.
	GPU    settings.GPU
	System settings.NodeGroup
	// Tags are on every volume and instance. The provider's default tags do not reach what a launch
	// template starts.
	Tags map[string]string
	// GPUType describes the GPU group's instance type.
	GPUType capacity.InstanceType
	// FastImagePull lets nodes pull the layers of an image in parallel.
	FastImagePull bool
	// Addons are the versions of the add-ons.
	Addons settings.AddonVersions
	// LeaseEnd is when AWS scales the GPU nodes to zero; the zero time means never.
	LeaseEnd time.Time
	// Protect makes Pulumi refuse to delete the control plane.
	Protect bool
	// AWS is the provider for the control plane's component, which does not inherit one.
	AWS *aws.Provider
}

// Cluster is an EKS cluster with its node groups.
type Cluster struct {
	pulumi.ResourceState

	// Name is the cluster's name, known once the cluster exists.
	Name pulumi.StringOutput
	// Kubeconfig is the kubeconfig of the cluster. It is a secret.
	Kubeconfig pulumi.StringOutput
	// LaunchTemplateVersion is the version that the GPU nodes boot.
	LaunchTemplateVersion pulumi.StringOutput
	// GPUAMIRelease is the EKS AMI release that the GPU nodes boot.
	GPUAMIRelease pulumi.StringOutput
	// Kubernetes is the provider of everything inside the cluster.
	Kubernetes *kubernetes.Provider
	// Made holds the resources to depend on; see infra.Network.Made.
	Made []pulumi.Resource
}

// New creates the control plane, the add-ons that nodes need, the nodes, and the add-ons that need
// nodes, in this order.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Cluster, error) {
	c := &Cluster{}
	if err := ctx.RegisterComponentResource("ray-train-efa:cluster:Cluster", name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering cluster %q: %w", name, err)
	}
	b := builder{ctx: ctx, args: args, parent: pulumi.Parent(c)}
	roles, err := b.nodeRoles()
	if err != nil {
		return nil, err
	}
	control, err := b.controlPlane(roles.nodes)
	if err != nil {
		return nil, err
	}
	first, err := b.addonsBeforeNodes(control, roles)
	if err != nil {
		return nil, err
	}
	// Deletion is in reverse order. The CNI must be deleted after the nodes; otherwise their network
	// interfaces leak and block the deletion of the VPC.
	ready := append(roles.attachments, first...)
	system, err := b.systemNodes(control, roles.nodes, ready)
	if err != nil {
		return nil, err
	}
	gpu, err := b.gpuNodes(control, roles.nodes, ready)
	if err != nil {
		return nil, err
	}
	if err := b.lease(control, gpu.group); err != nil {
		return nil, err
	}
	coredns, err := b.addonsAfterNodes(control, system)
	if err != nil {
		return nil, err
	}
	c.Made = []pulumi.Resource{system, gpu.group, coredns}
	c.Name = control.name
	c.Kubeconfig = control.kubeconfig
	c.LaunchTemplateVersion = gpu.checkedVersion()
	c.GPUAMIRelease = gpu.group.ReleaseVersion
	c.Kubernetes, err = b.kubernetesProvider(control)
	if err != nil {
		return nil, err
	}
	if err := ctx.RegisterResourceOutputs(c, pulumi.Map{
		"name": c.Name, "kubeconfig": c.Kubeconfig,
		"launchTemplateVersion": c.LaunchTemplateVersion, "gpuAmiRelease": c.GPUAMIRelease,
	}); err != nil {
		return nil, fmt.Errorf("registering the outputs of cluster %q: %w", name, err)
	}
	return c, nil
}

// builder carries what every part of a cluster needs.
type builder struct {
	ctx    *pulumi.Context
	args   *Args
	parent pulumi.ResourceOption
}
