package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/vpc"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// EFAGroupsArgs describes the two groups.
type EFAGroupsArgs struct {
	// ClusterName goes into tags.
	ClusterName string
	// VPCID is the VPC of the security group.
	VPCID pulumi.StringInput
	// Placement says whether to create a placement group, or names an existing one.
	Placement settings.Placement
	// GPU is the node group, Zone where it starts.
	GPU  settings.GPU
	Zone pulumi.StringInput
}

// EFAGroups is the security group and the placement group of the GPU nodes.
type EFAGroups struct {
	pulumi.ResourceState

	// SecurityGroupID is a security group that allows all traffic between its members.
	SecurityGroupID pulumi.StringOutput
	// PlacementGroupName is the placement group of the GPU nodes; nil without one.
	PlacementGroupName pulumi.StringInput
	// ReservationID is the capacity reservation that the stack makes; nil without one.
	ReservationID pulumi.StringInput
	// Made holds the resources to depend on; see Network.Made.
	Made []pulumi.Resource
}

// NewEFAGroups creates the security group and the placement group.
func NewEFAGroups(
	ctx *pulumi.Context, name string, args *EFAGroupsArgs, opts ...pulumi.ResourceOption,
) (*EFAGroups, error) {
	g := &EFAGroups{}
	opts = append(opts, formerly("ray-train-efa:infra:Fabric", "fabric"))
	if err := ctx.RegisterComponentResource("ray-train-efa:infra:EFAGroups", name, g, opts...); err != nil {
		return nil, fmt.Errorf("registering EFA groups %q: %w", name, err)
	}
	parent := pulumi.Parent(g)
	group, err := ec2.NewSecurityGroup(ctx, "efa", &ec2.SecurityGroupArgs{
		Description: pulumi.String("EFA between the GPU nodes of " + args.ClusterName),
		VpcId:       args.VPCID,
		// Rules that point at their own group would block its deletion.
		RevokeRulesOnDelete: pulumi.Bool(true),
		Tags:                pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-efa")},
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("creating the EFA security group: %w", err)
	}
	// Both directions are needed: EFA traffic is not IP, and the usual egress to 0.0.0.0/0 does not
	// cover it. Without the egress rule libfabric reports error 4126
	// (https://github.com/gardener/gardener-extension-provider-aws/issues/1832) or NCCL hangs while it
	// connects. EKS's own group has such rules too on 1.33 and later, unless they were removed.
	ingress, err := vpc.NewSecurityGroupIngressRule(ctx, "efa-self", &vpc.SecurityGroupIngressRuleArgs{
		SecurityGroupId:           group.ID(),
		ReferencedSecurityGroupId: group.ID(),
		IpProtocol:                pulumi.String("-1"),
		Description:               pulumi.String("EFA from the other GPU nodes"),
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("allowing EFA ingress: %w", err)
	}
	egress, err := vpc.NewSecurityGroupEgressRule(ctx, "efa-self", &vpc.SecurityGroupEgressRuleArgs{
		SecurityGroupId:           group.ID(),
		ReferencedSecurityGroupId: group.ID(),
		IpProtocol:                pulumi.String("-1"),
		Description:               pulumi.String("EFA to the other GPU nodes"),
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("allowing EFA egress: %w", err)
	}
	g.SecurityGroupID = group.ID().ToStringOutput()
	g.Made = []pulumi.Resource{group, ingress, egress}
	outputs := pulumi.Map{"securityGroupId": g.SecurityGroupID}
	var placementARN pulumi.StringPtrInput
	switch args.Placement {
	case settings.ClusterPlacement:
		placement, err := ec2.NewPlacementGroup(ctx, "gpu", &ec2.PlacementGroupArgs{
			Strategy: pulumi.String("cluster"),
			Tags:     pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-gpu")},
		}, parent)
		if err != nil {
			return nil, fmt.Errorf("creating the placement group: %w", err)
		}
		g.PlacementGroupName, placementARN = placement.Name, placement.Arn
		g.Made = append(g.Made, placement)
	case settings.NoPlacement:
	default:
		g.PlacementGroupName = pulumi.String(args.Placement)
	}
	if args.GPU.Capacity == settings.ReservedCapacity {
		reservation, err := reserve(ctx, args, placementARN, parent)
		if err != nil {
			return nil, err
		}
		g.ReservationID = reservation.ID().ToStringOutput()
		g.Made = append(g.Made, reservation)
		outputs["reservationId"] = g.ReservationID
	}
	if g.PlacementGroupName != nil {
		outputs["placementGroupName"] = g.PlacementGroupName
	}
	if err := ctx.RegisterResourceOutputs(g, outputs); err != nil {
		return nil, fmt.Errorf("registering the outputs of EFA groups %q: %w", name, err)
	}
	return g, nil
}
