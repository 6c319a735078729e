package infra

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// NetworkArgs describes the network.
type NetworkArgs struct {
	// Region is the region of the S3 endpoint.
	Region region.Region
	// ClusterName is the EKS cluster that the subnets are tagged for.
	ClusterName string
	// VPCCIDR is the address block.
	VPCCIDR netip.Prefix
	// AvailabilityZone is the zone that the settings name for the nodes, if any.
	AvailabilityZone region.Zone
	// Zone is the zone of the nodes and the NAT gateway of a new network.
	Zone region.Zone
	// OtherZones are the other zones that offer both instance types. Nodes in one of them stay there.
	OtherZones []region.Zone
	// ControlPlaneZone is the second zone that EKS requires.
	ControlPlaneZone region.Zone
	// AllZones are the zones that nodes can move to. Each has a subnet, which is free.
	AllZones []region.Zone
	// Protect makes Pulumi refuse to delete the VPC.
	Protect bool
}

// Network is a VPC with a subnet for nodes in each zone. All nodes are in one of them.
type Network struct {
	pulumi.ResourceState

	// VPCID is the VPC.
	VPCID pulumi.StringOutput
	// NodeSubnetID is the one private subnet of all nodes. With another zone in the settings it is
	// another one, and the node groups are replaced.
	NodeSubnetID pulumi.StringOutput
	// Zone is the zone of that subnet. For an existing network it can differ from NetworkArgs.Zone.
	Zone pulumi.StringOutput
	// ControlPlaneSubnetIDs are the subnets, in two zones, where EKS puts its network interfaces. They
	// never change: EKS refuses other zones for an existing control plane. Nodes in other zones reach
	// it through the VPC.
	// Source: EKS user guide, "Amazon EKS networking requirements", subnets of clusters and of nodes.
	ControlPlaneSubnetIDs pulumi.StringArrayOutput
	// Made holds the resources that others must depend on. A dependency on the component itself is not
	// enough: the Go SDK records its children while they are registered, so the dependency may miss
	// some.
	Made []pulumi.Resource
}

// NewNetwork creates the VPC, its subnets and their routes.
func NewNetwork(ctx *pulumi.Context, name string, args *NetworkArgs, opts ...pulumi.ResourceOption) (*Network, error) {
	n := &Network{}
	if err := ctx.RegisterComponentResource("ray-train-efa:infra:Network", name, n, opts...); err != nil {
		return nil, fmt.Errorf("registering network %q: %w", name, err)
	}
	layout, err := Plan(args.VPCCIDR)
	if err != nil {
		return nil, err
	}
	b := &networkBuilder{ctx: ctx, args: args, parent: pulumi.Parent(n)}
	vpc, err := ec2.NewVpc(ctx, "vpc", &ec2.VpcArgs{
		CidrBlock: pulumi.String(args.VPCCIDR.String()),
		// Nodes find the API server's private endpoint by name.
		EnableDnsSupport:   pulumi.Bool(true),
		EnableDnsHostnames: pulumi.Bool(true),
		Tags:               b.tags("vpc", nil),
	}, b.parent, pulumi.Protect(args.Protect))
	if err != nil {
		return nil, fmt.Errorf("creating the VPC: %w", err)
	}
	b.vpc = vpc.ID()
	b.made = append(b.made, vpc)

	// The NAT gateway stays in the zone in which the stack was created; traffic of nodes in another
	// zone costs 0.01 USD/GB more. The tags allow load balancers, which this stack does not create.
	nodes, err := b.subnet("nodes", layout.Nodes, pulumi.String(args.Zone), "kubernetes.io/role/internal-elb")
	if err != nil {
		return nil, err
	}
	created := nodes.AvailabilityZone
	public, err := b.subnet("public", layout.Public, created, "kubernetes.io/role/elb")
	if err != nil {
		return nil, err
	}
	control, err := b.subnet("control-plane", layout.ControlPlane, b.zone(created, secondZone), "kubernetes.io/role/internal-elb")
	if err != nil {
		return nil, err
	}
	others, err := b.otherSubnets(layout)
	if err != nil {
		return nil, err
	}
	private, err := b.routes(public, append(slices.Collect(maps.Values(others)), nodes, control))
	if err != nil {
		return nil, err
	}
	if err := b.s3Endpoint(private); err != nil {
		return nil, err
	}

	n.Made = b.made
	n.VPCID = vpc.ID().ToStringOutput()
	n.Zone = b.zone(created, nodeZone)
	n.NodeSubnetID = nodeSubnet(n.Zone, nodes, others)
	n.ControlPlaneSubnetIDs = pulumi.StringArray{nodes.ID(), control.ID()}.ToStringArrayOutput()
	if err := ctx.RegisterResourceOutputs(n, pulumi.Map{
		"vpcId": n.VPCID, "nodeSubnetId": n.NodeSubnetID, "zone": n.Zone, "controlPlaneSubnetIds": n.ControlPlaneSubnetIDs,
	}); err != nil {
		return nil, fmt.Errorf("registering the outputs of network %q: %w", name, err)
	}
	return n, nil
}

