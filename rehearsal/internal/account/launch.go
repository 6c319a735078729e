package account

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// instancesOf lists a node group's instances in order of their ids.
func (o *op) instancesOf(groupID string) []string {
	group := o.NodeGroups[groupID]
	var ids []string
	for _, id := range o.Instances.sorted() {
		if o.Instances[id].Cluster == group.ClusterName && o.Instances[id].NodeGroup == group.NodeGroupName {
			ids = append(ids, id)
		}
	}
	return ids
}

// scaleTo launches or ends instances until the group has size of them.
func (o *op) scaleTo(groupID string, size int) error {
	have := o.instancesOf(groupID)
	if len(have) > size {
		o.terminateThese(have[size:])
	}
	for i := len(have); i < size; i++ {
		if err := o.launch(groupID, i); err != nil {
			return err
		}
	}
	return nil
}

// terminate ends the instances of all that are not in keep.
func (o *op) terminate(all, keep []string) {
	for _, id := range all {
		if !slices.Contains(keep, id) {
			o.terminateThese([]string{id})
		}
	}
}

func (o *op) terminateThese(ids []string) {
	for _, id := range ids {
		for _, interfaceID := range o.Instances[id].Interfaces {
			delete(o.Interfaces, interfaceID)
		}
		delete(o.Instances, id)
	}
}

// launch starts the nth instance of a group.
func (o *op) launch(groupID string, nth int) error {
	group := o.NodeGroups[groupID]
	made := &instance{
		NodeGroup: group.NodeGroupName, Cluster: group.ClusterName, AmiType: group.AmiType, Release: group.ReleaseVersion,
		Spot: group.CapacityType == "SPOT", DeviceBroken: o.Faults.EFADeviceBroken,
	}
	var data resource.LaunchTemplateData
	types := group.InstanceTypes
	if group.LaunchTemplate != nil {
		id, version, found, err := o.templateVersion(group.LaunchTemplate)
		if err != nil {
			return err
		}
		made.TemplateID, made.TemplateVersion, data = id, version, found
		if data.InstanceType != "" {
			types = []string{data.InstanceType}
		}
	}
	// An autoscaling group spreads over its subnets' zones, in turn.
	made.SubnetID = group.SubnetIDs[nth%len(group.SubnetIDs)]
	made.Zone, made.VpcID = o.Subnets[made.SubnetID].AvailabilityZone, o.Subnets[made.SubnetID].VpcID
	made.Type = typesOrDefault(types)[0]
	if err := o.place(made, data); err != nil {
		return err
	}
	if err := o.takeCapacity(made, data); err != nil {
		return err
	}
	return o.attach(made, data, o.Clusters[group.ClusterName])
}

// place puts an instance into its placement group.
// Source: EC2 user guide, "Placement groups": a cluster placement group can't span zones.
func (o *op) place(made *instance, data resource.LaunchTemplateData) error {
	if data.Placement == nil || data.Placement.GroupName == "" {
		return nil
	}
	group := o.placementNamed(data.Placement.GroupName)
	if group == nil {
		return api.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", data.Placement.GroupName)
	}
	made.Placement = group.Name
	if group.Strategy != "cluster" {
		return nil
	}
	for _, id := range o.Instances.sorted() {
		if other := o.Instances[id]; other.Placement == group.Name && other.Zone != made.Zone {
			return api.Errorf("InvalidParameterValue", "A cluster placement group can't span multiple Availability Zones: %s has instances in %s, the launch is in %s. Give the node group subnets of one zone.", group.Name, other.Zone, made.Zone)
		}
	}
	return nil
}

// takeCapacity finds a machine: in a reservation, or in the zone's pool.
func (o *op) takeCapacity(made *instance, data resource.LaunchTemplateData) error {
	spec := data.CapacityReservationSpecification
	if spec != nil && spec.CapacityReservationTarget != nil && spec.CapacityReservationTarget.CapacityReservationID != "" {
		id := spec.CapacityReservationTarget.CapacityReservationID
		reservation, ok := o.CapacityReservations[id]
		if !ok {
			return api.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist.", id)
		}
		// A machine in a placement group is none of a reservation outside it.
		// Source: terraform-aws-eks#3730.
		outside := made.Placement != "" && reservation.PlacementGroupARN != o.PlacementGroups[made.Placement].ARN
		if reservation.InstanceType != made.Type || reservation.AvailabilityZone != made.Zone || outside || o.freeIn(made.Type, made.Zone) == 0 {
			return api.Errorf("InsufficientInstanceCapacity", "There is not enough capacity in the capacity reservation %s for %s in %s.", id, made.Type, made.Zone).WithStatus(500)
		}
		return nil
	}
	// Source: EC2 user guide: open reservations are used by any instance that matches.
	preference := ""
	if spec != nil {
		preference = spec.CapacityReservationPreference
	}
	if preference != "none" && made.Placement == "" && o.freeIn(made.Type, made.Zone) > 0 {
		return nil
	}
	return o.checkRoom(made.Type, made.Zone, 1, made.Spot)
}

// freeIn counts the unused places of a zone's reservations for a type.
func (o *op) freeIn(name, zone string) int {
	free := 0
	for _, reservation := range o.CapacityReservations {
		if reservation.InstanceType == name && reservation.AvailabilityZone == zone {
			free += reservation.InstanceCount
		}
	}
	for _, found := range o.Instances {
		if found.Type == name && found.Zone == zone {
			free--
		}
	}
	return max(free, 0)
}

// attach gives an instance its interfaces and stores it.
func (o *op) attach(made *instance, data resource.LaunchTemplateData, cluster *resource.Cluster) error {
	nics := data.NetworkInterfaces
	if len(nics) == 0 {
		// Source: EKS user guide, "Using custom security groups": the cluster's group,
		// unless the template names groups.
		groups := data.VpcSecurityGroupIDs
		if len(groups) == 0 {
			groups = []string{cluster.VpcConfig.ClusterSecurityGroupID}
		}
		zero := 0
		nics = []resource.TemplateNetworkInterface{{DeviceIndex: &zero, SecurityGroups: groups}}
	}
	id := newID("i")
	for _, nic := range nics {
		groups := nic.SecurityGroups
		if len(groups) == 0 {
			// Source: EC2 user guide: an interface without groups gets the VPC's default.
			groups = []string{o.Vpcs[made.VpcID].DefaultSecurityGroupID}
		}
		attached := &networkInterface{SubnetID: made.SubnetID, SecurityGroups: groups, Owner: id, InterfaceType: nic.InterfaceType}
		if attached.InterfaceType == "" {
			attached.InterfaceType = "interface"
		}
		// Source: EC2 user guide: an EFA-only interface has no IP address.
		if nic.InterfaceType != "efa-only" {
			address, err := o.nextAddress(made.SubnetID)
			if err != nil {
				return err
			}
			attached.PrivateIP = address
		}
		if number(nic.DeviceIndex) == 0 && number(nic.NetworkCardIndex) == 0 {
			made.PrivateIP = attached.PrivateIP
			public := nic.AssociatePublicIPAddress == "true" ||
				nic.AssociatePublicIPAddress == "" && o.Subnets[made.SubnetID].MapPublicIPOnLaunch
			if public {
				attached.PublicIP = "198.51.100." + made.PrivateIP[lastDot(made.PrivateIP)+1:]
			}
		}
		interfaceID := newID("eni")
		o.Interfaces[interfaceID] = attached
		made.Interfaces = append(made.Interfaces, interfaceID)
	}
	o.Instances[id] = made
	return nil
}

func lastDot(address string) int {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == '.' {
			return i
		}
	}
	return -1
}
