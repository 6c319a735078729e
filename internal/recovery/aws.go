package recovery

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/owned"
)

// kinds maps Pulumi's types to the kinds of ARNs.
// Source: AWS Service Authorization Reference, resource types of each service.
func kinds() map[string]string {
	return map[string]string{
		"aws:cloudwatch/logGroup:LogGroup":                          "logs/log-group",
		"aws:ec2/capacityReservation:CapacityReservation":           "ec2/capacity-reservation",
		"aws:ec2/eip:Eip":                                           "ec2/elastic-ip",
		"aws:ec2/internetGateway:InternetGateway":                   "ec2/internet-gateway",
		"aws:ec2/launchTemplate:LaunchTemplate":                     "ec2/launch-template",
		"aws:ec2/natGateway:NatGateway":                             "ec2/natgateway",
		"aws:ec2/placementGroup:PlacementGroup":                     "ec2/placement-group",
		"aws:ec2/routeTable:RouteTable":                             "ec2/route-table",
		"aws:ec2/securityGroup:SecurityGroup":                       "ec2/security-group",
		"aws:ec2/subnet:Subnet":                                     "ec2/subnet",
		"aws:ec2/vpc:Vpc":                                           "ec2/vpc",
		"aws:ec2/vpcEndpoint:VpcEndpoint":                           "ec2/vpc-endpoint",
		"aws:eks/addon:Addon":                                       "eks/addon",
		"aws:eks/cluster:Cluster":                                   "eks/cluster",
		"aws:eks/nodeGroup:NodeGroup":                               "eks/nodegroup",
		"aws:eks/podIdentityAssociation:PodIdentityAssociation":     "eks/podidentityassociation",
		"aws:kms/key:Key":                                           "kms/key",
		"aws:s3/bucketV2:BucketV2":                                  "s3",
		"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule":   "ec2/security-group-rule",
		"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "ec2/security-group-rule",
	}
}

func kindOf(token string) (string, bool) {
	kind, ok := kinds()[token]
	return kind, ok
}

// pulumiID returns the id that pulumi-aws gives the resource.
func pulumiID(r owned.Resource) string {
	parts := strings.Split(r.ID(), "/")
	switch r.Kind() {
	case "eks/nodegroup", "eks/addon": // CLUSTER/NAME/UUID
		if len(parts) > 1 {
			return parts[0] + ":" + parts[1]
		}
	case "eks/podidentityassociation": // CLUSTER/ID
		return parts[len(parts)-1]
	case "logs/log-group":
		return strings.TrimSuffix(r.ID(), ":*")
	}
	return r.ID()
}

// nameOf returns the id of a resource whose inputs determine it, otherwise "".
func nameOf(r resource) string {
	switch r.Type {
	case "aws:eks/cluster:Cluster", "aws:cloudwatch/logGroup:LogGroup", "aws:ec2/placementGroup:PlacementGroup":
		return r.input("name")
	case "aws:eks/nodeGroup:NodeGroup":
		return r.input("clusterName") + ":" + r.input("nodeGroupName")
	case "aws:eks/addon:Addon":
		return r.input("clusterName") + ":" + r.input("addonName")
	case "aws:s3/bucketV2:BucketV2":
		return r.input("bucket")
	default:
		return ""
	}
}

// withoutTags answers for the types that tag:GetResources does not list. An id that the inputs
// determine can be imported without a lookup: a refresh drops what does not exist.
func withoutTags(r resource) (status Status, id, note string) {
	const unchecked = "not looked up; importing it drops it if it does not exist"
	switch r.Type {
	case "aws:iam/role:Role":
		return Found, r.input("name"), unchecked
	case "aws:eks/accessEntry:AccessEntry":
		return Found, r.input("clusterName") + ":" + r.input("principalArn"), unchecked
	case "aws:iam/rolePolicy:RolePolicy":
		return Found, r.input("role") + ":" + r.input("name"), unchecked
	case "aws:scheduler/schedule:Schedule":
		return Found, "default/" + r.input("name"), unchecked
	case "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:ec2/tag:Tag":
		return Absent, "", "creating it again changes nothing"
	default:
		return Unknown, "", "it has no tags; if the next up says that it exists, delete it by hand"
	}
}
