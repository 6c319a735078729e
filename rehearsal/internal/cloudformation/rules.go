package cloudformation

import (
	"encoding/json"
	"fmt"
)

// rule says how the inputs of a resource type become the properties of a CloudFormation type. Inputs
// without an entry keep their name, with an upper-case first letter.
type rule struct {
	// Type is CloudFormation's type. Without it, the resource is part of another one there.
	Type string
	// Rename maps an input to the property of another name.
	Rename map[string]string
	// Drop lists inputs that are options of the provider, or names that CloudFormation chooses.
	Drop []string
	// Verbatim lists inputs whose value is a map of the user's own keys.
	Verbatim []string
	// MapTags reports whether the type has its tags as a map.
	MapTags bool
	// Shape changes properties that are nested differently.
	Shape func(properties map[string]any) error
}

// rules returns the rules of the program's resource types. The names are those of the resource
// types' pages in the CloudFormation template reference.
func rules() map[string]rule {
	return map[string]rule{
		"aws:ec2/vpc:Vpc":       {Type: "AWS::EC2::VPC"},
		"aws:ec2/subnet:Subnet": {Type: "AWS::EC2::Subnet"},
		"aws:ec2/internetGateway:InternetGateway": {
			Type: "AWS::EC2::InternetGateway", Drop: []string{"vpcId"}, // a VPCGatewayAttachment there
		},
		"aws:ec2/routeTable:RouteTable": {Type: "AWS::EC2::RouteTable"},
		"aws:ec2/route:Route":           {Type: "AWS::EC2::Route"},
		"aws:ec2/routeTableAssociation:RouteTableAssociation": {
			Type: "AWS::EC2::SubnetRouteTableAssociation",
		},
		"aws:ec2/vpcEndpoint:VpcEndpoint": {Type: "AWS::EC2::VPCEndpoint"},
		"aws:ec2/eip:Eip":                 {Type: "AWS::EC2::EIP"},
		"aws:ec2/natGateway:NatGateway":   {Type: "AWS::EC2::NatGateway"},
		"aws:ec2/placementGroup:PlacementGroup": {
			Type: "AWS::EC2::PlacementGroup", Drop: []string{"name"},
		},
		"aws:ec2/securityGroup:SecurityGroup": {
			Type:   "AWS::EC2::SecurityGroup",
			Rename: map[string]string{"description": "GroupDescription", "name": "GroupName"},
			Drop:   []string{"revokeRulesOnDelete"},
		},
		"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {
			Type: "AWS::EC2::SecurityGroupIngress", Drop: []string{"tagsAll"},
			Rename: map[string]string{
				"securityGroupId": "GroupId", "referencedSecurityGroupId": "SourceSecurityGroupId",
			},
		},
		"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {
			Type: "AWS::EC2::SecurityGroupEgress", Drop: []string{"tagsAll"},
			Rename: map[string]string{
				"securityGroupId": "GroupId", "referencedSecurityGroupId": "DestinationSecurityGroupId",
			},
		},
		// The rules of pulumi-eks, of either direction. Their direction is checked by the ingress type.
		"aws:ec2/securityGroupRule:SecurityGroupRule": {
			Type: "AWS::EC2::SecurityGroupIngress", Drop: []string{"type"},
			Rename: map[string]string{"securityGroupId": "GroupId", "protocol": "IpProtocol"},
			Shape:  shapeSecurityGroupRule,
		},
		"aws:ec2/launchTemplate:LaunchTemplate": {
			Type: "AWS::EC2::LaunchTemplate", Drop: []string{"updateDefaultVersion"},
			Rename: map[string]string{
				"name": "LaunchTemplateName", "description": "VersionDescription",
			},
			Shape: shapeLaunchTemplate,
		},
		"aws:cloudwatch/logGroup:LogGroup": {
			Type: "AWS::Logs::LogGroup", Rename: map[string]string{"name": "LogGroupName"},
		},
		"aws:kms/key:Key": {
			Type: "AWS::KMS::Key",
			Rename: map[string]string{
				"customerMasterKeySpec": "KeySpec", "deletionWindowInDays": "PendingWindowInDays",
				"policy": "KeyPolicy",
			},
			Shape: func(properties map[string]any) error {
				return parseDocument(properties, "KeyPolicy")
			},
		},
		"aws:iam/role:Role": {
			Type: "AWS::IAM::Role",
			Rename: map[string]string{
				"assumeRolePolicy": "AssumeRolePolicyDocument", "name": "RoleName",
			},
			Shape: func(properties map[string]any) error {
				return parseDocument(properties, "AssumeRolePolicyDocument")
			},
		},
		"aws:iam/rolePolicyAttachment:RolePolicyAttachment": {}, // ManagedPolicyArns of the role
		"aws:iam/rolePolicy:RolePolicy": {
			Type: "AWS::IAM::RolePolicy",
			Rename: map[string]string{
				"name": "PolicyName", "policy": "PolicyDocument", "role": "RoleName",
			},
			Shape: func(properties map[string]any) error {
				return parseDocument(properties, "PolicyDocument")
			},
		},
		"aws:ec2/capacityReservation:CapacityReservation": {
			Type: "AWS::EC2::CapacityReservation", Drop: []string{"placementGroupArn"}, // no property there
			Shape: func(properties map[string]any) error {
				properties["TagSpecifications"] = []map[string]any{
					{"ResourceType": "capacity-reservation", "Tags": properties["Tags"]},
				}
				delete(properties, "Tags")
				return nil
			},
		},
		"aws:scheduler/schedule:Schedule": {Type: "AWS::Scheduler::Schedule"},
		"aws:ec2/flowLog:FlowLog": {
			Type: "AWS::EC2::FlowLog",
			Rename: map[string]string{
				"vpcId": "ResourceId", "iamRoleArn": "DeliverLogsPermissionArn",
			},
			Shape: func(properties map[string]any) error {
				properties["ResourceType"] = "VPC"
				return nil
			},
		},
		"aws:eks/cluster:Cluster": {
			Type: "AWS::EKS::Cluster",
			Rename: map[string]string{
				"vpcConfig": "ResourcesVpcConfig", "enabledClusterLogTypes": "Logging",
			},
			Shape: shapeCluster,
		},
		"aws:eks/accessEntry:AccessEntry": {Type: "AWS::EKS::AccessEntry"},
		"aws:eks/addon:Addon": {
			Type: "AWS::EKS::Addon", Drop: []string{"resolveConflictsOnUpdate"},
			Rename: map[string]string{
				"preserve": "PreserveOnDelete", "resolveConflictsOnCreate": "ResolveConflicts",
			},
		},
		"aws:eks/nodeGroup:NodeGroup": {
			Type: "AWS::EKS::Nodegroup", MapTags: true, Verbatim: []string{"labels"},
			Rename: map[string]string{
				"nodeGroupName": "NodegroupName", "nodeRoleArn": "NodeRole", "subnetIds": "Subnets",
			},
		},
	}
}

