// Package eks holds the resource types, functions and rules of EKS: clusters, node groups,
// add-ons and access. It passes what exists on to the rehearsal's runtime.
package eks

import "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"

// Types are the resource types of EKS.
func Types() []store.AnyType {
	return []store.AnyType{
		clusterType(), nodeGroupType(), addonType(),
		accessEntryType(), accessAssociationType(), podIdentityType(),
	}
}

// Functions are the provider's functions about EKS and its AMIs, by token.
func Functions() map[string]store.Function {
	return map[string]store.Function{
		"aws:eks/getAddonVersion:getAddonVersion":       store.Answer(getAddonVersion),
		"aws:eks/getClusterVersions:getClusterVersions": store.Answer(getClusterVersions),
		"aws:eks/getClusterAuth:getClusterAuth":         store.Answer(getClusterAuth),
		"aws:eks/getCluster:getCluster":                 store.Answer(getCluster),
		"aws:eks/getClusters:getClusters":               store.Answer(getClusters),
		"aws:eks/getNodeGroup:getNodeGroup":             store.Answer(getNodeGroup),
		"aws:ssm/getParameter:getParameter":             store.Answer(getParameter),
	}
}
