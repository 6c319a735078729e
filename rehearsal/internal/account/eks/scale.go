package eks

import (
	"context"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// InstancesOf lists a node group's instances in order of their ids.
func InstancesOf(o *store.Op, groupID string) []string {
	group := NodeGroups.In(o)[groupID]
	var ids []string
	for _, id := range ec2.Instances.In(o).IDs() {
		if ec2.Instances.In(o)[id].Cluster == group.ClusterName &&
			ec2.Instances.In(o)[id].NodeGroup == group.NodeGroupName {
			ids = append(ids, id)
		}
	}
	return ids
}

// scaleTo launches or terminates instances until the group has the given size.
func scaleTo(o *store.Op, groupID string, size int) error {
	have := InstancesOf(o, groupID)
	if len(have) > size {
		ec2.TerminateInstances(o, have[size:])
	}
	for i := len(have); i < size; i++ {
		if err := launchInstance(o, groupID, i); err != nil {
			return err
		}
	}
	return nil
}

// terminateExcept terminates the instances that are not in keep.
func terminateExcept(o *store.Op, all, keep []string) {
	for _, id := range all {
		if !slices.Contains(keep, id) {
			ec2.TerminateInstances(o, []string{id})
		}
	}
}

// launchInstance starts the nth instance of a group.
func launchInstance(o *store.Op, groupID string, nth int) error {
	group := NodeGroups.In(o)[groupID]
	made := &ec2.Instance{
		NodeGroup: group.NodeGroupName, Cluster: group.ClusterName, AmiType: group.AmiType,
		Release: group.ReleaseVersion,
		Spot:    group.CapacityType == "SPOT", DeviceBroken: o.Faults.EFADeviceBroken,
	}
	var template ec2.TemplateVersionData
	types := group.InstanceTypes
	if group.LaunchTemplate != nil {
		var err error
		if template, err = templateVersion(o, group.LaunchTemplate); err != nil {
			return err
		}
		made.TemplateID, made.TemplateVersion = template.ID, template.Version
		if template.InstanceType != "" {
			types = []string{template.InstanceType}
		}
	}
	// An autoscaling group spreads over its subnets' zones, in turn.
	made.SubnetID = group.SubnetIDs[nth%len(group.SubnetIDs)]
	subnet := ec2.Subnets.In(o)[made.SubnetID]
	made.Zone, made.VpcID = subnet.AvailabilityZone, subnet.VpcID
	made.Type = typesOrDefault(types)[0]
	cluster := Clusters.In(o)[group.ClusterName]
	return ec2.Launch(o, made, template.LaunchTemplateData,
		cluster.VpcConfig.ClusterSecurityGroupID)
}

// Resize changes the size of a group, as UpdateNodegroupConfig does; nil keeps a value.
func Resize(ctx context.Context, a *store.Store, groupID string, smallest, desired *int) error {
	err := a.Change(func(o *store.Op) error {
		config := NodeGroups.In(o)[groupID].ScalingConfig
		if smallest != nil {
			config.MinSize = *smallest
		}
		if desired != nil {
			config.DesiredSize = *desired
		}
		NodeGroups.In(o)[groupID].ScalingConfig = config
		return scaleTo(o, groupID, config.DesiredSize)
	})
	if err != nil {
		return err
	}
	return joinNodes(ctx, a, groupID)
}
