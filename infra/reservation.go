package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// reserve reserves the capacity of the GPU nodes for the life of the stack. Only instances that name
// the reservation use it. Instances of a placement group can only use one that was made in that group.
// Source: EC2 user guide, "Use On-Demand Capacity Reservations in cluster placement groups".
func reserve(
	ctx *pulumi.Context, args *EFAGroupsArgs, placementARN pulumi.StringPtrInput, parent pulumi.ResourceOption,
) (*ec2.CapacityReservation, error) {
	reservation, err := ec2.NewCapacityReservation(ctx, "gpu", &ec2.CapacityReservationArgs{
		InstanceType:          pulumi.String(args.GPU.InstanceType),
		InstanceCount:         pulumi.Int(args.GPU.Nodes),
		InstancePlatform:      pulumi.String("Linux/UNIX"),
		AvailabilityZone:      args.Zone,
		InstanceMatchCriteria: pulumi.String("targeted"),
		EndDateType:           pulumi.String("unlimited"),
		PlacementGroupArn:     placementARN,
		Tags:                  pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-gpu")},
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("reserving the capacity of the GPU nodes: %w", err)
	}
	return reservation, nil
}