// networkBuilder holds the values that all parts of a network share.
type networkBuilder struct {
	ctx    *pulumi.Context
	args   *NetworkArgs
	parent pulumi.ResourceOption
	vpc    pulumi.IDOutput
	made   []pulumi.Resource
}

func (b *networkBuilder) tags(name string, more map[string]string) pulumi.StringMap {
	tags := pulumi.StringMap{"Name": pulumi.String(b.args.ClusterName + "-" + name)}
	for key, value := range more {
		tags[key] = pulumi.String(value)
	}
	return tags
}

// subnet creates a subnet and ignores later changes of its zone. A change would replace the subnet,
// and EC2 refuses a new subnet with the same block (InvalidSubnet.Conflict).
func (b *networkBuilder) subnet(name string, block netip.Prefix, zone pulumi.StringInput, role string) (*ec2.Subnet, error) {
	subnet, err := ec2.NewSubnet(b.ctx, name, &ec2.SubnetArgs{
		VpcId:            b.vpc,
		CidrBlock:        pulumi.String(block.String()),
		AvailabilityZone: zone,
		// No instance gets a public address; the NAT gateway has its own.
		MapPublicIpOnLaunch: pulumi.Bool(false),
		Tags: b.tags(name, map[string]string{
			"kubernetes.io/cluster/" + b.args.ClusterName: "shared",
			role: "1",
		}),
	}, b.parent, pulumi.IgnoreChanges([]string{"availabilityZone"}))
	if err != nil {
		return nil, fmt.Errorf("creating subnet %q: %w", name, err)
	}
	b.made = append(b.made, subnet)
	return subnet, nil
}

// zone returns a zone that follows from the one in which the stack was created.
func (b *networkBuilder) zone(
	created pulumi.StringOutput, choose func(region.Zone, *NetworkArgs) region.Zone,
) pulumi.StringOutput {
	chosen := created.ApplyT(func(zone string) string { return string(choose(region.Zone(zone), b.args)) })
	return chosen.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}

// otherSubnets creates a subnet for nodes in each zone, also in the one in which the stack was
// created: that zone is not known while the program runs, and an unused subnet is free.
func (b *networkBuilder) otherSubnets(layout Layout) (map[region.Zone]*ec2.Subnet, error) {
	subnets := map[region.Zone]*ec2.Subnet{}
	for _, zone := range b.args.AllZones {
		block, ok := layout.Zone(zone)
		if !ok {
			continue // nodes cannot move there; nodeSubnet reports it
		}
		made, err := b.subnet("nodes-"+string(zone), block, pulumi.String(zone), "kubernetes.io/role/internal-elb")
		if err != nil {
			return nil, err
		}
		subnets[zone] = made
	}
	return subnets, nil
}

