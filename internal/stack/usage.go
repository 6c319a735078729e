package stack

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
)

// clusterTag is on every instance of an EKS managed node group, with the cluster's name.
// Source: EKS user guide, "Create a managed node group", tags that EKS adds.
const clusterTag = "eks:cluster-name"

// OtherInstances calls ec2:DescribeInstances for all instances of the families, for Spot instances
// (which have their own quotas), for this cluster's instances, and then for each remaining
// instance, to get its type.
func (l lookup) OtherInstances(families []string) (map[string]int, error) {
	var prefixes []string
	for _, family := range families {
		prefixes = append(prefixes, family+"*")
	}
	ofFamilies := ec2.GetInstancesFilter{Name: "instance-type", Values: prefixes}
	all, err := l.instances(nil, ofFamilies)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	spot, err := l.instances(nil, ofFamilies, ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}})
	if err != nil {
		return nil, err
	}
	own, err := l.instances(map[string]string{clusterTag: l.cluster}, ofFamilies)
	if err != nil {
		return nil, err
	}
	types := map[string]int{}
	for _, id := range all {
		if slices.Contains(spot, id) || slices.Contains(own, id) {
			continue
		}
		found, err := ec2.LookupInstance(l.ctx, &ec2.LookupInstanceArgs{InstanceId: &id}, l.option)
		if err != nil {
			return nil, fmt.Errorf("calling ec2:DescribeInstances for %q: %w", id, err)
		}
		types[found.InstanceType]++
	}
	return types, nil
}

func (l lookup) instances(tags map[string]string, filters ...ec2.GetInstancesFilter) ([]string, error) {
	found, err := ec2.GetInstances(l.ctx, &ec2.GetInstancesArgs{
		Filters: filters, InstanceTags: tags, InstanceStateNames: []string{"pending", "running"},
	}, l.option)
	if err != nil {
		return nil, fmt.Errorf("calling ec2:DescribeInstances: %w", err)
	}
	return found.Ids, nil
}

// OtherAddresses calls ec2:DescribeAddresses, for all addresses and for this stack's.
func (l lookup) OtherAddresses() (int, error) {
	all, err := ec2.GetEips(l.ctx, &ec2.GetEipsArgs{}, l.option)
	if err != nil {
		return 0, fmt.Errorf("calling ec2:DescribeAddresses: %w", err)
	}
	own, err := ec2.GetEips(l.ctx, &ec2.GetEipsArgs{Tags: l.tags}, l.option)
	if err != nil {
		return 0, fmt.Errorf("calling ec2:DescribeAddresses: %w", err)
	}
	return len(all.AllocationIds) - len(own.AllocationIds), nil
}

// OtherVPCs calls ec2:DescribeVpcs, for all addresses and for this stack's.
func (l lookup) OtherVPCs() (int, error) {
	all, err := ec2.GetVpcs(l.ctx, &ec2.GetVpcsArgs{}, l.option)
	if err != nil {
		return 0, fmt.Errorf("calling ec2:DescribeVpcs: %w", err)
	}
	own, err := ec2.GetVpcs(l.ctx, &ec2.GetVpcsArgs{Tags: l.tags}, l.option)
	if err != nil {
		return 0, fmt.Errorf("calling ec2:DescribeVpcs: %w", err)
	}
	return len(all.Ids) - len(own.Ids), nil
}
