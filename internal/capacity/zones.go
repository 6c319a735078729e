package capacity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// withoutControlPlanes returns the ids of zones in which EKS accepts no subnets of a control plane.
// The zone of the nodes has such a subnet too.
// Sources: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, "Subnet requirements
// for clusters"; eksctl's zoneIDsToAvoid (pkg/az/az.go) has the same three.
func withoutControlPlanes() []string { return []string{"use1-az3", "usw1-az2", "cac1-az3"} }

// zoneOffers are the zones of a region that can have the cluster.
type zoneOffers struct {
	// all are the zones, gpu and system those that offer the two instance types.
	all, gpu, system []region.Zone
}

// zonesOf returns the zones that can have the cluster and what they offer.
func zonesOf(source Source, request Request) (offers zoneOffers, err error) {
	ids, err := source.ZoneIDs()
	if err != nil {
		return offers, fmt.Errorf("listing the zones of %q: %w", request.Region, err)
	}
	usable := func(zones []region.Zone) []region.Zone {
		return slices.DeleteFunc(sorted(zones), func(zone region.Zone) bool {
			return !zone.In(request.Region) || slices.Contains(withoutControlPlanes(), ids[zone])
		})
	}
	offers.all = usable(slices.Collect(maps.Keys(ids)))
	for _, group := range []struct {
		instanceType string
		zones        *[]region.Zone
	}{{request.GPU.Type, &offers.gpu}, {request.System.Type, &offers.system}} {
		zones, err := source.Zones(group.instanceType)
		if err != nil {
			return offers, fmt.Errorf("listing the zones that offer %q: %w", group.instanceType, err)
		}
		*group.zones = usable(zones)
	}
	return offers, nil
}

// chooseZones returns the zone of all nodes and another one for the control plane. Unless the
// request names a zone, it is the first zone, in alphabetical order, that offers both types. AWS
// may still have no capacity there.
func chooseZones(request Request, offers zoneOffers) (zone, controlPlane region.Zone, err error) {
	both := offers.both()
	zone = request.AvailabilityZone
	switch {
	case len(both) == 0:
		return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
			fmt.Sprintf("no zone offers both instance types: %s is offered in %v, %s in %v",
				request.GPU.Type, offers.gpu, request.System.Type, offers.system),
			"aws ec2 describe-instance-type-offerings --location-type availability-zone "+
				"--filters Name=instance-type,Values="+request.GPU.Type+
				" --region REGION, then pulumi config set awsRegion REGION")
	case zone == "":
		zone = both[0]
	case !slices.Contains(both, zone):
		return "", "", refuse(CodeNotOffered, fmt.Sprintf("availabilityZone %q", zone),
			fmt.Sprintf("only %v offers both %s and %s, and supports EKS control planes",
				both, request.GPU.Type, request.System.Type),
			fmt.Sprintf("pulumi config set availabilityZone %s", both[0]))
	}
	for _, other := range sorted(slices.Concat(offers.system, offers.gpu)) {
		if other != zone {
			return zone, other, nil
		}
	}
	return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
		fmt.Sprintf("EKS needs a second zone for the control plane, and %s is offered in %s only",
			request.System.Type, zone),
		"pulumi config set --path system.instanceType TYPE, with a type that two zones offer")
}

// both returns the zones that offer both instance types.
func (o zoneOffers) both() []region.Zone {
	return slices.DeleteFunc(slices.Clone(o.gpu), func(zone region.Zone) bool { return !slices.Contains(o.system, zone) })
}

func sorted(zones []region.Zone) []region.Zone {
	return slices.Compact(slices.Sorted(slices.Values(zones)))
}
