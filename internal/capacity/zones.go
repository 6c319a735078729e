package capacity

import (
	"fmt"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// withoutControlPlanes returns the ids of zones in which EKS accepts no subnets of a control plane.
// The zone of the nodes has such a subnet too.
// Sources: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, "Subnet requirements
// for clusters"; eksctl's zoneIDsToAvoid (pkg/az/az.go) has the same three.
func withoutControlPlanes() []string { return []string{"use1-az3", "usw1-az2", "cac1-az3"} }

// zonesOf returns the zones that offer each of the two instance types and can have the cluster.
func zonesOf(source Source, request Request) (gpu, system []region.Zone, err error) {
	ids, err := source.ZoneIDs()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the zones of %q: %w", request.Region, err)
	}
	offered := func(instanceType string) ([]region.Zone, error) {
		zones, err := source.Zones(instanceType)
		if err != nil {
			return nil, fmt.Errorf("listing the zones that offer %q: %w", instanceType, err)
		}
		return slices.DeleteFunc(slices.Clone(zones), func(zone region.Zone) bool {
			return !zone.In(request.Region) || slices.Contains(withoutControlPlanes(), ids[zone])
		}), nil
	}
	if gpu, err = offered(request.GPU.Type); err != nil {
		return nil, nil, err
	}
	system, err = offered(request.System.Type)
	return gpu, system, err
}

// chooseZones returns the zone of all nodes and another one for the control plane. Unless the
// request names a zone, it is the first zone, in alphabetical order, that offers both types. AWS
// may still have no capacity there.
func chooseZones(request Request, gpuZones, systemZones []region.Zone) (zone, controlPlane region.Zone, err error) {
	both := intersect(gpuZones, systemZones)
	zone = request.AvailabilityZone
	switch {
	case len(both) == 0:
		return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
			fmt.Sprintf("no zone offers both instance types: %s is offered in %v, %s in %v",
				request.GPU.Type, sorted(gpuZones), request.System.Type, sorted(systemZones)),
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
	for _, other := range sorted(slices.Concat(systemZones, gpuZones)) {
		if other != zone {
			return zone, other, nil
		}
	}
	return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
		fmt.Sprintf("EKS needs a second zone for the control plane, and %s is offered in %s only",
			request.System.Type, zone),
		"pulumi config set --path system.instanceType TYPE, with a type that two zones offer")
}

func intersect(a, b []region.Zone) []region.Zone {
	return slices.DeleteFunc(sorted(a), func(zone region.Zone) bool { return !slices.Contains(b, zone) })
}

func sorted(zones []region.Zone) []region.Zone {
	return slices.Compact(slices.Sorted(slices.Values(zones)))
}
