package stack

import (
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
)

// clusterTag is on every instance of an EKS managed node group, with the cluster's name.
// Source: EKS user guide, "Create a managed node group", tags that EKS adds.
const clusterTag = "eks:cluster-name"

// OtherInstances calls ec2:DescribeInstances for all instances of the families, for Spot instances
// (which have their own quotas), and for this cluster's instances. The provider's list has no types,
// so it then asks for the type of one of the rest, and for all instances of that type, until none is
// left: two calls per type.
func (l lookup) OtherInstances(families []string) (map[string]int, error) {
	var prefixes []string
	for _, family := range families {
		prefixes = append(prefixes, family+"*")
	}
	ofFamilies := ec2.GetInstancesFilter{Name: "instance-type", Values: prefixes}
	left, err := l.instances(nil, ofFamilies)
	if err != nil || len(left) == 0 {
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
	left = without(left, append(spot, own...))
	types := map[string]int{}
	for len(left) > 0 {
		found, err := ec2.LookupInstance(l.ctx, &ec2.LookupInstanceArgs{InstanceId: &left[0]}, l.option)
		if err != nil {
			return nil, failed("ec2:DescribeInstances", err)
		}
		same, err := l.instances(nil, ec2.GetInstancesFilter{Name: "instance-type", Values: []string{found.InstanceType}})
		if err != nil {
			return nil, err
		}
		// An instance that ended meanwhile is not in the second reply.
		rest := without(left[1:], same)
		types[found.InstanceType] += len(left) - len(rest)
		left = rest
	}
	return types, nil
}

// without returns the ids that are not among others.
func without(ids, others []string) []string {
	known := map[string]bool{}
	for _, id := range others {
		known[id] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return known[id] })
}

func (l lookup) instances(tags map[string]string, filters ...ec2.GetInstancesFilter) ([]string, error) {
	found, err := ec2.GetInstances(l.ctx, &ec2.GetInstancesArgs{
		Filters: filters, InstanceTags: tags, InstanceStateNames: []string{"pending", "running"},
	}, l.option)
	if err != nil {
		return nil, failed("ec2:DescribeInstances", err)
	}
	return found.Ids, nil
}

// OtherAddresses calls ec2:DescribeAddresses, for all addresses and for this stack's.
func (l lookup) OtherAddresses() (int, error) {
	all, err := ec2.GetEips(l.ctx, &ec2.GetEipsArgs{}, l.option)
	if err != nil {
		return 0, failed("ec2:DescribeAddresses", err)
	}
	own, err := ec2.GetEips(l.ctx, &ec2.GetEipsArgs{Tags: l.tags}, l.option)
	if err != nil {
		return 0, failed("ec2:DescribeAddresses", err)
	}
	return len(all.AllocationIds) - len(own.AllocationIds), nil
}

// OtherVPCs calls ec2:DescribeVpcs, for all addresses and for this stack's.
func (l lookup) OtherVPCs() (int, error) {
	all, err := ec2.GetVpcs(l.ctx, &ec2.GetVpcsArgs{}, l.option)
	if err != nil {
		return 0, failed("ec2:DescribeVpcs", err)
	}
	own, err := ec2.GetVpcs(l.ctx, &ec2.GetVpcsArgs{Tags: l.tags}, l.option)
	if err != nil {
		return 0, failed("ec2:DescribeVpcs", err)
	}
	return len(all.Ids) - len(own.Ids), nil
}
