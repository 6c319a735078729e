// Package ec2 holds the resource types, functions and rules of EC2 and VPC: networks,
// security groups, launch templates, placement groups, capacity and instances.
//
// Each rule has its source in a comment. "wording ours" marks messages with AWS's code but not
// AWS's exact text.
package ec2

import "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"

// Types are the resource types of EC2.
func Types() []store.AnyType {
	return []store.AnyType{
		vpcType(), subnetType(), internetGatewayType(), eipType(), natGatewayType(),
		routeTableType(), routeType(), associationType(), vpcEndpointType(),
		securityGroupType(), securityGroupRuleType(), ingressRuleType(), egressRuleType(),
		launchTemplateType(), placementGroupType(), capacityReservationType(), tagType(),
		instanceResourceType(), networkInterfaceType(), flowLogType(),
	}
}

// Functions returns the provider functions for EC2, regions and quotas, by token.
func Functions() map[string]store.Function {
	return map[string]store.Function{
		"aws:index/getPartition:getPartition":                 store.Answer(getPartition),
		"aws:index/getCallerIdentity:getCallerIdentity":       store.Answer(getCallerIdentity),
		"aws:index/getRegion:getRegion":                       store.Answer(getRegion),
		"aws:index/getAvailabilityZones:getAvailabilityZones": store.Answer(getAvailabilityZones),
		"aws:ec2/getInstanceType:getInstanceType":             store.Answer(getInstanceType),
		"aws:ec2/getInstanceTypes:getInstanceTypes":           store.Answer(getInstanceTypes),
		"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": store.Answer(
			getInstanceTypeOfferings),
		"aws:ec2/getInstances:getInstances":                 store.Answer(getInstances),
		"aws:ec2/getInstance:getInstance":                   store.Answer(getInstance),
		"aws:ec2/getEips:getEips":                           store.Answer(getEips),
		"aws:ec2/getVpcs:getVpcs":                           store.Answer(getVpcs),
		"aws:ec2/getVpc:getVpc":                             store.Answer(getVpc),
		"aws:ec2/getSubnet:getSubnet":                       store.Answer(getSubnet),
		"aws:ec2/getSubnets:getSubnets":                     store.Answer(getSubnets),
		"aws:ec2/getSecurityGroup:getSecurityGroup":         store.Answer(getSecurityGroup),
		"aws:servicequotas/getServiceQuota:getServiceQuota": store.Answer(getServiceQuota),
		"aws:ec2/getSpotPrice:getSpotPrice":                 store.Answer(getSpotPrice),
	}
}
