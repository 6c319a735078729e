package infra

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ErrZone means that the nodes would have to be in another zone than their subnet, which cannot move.
var ErrZone = errors.New("the zone of a standing stack cannot change")

// standing is the zone of the nodes' subnet, or an error where the nodes may not be there. What is made in another zone takes
// its own from here, so that a refusal reaches neither control plane nor nodes. The subnet's zone is known in a preview too: it
// is an input.
func standing(nodes *ec2.Subnet, args *NetworkArgs) pulumi.StringOutput {
	return nodes.AvailabilityZone.ApplyT(func(zone string) (string, error) { //nolint:forcetypeassert // the type follows from the function's
		return zone, checkZone(zone, args)
	}).(pulumi.StringOutput)
}

// checkZone refuses nodes in a zone where the settings, or AWS's offer, do not allow them.
func checkZone(zone string, args *NetworkArgs) error {
	const next = "next: pulumi destroy first, then pulumi up"
	switch {
	case args.WantedZone != "" && args.WantedZone != zone:
		return fmt.Errorf("checking availabilityZone %q: %w: its subnets are in %s; %s; "+
			"or pulumi config set availabilityZone %s to stay", args.WantedZone, ErrZone, zone, next, zone)
	case zone != args.Zone && !slices.Contains(args.OtherZones, zone):
		allowed := append([]string{args.Zone}, args.OtherZones...)
		slices.Sort(allowed)
		return fmt.Errorf("checking gpu.instanceType and system.instanceType: %w: its subnets are in %s, and both types are "+
			"offered in [%s] only; %s; or set the types back to stay", ErrZone, zone, strings.Join(allowed, " "), next)
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
