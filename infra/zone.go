package infra

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// nodeZone returns the zone of the nodes: the one that the settings name, else the zone in which the
// stack was created, so that a later run does not move the nodes. If that zone does not offer the
// instance types, it is the planned zone. The created zone is an input of a subnet, so it is known
// in a preview too.
func nodeZone(created region.Zone, args *NetworkArgs) region.Zone {
	switch {
	case args.AvailabilityZone != "":
		return args.AvailabilityZone
	case created != args.Zone && !slices.Contains(args.OtherZones, created):
		return args.Zone
	default:
		return created
	}
}

// secondZone returns the second zone of the control plane. If an interrupted update left the nodes'
// subnet in the zone planned for the control plane, it returns the zone planned for the nodes.
func secondZone(created region.Zone, args *NetworkArgs) region.Zone {
	if created == args.ControlPlaneZone {
		return args.Zone
	}
	return args.ControlPlaneZone
}

// nodeSubnet returns the id of the subnet in the zone of the nodes. It does not depend on the other
// ids, which a preview that adds subnets does not know.
func nodeSubnet(zone pulumi.StringOutput, first *ec2.Subnet, others map[region.Zone]*ec2.Subnet) pulumi.StringOutput {
	chosen := pulumi.All(zone, first.AvailabilityZone).ApplyT(func(zones []any) (pulumi.StringOutput, error) {
		if zones[0] == zones[1] {
			return first.ID().ToStringOutput(), nil
		}
		zone, _ := zones[0].(string)
		if other, ok := others[region.Zone(zone)]; ok {
			return other.ID().ToStringOutput(), nil
		}
		return pulumi.StringOutput{}, fmt.Errorf("choosing the subnet of the nodes: the VPC has none in zone %q", zone)
	})
	return chosen.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}
