package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// placeInstance puts an instance into its placement group.
// Source: EC2 user guide, "Placement groups": a cluster placement group can't span zones.
func placeInstance(o *store.Op, made *Instance, data LaunchTemplateData) error {
	if data.Placement == nil || data.Placement.GroupName == "" {
		return nil
	}
	group := PlacementNamed(o, data.Placement.GroupName)
	if group == nil {
		return api.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.",
			data.Placement.GroupName)
	}
	made.Placement = group.Name
	if group.Strategy != "cluster" {
		return nil
	}
	for _, id := range Instances.In(o).IDs() {
		if other := Instances.In(o)[id]; other.Placement == group.Name && other.Zone != made.Zone {
			return api.Errorf("InvalidParameterValue",
				"A cluster placement group can't span multiple Availability Zones: %s has "+
					"instances in %s, the launch is in %s. Use subnets of one "+
					"zone.",
				group.Name, other.Zone, made.Zone)
		}
	}
	return nil
}

// takeCapacity allocates capacity from a reservation or from the zone.
func takeCapacity(o *store.Op, made *Instance, data LaunchTemplateData) error {
	spec := data.CapacityReservationSpecification
	if spec != nil && spec.CapacityReservationTarget != nil &&
		spec.CapacityReservationTarget.CapacityReservationID != "" {
		id := spec.CapacityReservationTarget.CapacityReservationID
		reservation, ok := CapacityReservations.In(o)[id]
		if !ok {
			return api.Errorf("InvalidCapacityReservationId.NotFound",
				"The capacity reservation ID '%s' does not exist.", id)
		}
		// Instances in a placement group cannot use a reservation outside it.
		// Source: terraform-aws-eks#3730.
		outside := made.Placement != "" &&
			reservation.PlacementGroupARN != PlacementGroups.In(o)[made.Placement].ARN
		if reservation.InstanceType != made.Type || reservation.AvailabilityZone != made.Zone ||
			outside ||
			unusedReserved(o, made.Type, made.Zone) == 0 {
			return api.Errorf("InsufficientInstanceCapacity",
				"There is not enough capacity in the capacity reservation %s for %s in %s.", id,
				made.Type, made.Zone).WithStatus(
				500,
			)
		}
		return nil
	}
	// Source: EC2 user guide: open reservations are used by any instance that matches.
	preference := ""
	if spec != nil {
		preference = spec.CapacityReservationPreference
	}
	if preference != "none" && made.Placement == "" && unusedReserved(o, made.Type, made.Zone) > 0 {
		return nil
	}
	return checkCapacity(o, made.Type, made.Zone, 1, made.Spot)
}

// checkCapacity returns an error if a zone has no capacity for a number of instances of a type, or
// if the quota does not allow them. Sources: EC2 API error codes VcpuLimitExceeded,
// InsufficientInstanceCapacity and Unsupported.
func checkCapacity(o *store.Op, name, zone string, count int, spot bool) error {
	t, ok := FindInstanceType(name)
	if !ok {
		return api.Errorf("InvalidInstanceType",
			"The following supplied instance types do not exist: [%s]", name)
	}
	if listsType(o.Faults.NotOffered, name, zone) {
		return api.Errorf("Unsupported",
			"Your requested instance type (%s) is not supported in your requested Availability "+
				"Zone (%s). Please retry your request by not specifying an Availability Zone or "+
				"choosing %s.",
			name, zone, otherZones(o, zone, name))
	}
	code := quotaCode(name, spot)
	limit := AppliedQuota(o, code)
	if float64(vcpuInUse(o, code)+count*t.VCPU) > limit {
		return api.Errorf("VcpuLimitExceeded",
			"You have requested more vCPU capacity than your current vCPU limit of %g allows for "+
				"the instance bucket that the specified instance type belongs to. Please visit "+
				"http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this "+
				"limit.",
			limit)
	}
	if listsType(o.Faults.NoCapacity, name, zone) {
		return api.Errorf("InsufficientInstanceCapacity",
			"We currently do not have sufficient %s capacity in the Availability Zone you "+
				"requested (%s). Our system will be working on provisioning additional capacity. "+
				"You "+
				"can currently get %s capacity by not specifying an Availability Zone in your "+
				"request or choosing %s.",
			name, zone, name, otherZones(o, zone, name)).WithStatus(
			500,
		)
	}
	return nil
}

// otherZones names the zones that still have a type, as EC2's message does.
func otherZones(o *store.Op, except, name string) string {
	list := ""
	for _, z := range zones(o) {
		if z.Name == except || listsType(o.Faults.NoCapacity, name, z.Name) ||
			listsType(o.Faults.NotOffered, name, z.Name) {
			continue
		}
		if list != "" {
			list += ", "
		}
		list += z.Name
	}
	return list
}

// listsType reports whether a list names a type in a zone.
func listsType(list []api.TypeInZone, name, zone string) bool {
	for _, one := range list {
		if one.Type == name && (one.Zone == "" || one.Zone == zone) {
			return true
		}
	}
	return false
}
