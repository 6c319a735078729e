package account

import (
	"maps"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// handlers returns the rules of every resource type, by token.
func handlers(kinds resource.Kinds) map[string]handler {
	all := map[string]handler{}
	for _, group := range []map[string]handler{
		networkHandlers(kinds), computeHandlers(kinds), iamHandlers(kinds),
		eksHandlers(kinds), storageHandlers(kinds),
	} {
		maps.Copy(all, group)
	}
	return all
}

func networkHandlers(kinds resource.Kinds) map[string]handler {
	return map[string]handler{
		resource.TokenVpc:                   vpcRules(kinds[resource.TokenVpc]),
		resource.TokenSubnet:                subnetRules(kinds[resource.TokenSubnet]),
		resource.TokenInternetGateway:       internetGatewayRules(kinds[resource.TokenInternetGateway]),
		resource.TokenEip:                   eipRules(kinds[resource.TokenEip]),
		resource.TokenNatGateway:            natGatewayRules(kinds[resource.TokenNatGateway]),
		resource.TokenRouteTable:            routeTableRules(kinds[resource.TokenRouteTable]),
		resource.TokenRoute:                 routeRules(kinds[resource.TokenRoute]),
		resource.TokenRouteTableAssociation: associationRules(kinds[resource.TokenRouteTableAssociation]),
		resource.TokenVpcEndpoint:           vpcEndpointRules(kinds[resource.TokenVpcEndpoint]),
		resource.TokenSecurityGroup:         securityGroupRules(kinds[resource.TokenSecurityGroup]),
		resource.TokenSecurityGroupRule:     securityGroupRuleRules(kinds[resource.TokenSecurityGroupRule]),
		resource.TokenIngressRule:           ingressRuleRules(kinds[resource.TokenIngressRule]),
		resource.TokenEgressRule:            egressRuleRules(kinds[resource.TokenEgressRule]),
	}
}

func computeHandlers(kinds resource.Kinds) map[string]handler {
	return map[string]handler{
		resource.TokenLaunchTemplate:      launchTemplateRules(kinds[resource.TokenLaunchTemplate]),
		resource.TokenPlacementGroup:      placementGroupRules(kinds[resource.TokenPlacementGroup]),
		resource.TokenCapacityReservation: capacityReservationRules(kinds[resource.TokenCapacityReservation]),
		resource.TokenEc2Tag:              ec2TagRules(kinds[resource.TokenEc2Tag]),
	}
}

func iamHandlers(kinds resource.Kinds) map[string]handler {
	return map[string]handler{
		resource.TokenRole:                  roleRules(kinds[resource.TokenRole]),
		resource.TokenRolePolicy:            rolePolicyRules(kinds[resource.TokenRolePolicy]),
		resource.TokenRolePolicyAttachment:  rolePolicyAttachmentRules(kinds[resource.TokenRolePolicyAttachment]),
		resource.TokenIAMPolicy:             iamPolicyRules(kinds[resource.TokenIAMPolicy]),
		resource.TokenOpenIDConnectProvider: oidcProviderRules(kinds[resource.TokenOpenIDConnectProvider]),
	}
}

func eksHandlers(kinds resource.Kinds) map[string]handler {
	return map[string]handler{
		resource.TokenCluster:                 clusterRules(kinds[resource.TokenCluster]),
		resource.TokenNodeGroup:               nodeGroupRules(kinds[resource.TokenNodeGroup]),
		resource.TokenAddon:                   addonRules(kinds[resource.TokenAddon]),
		resource.TokenAccessEntry:             accessEntryRules(kinds[resource.TokenAccessEntry]),
		resource.TokenAccessPolicyAssociation: accessAssociationRules(kinds[resource.TokenAccessPolicyAssociation]),
		resource.TokenPodIdentityAssociation:  podIdentityRules(kinds[resource.TokenPodIdentityAssociation]),
	}
}

func storageHandlers(kinds resource.Kinds) map[string]handler {
	return map[string]handler{
		resource.TokenKey:                     keyRules(kinds[resource.TokenKey]),
		resource.TokenAlias:                   aliasRules(kinds[resource.TokenAlias]),
		resource.TokenLogGroup:                logGroupRules(kinds[resource.TokenLogGroup]),
		resource.TokenBucket:                  bucketRules(kinds[resource.TokenBucket]),
		resource.TokenBucketPublicAccessBlock: bucketPublicAccessRules(kinds[resource.TokenBucketPublicAccessBlock]),
		resource.TokenBucketVersioning:        bucketVersioningRules(kinds[resource.TokenBucketVersioning]),
		resource.TokenBucketEncryption:        bucketEncryptionRules(kinds[resource.TokenBucketEncryption]),
		resource.TokenBucketLifecycle:         bucketLifecycleRules(kinds[resource.TokenBucketLifecycle]),
		resource.TokenBucketPolicy:            bucketPolicyRules(kinds[resource.TokenBucketPolicy]),
		resource.TokenBucketOwnership:         bucketOwnershipRules(kinds[resource.TokenBucketOwnership]),
	}
}
