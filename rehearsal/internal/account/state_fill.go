package account

// fill makes every table that the stored file does not hold, so that code can write
// to any of them.
func (s *state) fill() {
	ensure(&s.Vpcs)
	ensure(&s.Subnets)
	ensure(&s.InternetGateways)
	ensure(&s.Eips)
	ensure(&s.NatGateways)
	ensure(&s.RouteTables)
	ensure(&s.Routes)
	ensure(&s.Associations)
	ensure(&s.VpcEndpoints)
	ensure(&s.SecurityGroups)
	ensure(&s.SecurityGroupRules)
	ensure(&s.IngressRules)
	ensure(&s.EgressRules)
	ensure(&s.LaunchTemplates)
	ensure(&s.PlacementGroups)
	ensure(&s.CapacityReservations)
	ensure(&s.Ec2Tags)
	ensure(&s.Roles)
	ensure(&s.RolePolicies)
	ensure(&s.RolePolicyAttachments)
	ensure(&s.Policies)
	ensure(&s.OIDCProviders)
	ensure(&s.Clusters)
	ensure(&s.NodeGroups)
	ensure(&s.Addons)
	ensure(&s.AccessEntries)
	ensure(&s.AccessAssociations)
	ensure(&s.PodIdentities)
	ensure(&s.Keys)
	ensure(&s.Aliases)
	ensure(&s.LogGroups)
	ensure(&s.Buckets)
	ensure(&s.BucketPublicAccess)
	ensure(&s.BucketVersionings)
	ensure(&s.BucketEncryptions)
	ensure(&s.BucketLifecycles)
	ensure(&s.BucketPolicies)
	ensure(&s.BucketOwnerships)
	ensure(&s.Interfaces)
	ensure(&s.Instances)
}

func ensure[T any](t *table[T]) {
	if *t == nil {
		*t = table[T]{}
	}
}