// routes creates the routes: from the public subnet to the internet gateway, from the private ones
// to one NAT gateway.
func (b *networkBuilder) routes(public *ec2.Subnet, private []*ec2.Subnet) (*ec2.RouteTable, error) {
	internet, err := ec2.NewInternetGateway(b.ctx, "internet", &ec2.InternetGatewayArgs{
		VpcId: b.vpc, Tags: b.tags("internet", nil),
	}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating the internet gateway: %w", err)
	}
	publicTable, err := b.table("public", public)
	if err != nil {
		return nil, err
	}
	publicRoute, err := ec2.NewRoute(b.ctx, "public-internet", &ec2.RouteArgs{
		RouteTableId: publicTable.ID(), DestinationCidrBlock: pulumi.String("0.0.0.0/0"), GatewayId: internet.ID(),
	}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating the public route: %w", err)
	}
	address, err := ec2.NewEip(b.ctx, "nat", &ec2.EipArgs{Domain: pulumi.String("vpc"), Tags: b.tags("nat", nil)},
		b.parent, pulumi.DependsOn([]pulumi.Resource{internet}))
	if err != nil {
		return nil, fmt.Errorf("creating the NAT gateway's address: %w", err)
	}
	// The route must exist before the NAT gateway and be deleted after it.
	nat, err := ec2.NewNatGateway(b.ctx, "nat", &ec2.NatGatewayArgs{
		AllocationId: address.ID(), SubnetId: public.ID(), Tags: b.tags("nat", nil),
	}, b.parent, pulumi.DependsOn([]pulumi.Resource{publicRoute}))
	if err != nil {
		return nil, fmt.Errorf("creating the NAT gateway: %w", err)
	}
	privateTable, err := b.table("private", private...)
	if err != nil {
		return nil, err
	}
	privateRoute, err := ec2.NewRoute(b.ctx, "private-nat", &ec2.RouteArgs{
		RouteTableId: privateTable.ID(), DestinationCidrBlock: pulumi.String("0.0.0.0/0"), NatGatewayId: nat.ID(),
	}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating the private route: %w", err)
	}
	b.made = append(b.made, internet, publicRoute, address, nat, privateRoute)
	return privateTable, nil
}

// table creates a route table for subnets. Associations are named after the subnets, so their order
// does not matter.
func (b *networkBuilder) table(name string, subnets ...*ec2.Subnet) (*ec2.RouteTable, error) {
	table, err := ec2.NewRouteTable(b.ctx, name, &ec2.RouteTableArgs{VpcId: b.vpc, Tags: b.tags(name, nil)}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating route table %q: %w", name, err)
	}
	for _, subnet := range subnets {
		association, err := ec2.NewRouteTableAssociation(b.ctx, subnet.PulumiResourceName(), &ec2.RouteTableAssociationArgs{
			RouteTableId: table.ID(), SubnetId: subnet.ID(),
		}, b.parent)
		if err != nil {
			return nil, fmt.Errorf("routing subnet %q: %w", subnet.PulumiResourceName(), err)
		}
		b.made = append(b.made, association)
	}
	return table, nil
}

// s3Endpoint creates a gateway endpoint for S3, which is free. ECR image layers then do not go
// through the NAT gateway.
func (b *networkBuilder) s3Endpoint(private *ec2.RouteTable) error {
	endpoint, err := ec2.NewVpcEndpoint(b.ctx, "s3", &ec2.VpcEndpointArgs{
		VpcId:           b.vpc,
		ServiceName:     pulumi.String("com.amazonaws." + string(b.args.Region) + ".s3"),
		VpcEndpointType: pulumi.String("Gateway"),
		RouteTableIds:   pulumi.StringArray{private.ID()},
		Tags:            b.tags("s3", nil),
	}, b.parent)
	if err != nil {
		return fmt.Errorf("creating the S3 endpoint: %w", err)
	}
	b.made = append(b.made, endpoint)
	return nil
}
