package capacity

import (
	"fmt"
	"slices"
	"strings"
)

// chooseZones picks the zone of all nodes, the alphabetically first that offers both types unless one is asked for, and
// another zone for the control plane. An offering is not capacity: AWS may still have none left when the group starts.
func chooseZones(request Request, gpuZones, systemZones []string) (zone, controlPlane string, err error) {
	both := intersect(gpuZones, systemZones)
	zone = request.Zone
	switch {
	case len(both) == 0:
		return "", "", fmt.Errorf("choosing a zone of %q: %w: %s in [%s], %s in [%s], no zone has both; "+
			"next: aws ec2 describe-instance-type-offerings --location-type availability-zone "+
			"--filters Name=instance-type,Values=%s --region REGION, then pulumi config set awsRegion REGION",
			request.Region, ErrNoOffering, request.GPU.Type, strings.Join(sorted(gpuZones), " "),
			request.System.Type, strings.Join(sorted(systemZones), " "), request.GPU.Type)
	case zone == "":
		zone = both[0]
	case !slices.Contains(both, zone):
		return "", "", fmt.Errorf("checking availabilityZone %q: %w: %s and %s are both offered in [%s] only; "+
			"next: pulumi config set availabilityZone %s",
			zone, ErrNoOffering, request.GPU.Type, request.System.Type, strings.Join(both, " "), both[0])
	}
	for _, other := range sorted(append(slices.Clone(systemZones), gpuZones...)) {
		if other != zone {
			return zone, other, nil
		}
	}
	return "", "", fmt.Errorf("choosing a second zone of %q for the control plane: %w: %s is offered in %s only; "+
		"next: pulumi config set --path system.instanceType with a type that two zones offer",
		request.Region, ErrNoOffering, request.System.Type, zone)
}

func intersect(a, b []string) []string {
	var both []string
	for _, zone := range sorted(a) {
		if slices.Contains(b, zone) {
			both = append(both, zone)
		}
	}
	return both
}

func sorted(zones []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(zones)))
}
