package infra

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// CodeZone is the code of the refusal of a zone in which the existing subnets are not.
const CodeZone = "zone-changed"

// existing is the zone of the nodes' subnet, or an error where the nodes may not be there.
// Resources in another zone take theirs from here, so that a refusal reaches neither control plane
// nor nodes. The subnet's zone is an input and so is known in a preview too.
func existing(nodes *ec2.Subnet, args *NetworkArgs) pulumi.StringOutput {
	zone := nodes.AvailabilityZone.ApplyT(func(zone string) (string, error) {
		return zone, args.Refuse(checkZone(region.Zone(zone), args))
	})
	return zone.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}

// checkZone refuses nodes in a zone that the settings or the offerings of AWS do not allow.
func checkZone(zone region.Zone, args *NetworkArgs) error {
	refuse := func(checked, cause, stay string) error {
		return &refusal.Refusal{
			Code: CodeZone, Summary: "refused: " + checked + " (" + CodeZone + ")", Cause: cause,
			Next:    "pulumi destroy, then pulumi up; or " + stay + " to keep the stack where it is",
			Billing: "what is running, until `pulumi destroy`",
		}
	}
	switch {
	case args.AvailabilityZone != "" && args.AvailabilityZone != zone:
		return refuse(fmt.Sprintf("availabilityZone %q", args.AvailabilityZone),
			fmt.Sprintf("the zone of an existing stack cannot change: its subnets are in %s", zone),
			fmt.Sprintf("pulumi config set availabilityZone %s", zone))
	case zone != args.Zone && !slices.Contains(args.OtherZones, zone):
		allowed := append([]region.Zone{args.Zone}, args.OtherZones...)
		slices.Sort(allowed)
		return refuse("gpu.instanceType and system.instanceType",
			fmt.Sprintf("the zone of an existing stack cannot change: its subnets are in %s, "+
				"and both types are offered in %v only", zone, allowed),
			"set the types back")
	}
	return nil
}

// secondZone is the control plane's other zone. Where an update was interrupted between the
// subnets, the nodes may be in the very zone that is now planned for it; the planned zone of the
// nodes is free then.
func secondZone(nodes pulumi.StringOutput, args *NetworkArgs) pulumi.StringOutput {
	second := nodes.ApplyT(func(zone string) string {
		if region.Zone(zone) == args.ControlPlaneZone {
			return string(args.Zone)
		}
		return string(args.ControlPlaneZone)
	})
	return second.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}
