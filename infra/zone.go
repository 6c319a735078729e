package infra

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// CodeZone is the refusal code for a zone other than that of the existing subnets.
const CodeZone = "zone-changed"

// nodeZone returns the zone of the nodes' subnet, or an error if the nodes may not be there. The
// other subnets depend on it, so no control plane or node is created after a refusal. The subnet's
// zone is an input and so is known in a preview too.
func nodeZone(nodes *ec2.Subnet, args *NetworkArgs) pulumi.StringOutput {
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
			Billing: "the existing resources of this stack, until `pulumi destroy`",
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
			fmt.Sprintf("pulumi config set --path gpu.instanceType TYPE, with a type that %s offers,", zone))
	}
	return nil
}

// secondZone returns the second zone of the control plane. If an interrupted update left the nodes'
// subnet in the zone planned for the control plane, it returns the zone planned for the nodes.
func secondZone(nodes pulumi.StringOutput, args *NetworkArgs) pulumi.StringOutput {
	second := nodes.ApplyT(func(zone string) string {
		if region.Zone(zone) == args.ControlPlaneZone {
			return string(args.Zone)
		}
		return string(args.ControlPlaneZone)
	})
	return second.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}
