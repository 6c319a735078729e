package account

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func placementGroupRules(kind resource.Kind) rules[resource.PlacementGroup] {
	return rules[resource.PlacementGroup]{
		kind: kind, service: "EC2",
		createVerb: "CreatePlacementGroup", updateVerb: "CreateTags", deleteVerb: "DeletePlacementGroup",
		rows: func(s *state) table[resource.PlacementGroup] { return s.PlacementGroups },
		create: func(o *op, in *resource.PlacementGroup) (string, error) {
			// Source: EC2 API, CreatePlacementGroup, parameter Strategy.
			if !slices.Contains([]string{"cluster", "spread", "partition"}, in.Strategy) {
				return "", api.Errorf("InvalidParameterValue", "Value (%s) for parameter strategy is invalid. Valid values: cluster | spread | partition", in.Strategy)
			}
			// Source: EC2 API error codes, InvalidPlacementGroup.Duplicate.
			if o.placementNamed(in.Name) != nil {
				return "", api.Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", in.Name)
			}
			in.PlacementGroupID = newID("pg")
			in.ARN = o.arn("ec2", "placement-group/"+in.Name)
			return in.Name, nil
		},
		remove: func(o *op, id string, _ *resource.PlacementGroup) error {
			for _, instanceID := range o.Instances.sorted() {
				// Source: EC2 API error codes, InvalidPlacementGroup.InUse.
				if o.Instances[instanceID].Placement == id {
					return api.Errorf("InvalidPlacementGroup.InUse", "The placement group %s is in use and may not be deleted. (rehearsal: %s runs in it)", id, instanceID)
				}
			}
			return nil
		},
	}
}

// placementNamed returns a placement group or nil.
func (o *op) placementNamed(name string) *resource.PlacementGroup { return o.PlacementGroups[name] }

func capacityReservationRules(kind resource.Kind) rules[resource.CapacityReservation] {
	return rules[resource.CapacityReservation]{
		kind: kind, service: "EC2",
		createVerb: "CreateCapacityReservation", updateVerb: "ModifyCapacityReservation", deleteVerb: "CancelCapacityReservation",
		rows: func(s *state) table[resource.CapacityReservation] { return s.CapacityReservations },
		create: func(o *op, in *resource.CapacityReservation) (string, error) {
			if _, err := o.pickZone(in.AvailabilityZone, ""); err != nil {
				return "", err
			}
			if err := o.checkRoom(in.InstanceType, in.AvailabilityZone, in.InstanceCount, false); err != nil {
				return "", err
			}
			if in.EndDateType == "limited" && in.EndDate == "" {
				// Source: EC2 API, CreateCapacityReservation, parameter EndDate.
				return "", api.Errorf("MissingParameter", "EndDate is required when EndDateType is limited.")
			}
			id := newID("cr")
			in.ARN, in.OwnerID = o.arn("ec2", "capacity-reservation/"+id), o.AccountID
			return id, nil
		},
	}
}

// ec2TagRules tag something that another program made, such as a cluster's group.
func ec2TagRules(kind resource.Kind) rules[resource.Ec2Tag] {
	return rules[resource.Ec2Tag]{
		kind: kind, service: "EC2",
		createVerb: "CreateTags", updateVerb: "CreateTags", deleteVerb: "DeleteTags",
		rows: func(s *state) table[resource.Ec2Tag] { return s.Ec2Tags },
		create: func(o *op, in *resource.Ec2Tag) (string, error) {
			if !o.exists(in.ResourceID) {
				return "", api.Errorf("InvalidID", "The ID '%s' is not valid", in.ResourceID)
			}
			return in.ResourceID + "," + in.Key, nil
		},
	}
}

// exists says whether EC2 knows an id that tags can sit on.
func (o *op) exists(id string) bool {
	_, subnet := o.Subnets[id]
	_, group := o.SecurityGroups[id]
	_, vpc := o.Vpcs[id]
	_, rt := o.RouteTables[id]
	_, made := o.Instances[id]
	return subnet || group || vpc || rt || made
}

// checkRoom says whether a zone can give a number of machines of a type, and whether
// the quota allows them. Sources: EC2 API error codes VcpuLimitExceeded,
// InsufficientInstanceCapacity and Unsupported.
func (o *op) checkRoom(name, zone string, count int, spot bool) error {
	t, ok := typeNamed(name)
	if !ok {
		return api.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
	}
	if matches(o.Faults.NotOffered, name, zone) {
		return api.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", name, zone, o.otherZones(zone, name))
	}
	code := quotaOf(name, spot)
	limit := o.quota(code)
	if float64(o.vcpuInUse(code)+count*t.VCPU) > limit {
		return api.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %g allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
	}
	if matches(o.Faults.NoCapacity, name, zone) {
		return api.Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity. You can currently get %s capacity by not specifying an Availability Zone in your request or choosing %s.", name, zone, name, o.otherZones(zone, name)).WithStatus(500)
	}
	return nil
}

// otherZones names the zones that still have a type, as EC2's message does.
func (o *op) otherZones(except, name string) string {
	list := ""
	for _, z := range o.zones() {
		if z.Name == except || matches(o.Faults.NoCapacity, name, z.Name) || matches(o.Faults.NotOffered, name, z.Name) {
			continue
		}
		if list != "" {
			list += ", "
		}
		list += z.Name
	}
	return list
}