// shapeSecurityGroupRule writes the source of a rule, of which CloudFormation takes one.
func shapeSecurityGroupRule(properties map[string]any) error {
	if blocks, ok := properties["CidrBlocks"].([]any); ok {
		if len(blocks) != 1 {
			return fmt.Errorf("property cidrBlocks: %d blocks; one is converted", len(blocks))
		}
		properties["CidrIp"] = blocks[0]
		delete(properties, "CidrBlocks")
	}
	if properties["Self"] == true {
		properties["SourceSecurityGroupId"] = properties["GroupId"]
	}
	delete(properties, "Self")
	return nil
}

// shapeLaunchTemplate moves what describes the instances into LaunchTemplateData.
func shapeLaunchTemplate(properties map[string]any) error {
	data := map[string]any{}
	for key, value := range properties {
		switch key {
		case "LaunchTemplateName", "VersionDescription", "Tags":
			continue
		case "NetworkInterfaces":
			for _, one := range value.([]any) { //nolint:forcetypeassert // a list in the schema
				interfaces := one.(map[string]any) //nolint:forcetypeassert // of objects
				interfaces["Groups"] = interfaces["SecurityGroups"]
				delete(interfaces, "SecurityGroups")
			}
		}
		data[key] = value
		delete(properties, key)
	}
	properties["LaunchTemplateData"] = data
	if tags, ok := properties["Tags"]; ok {
		properties["TagSpecifications"] = []map[string]any{
			{"ResourceType": "launch-template", "Tags": tags},
		}
		delete(properties, "Tags")
	}
	return nil
}

// shapeCluster writes the lists and objects that EKS nests differently.
func shapeCluster(properties map[string]any) error {
	if encryption, ok := properties["EncryptionConfig"]; ok {
		properties["EncryptionConfig"] = []any{encryption}
	}
	if types, ok := properties["Logging"].([]any); ok {
		enabled := make([]map[string]any, len(types))
		for i, one := range types {
			enabled[i] = map[string]any{"Type": one}
		}
		properties["Logging"] = map[string]any{
			"ClusterLogging": map[string]any{"EnabledTypes": enabled},
		}
	}
	return nil
}

// parseDocument replaces a JSON document in a string by the document.
func parseDocument(properties map[string]any, key string) error {
	text, ok := properties[key].(string)
	if !ok {
		return fmt.Errorf("property %q: %v is not a JSON document", key, properties[key])
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return fmt.Errorf("property %q: %w", key, err)
	}
	properties[key] = document
	return nil
}
