package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
)

// CodeZone is the code of the refusal of a zone in which the existing subnets are not.
const CodeZone = "zone-changed"

// existing is the zone of the nodes' subnet, or an error where the nodes may not be there. Resources in
// another zone take theirs from here, so that a refusal reaches neither control plane nor nodes. The
// subnet's zone is an input and so is known in a preview too.
func existing(nodes *ec2.Subnet, args *NetworkArgs) pulumi.StringOutput {
	zone := nodes.AvailabilityZone.ApplyT(func(zone string) (string, error) {
		return zone, args.Refuse(checkZone(zone, args))
	})
	return zone.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
}

// checkZone refuses nodes in a zone that the settings or the offerings of AWS do not allow.
func checkZone(zone string, args *NetworkArgs) error {
	refuse := func(checked, cause, stay string) error {
		return &refusal.Refusal{
			Code: CodeZone, Summary: "refused: " + checked + " (" + CodeZone + ")", Cause: cause,
			Next:    "pulumi destroy, then pulumi up; or " + stay + " to keep the stack where it is",
			Billing: "what is running, until `pulumi destroy`",
		}
	}
	switch {
	case args.WantedZone != "" && args.WantedZone != zone:
		return refuse(fmt.Sprintf("availabilityZone %q", args.WantedZone),
			fmt.Sprintf("the zone of an existing stack cannot change: its subnets are in %s", zone),
			"pulumi config set availabilityZone "+zone)
	case zone != args.Zone && !slices.Contains(args.OtherZones, zone):
		allowed := append([]string{args.Zone}, args.OtherZones...)
		slices.Sort(allowed)
		return refuse("gpu.instanceType and system.instanceType",
			fmt.Sprintf("the zone of an existing stack cannot change: its subnets are in %s, "+
				"and both types are offered in [%s] only", zone, strings.Join(allowed, " ")),
			"set the types back")
	}
	return nil
}

// secondZone is the control plane's other zone. Where an update was interrupted between the subnets, the nodes may stand in
// the very zone that is now planned for it; the nodes' planned zone is another one then.
func secondZone(nodes pulumi.StringOutput, args *NetworkArgs) pulumi.StringOutput {
	return nodes.ApplyT(func(zone string) string { //nolint:forcetypeassert // the type follows from the function's
		if zone == args.ControlPlaneZone {
			return args.Zone
		}
		return args.ControlPlaneZone
	}).(pulumi.StringOutput)
}
