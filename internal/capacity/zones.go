package capacity

import (
	"fmt"
	"slices"
	"strings"
)

// withoutControlPlanes are the ids of zones in which EKS takes no subnets of a control plane, which the nodes' zone has too.
// Sources: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, "Subnet requirements for clusters"; eksctl's
// zoneIDsToAvoid (pkg/az/az.go) has the same three.
func withoutControlPlanes() []string { return []string{"use1-az3", "usw1-az2", "cac1-az3"} }

// zonesOf lists the zones that offer each of the two instance types and can have the cluster.
func zonesOf(source Source, request Request) (gpu, system []string, err error) {
	ids, err := source.ZoneIDs()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the zones of %q: %w", request.Region, err)
	}
	offered := func(instanceType string) ([]string, error) {
		zones, err := source.Zones(instanceType)
		if err != nil {
			return nil, fmt.Errorf("listing the zones that offer %q: %w", instanceType, err)
		}
		return slices.DeleteFunc(slices.Clone(zones), func(zone string) bool {
			return !inRegion(zone, request.Region) || slices.Contains(withoutControlPlanes(), ids[zone])
		}), nil
	}
	if gpu, err = offered(request.GPU.Type); err != nil {
		return nil, nil, err
	}
	system, err = offered(request.System.Type)
	return gpu, system, err
}

// inRegion tells the region's own zones, named by the region and a letter as the setting availabilityZone wants them, from the Local
// and Wavelength Zones that an account opted into, such as us-east-1-atl-2a, which sorts before us-east-1a. A control plane's subnets
// cannot lie in those, and EKS makes no managed node groups there. Sources: the page above; EKS user guide, "Amazon EKS on AWS Local Zones".
func inRegion(zone, region string) bool {
	letter, ok := strings.CutPrefix(zone, region)
	return ok && len(letter) == 1 && letter >= "a" && letter <= "z"
}

// chooseZones returns the zone of all nodes and another one for the control plane. Unless the request
// names a zone, it is the first one in the alphabet that offers both types. An offering is not
// capacity: AWS may have none left when the node group starts.
func chooseZones(request Request, gpuZones, systemZones []string) (zone, controlPlane string, err error) {
	both := intersect(gpuZones, systemZones)
	zone = request.Zone
	switch {
	case len(both) == 0:
		return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
			fmt.Sprintf("no zone offers both instance types: %s is offered in [%s], %s in [%s]",
				request.GPU.Type, strings.Join(sorted(gpuZones), " "),
				request.System.Type, strings.Join(sorted(systemZones), " ")),
			"aws ec2 describe-instance-type-offerings --location-type availability-zone "+
				"--filters Name=instance-type,Values="+request.GPU.Type+
				" --region REGION, then pulumi config set awsRegion REGION")
	case zone == "":
		zone = both[0]
	case !slices.Contains(both, zone):
		return "", "", refuse(CodeNotOffered, fmt.Sprintf("availabilityZone %q", zone),
			fmt.Sprintf("only [%s] offers both %s and %s, and supports control planes of EKS",
				strings.Join(both, " "), request.GPU.Type, request.System.Type),
			"pulumi config set availabilityZone "+both[0])
	}
	for _, other := range sorted(append(slices.Clone(systemZones), gpuZones...)) {
		if other != zone {
			return zone, other, nil
		}
	}
	return "", "", refuse(CodeNotOffered, fmt.Sprintf("awsRegion %q", request.Region),
		fmt.Sprintf("EKS needs a second zone for the control plane, and %s is offered in %s only",
			request.System.Type, zone),
		"pulumi config set --path system.instanceType with a type that two zones offer")
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
