// Package cluster creates the EKS control plane, its add-ons and its two node groups.
package cluster

import (
	"fmt"

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
	// Region is where the kubeconfig gets its tokens.
	Region region.Region
	// KubernetesVersion is the EKS minor version.
	KubernetesVersion string
	// PublicAccessCIDRs may reach the API server from outside. With none, the public endpoint is off.
	PublicAccessCIDRs settings.CIDRs
	// AdminPrincipalARNs become cluster administrators beside the creator.
	AdminPrincipalARNs []string

	// VPCID and the subnets come from the network.
	VPCID                 pulumi.StringInput
	ControlPlaneSubnetIDs pulumi.StringArrayInput
	NodeSubnetID          pulumi.StringInput
	// SecretsKeyARN is the KMS key of the Kubernetes secrets.
	SecretsKeyARN pulumi.StringInput
	// EFASecurityGroupID and PlacementGroupName are what EFA needs.
	EFASecurityGroupID pulumi.StringInput
	PlacementGroupName pulumi.StringInput

	// GPU and System are the node groups.
	GPU, System settings.NodeGroup
	// GPUType describes the GPU group's instance type.
	GPUType capacity.InstanceType
	// AWS is the provider that the control plane's component must be given by hand: it does not
	// inherit one.
	AWS *aws.Provider
}

// Cluster is a running EKS cluster with its nodes.
type Cluster struct {
	pulumi.ResourceState

	// Name is the cluster's name as EKS confirms it.
	Name pulumi.StringOutput
	// Kubeconfig reaches the API server; secret.
	Kubeconfig pulumi.StringOutput
	// LaunchTemplateVersion is the version that the GPU nodes boot.
	LaunchTemplateVersion pulumi.StringOutput
	// GPUAMIRelease is the EKS AMI release that the GPU nodes boot.
	GPUAMIRelease pulumi.StringOutput
	// Kubernetes is the provider of everything inside the cluster.
	Kubernetes *kubernetes.Provider
	// Made is what others depend on: it waits for everything else here. The component would not do,
	// see infra.Network.
	Made []pulumi.Resource
}

// New creates the control plane, then what nodes need, then the nodes, then what needs nodes.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Cluster, error) {
	c := &Cluster{}
	if err := ctx.RegisterComponentResource("ray-train-efa:cluster:Cluster", name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering cluster %q: %w", name, err)
	}
	b := builder{ctx: ctx, args: args, parent: pulumi.Parent(c)}
	role, err := b.nodeRole()
	if err != nil {
		return nil, err
	}
	control, err := b.controlPlane(role.role)
	if err != nil {
		return nil, err
	}
	first, err := b.addonsBeforeNodes(control)
	if err != nil {
		return nil, err
	}
	// The order holds backwards too: the CNI must outlive the nodes, or their network interfaces leak
	// and block the VPC.
	ready := append(role.attachments, first...)
	system, err := b.systemNodes(control, role.role, ready)
	if err != nil {
		return nil, err
	}
	gpu, err := b.gpuNodes(control, role.role, ready)
	if err != nil {
		return nil, err
	}
	coredns, err := b.addonsAfterNodes(control, system)
	if err != nil {
		return nil, err
	}
	c.Made = []pulumi.Resource{system, gpu.group, coredns}
	c.Name = control.name
	c.Kubeconfig = control.kubeconfig
	c.LaunchTemplateVersion = gpu.launchTemplateVersion
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
