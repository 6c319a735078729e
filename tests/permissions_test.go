package tests

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// permission is a resource type or function of the AWS provider with the actions that it needs.
type permission struct{ token, actions string }

// permissions lists what the AWS provider calls for each resource type to create, read, change and
// delete it, and what EC2 and EKS check besides. The emulated account does not check permissions, so
// these are read, not observed.
// Sources: terraform-provider-aws, internal/service; the permissions of the handlers in AWS's
// CloudFormation schemas; EKS user guide, "Launch templates", for ec2:RunInstances.
func permissions() []permission {
	const tags = " ec2:CreateTags ec2:DeleteTags"
	return []permission{
		{"aws:ec2/vpc:Vpc", "ec2:CreateVpc ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:ModifyVpcAttribute ec2:DeleteVpc " +
			"ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeSecurityGroups" + tags},
		{"aws:ec2/subnet:Subnet", "ec2:CreateSubnet ec2:DescribeSubnets ec2:ModifySubnetAttribute ec2:DeleteSubnet " +
			"ec2:DescribeNetworkInterfaces" + tags},
		{"aws:ec2/internetGateway:InternetGateway", "ec2:CreateInternetGateway ec2:AttachInternetGateway " +
			"ec2:DescribeInternetGateways ec2:DetachInternetGateway ec2:DeleteInternetGateway" + tags},
		{"aws:ec2/routeTable:RouteTable", "ec2:CreateRouteTable ec2:DescribeRouteTables ec2:DeleteRouteTable" + tags},
		{"aws:ec2/route:Route", "ec2:CreateRoute ec2:ReplaceRoute ec2:DescribeRouteTables ec2:DeleteRoute"},
		{"aws:ec2/routeTableAssociation:RouteTableAssociation", "ec2:AssociateRouteTable ec2:ReplaceRouteTableAssociation " +
			"ec2:DescribeRouteTables ec2:DisassociateRouteTable"},
		{"aws:ec2/eip:Eip", "ec2:AllocateAddress ec2:DescribeAddresses ec2:DescribeAddressesAttribute " +
			"ec2:DisassociateAddress ec2:ReleaseAddress" + tags},
		{"aws:ec2/natGateway:NatGateway", "ec2:CreateNatGateway ec2:DescribeNatGateways ec2:DeleteNatGateway" + tags},
		{"aws:ec2/vpcEndpoint:VpcEndpoint", "ec2:CreateVpcEndpoint ec2:DescribeVpcEndpoints ec2:DescribePrefixLists " +
			"ec2:ModifyVpcEndpoint ec2:DeleteVpcEndpoints" + tags},
		{"aws:ec2/securityGroup:SecurityGroup", "ec2:CreateSecurityGroup ec2:DescribeSecurityGroups ec2:DeleteSecurityGroup " +
			"ec2:RevokeSecurityGroupIngress ec2:RevokeSecurityGroupEgress ec2:DescribeNetworkInterfaces" + tags},
		{"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "ec2:AuthorizeSecurityGroupIngress " +
			"ec2:DescribeSecurityGroupRules ec2:ModifySecurityGroupRules ec2:RevokeSecurityGroupIngress" + tags},
		{"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "ec2:AuthorizeSecurityGroupEgress " +
			"ec2:DescribeSecurityGroupRules ec2:ModifySecurityGroupRules ec2:RevokeSecurityGroupEgress" + tags},
		{"aws:ec2/placementGroup:PlacementGroup", "ec2:CreatePlacementGroup ec2:DescribePlacementGroups ec2:DeletePlacementGroup" + tags},
		{"aws:ec2/launchTemplate:LaunchTemplate", "ec2:CreateLaunchTemplate ec2:CreateLaunchTemplateVersion " +
			"ec2:ModifyLaunchTemplate ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions ec2:DeleteLaunchTemplate" + tags},
		// EKS checks with the caller's permissions that the launch template can start instances.
		{nodeGroup, "eks:CreateNodegroup eks:DescribeNodegroup eks:UpdateNodegroupConfig eks:UpdateNodegroupVersion " +
			"eks:DescribeUpdate eks:DeleteNodegroup eks:TagResource eks:UntagResource ec2:RunInstances " +
			"iam:PassRole iam:GetRole iam:CreateServiceLinkedRole"},
		// EKS makes the association of the CNI's role with the caller's permissions.
		{addon, "eks:CreateAddon eks:DescribeAddon eks:UpdateAddon eks:DescribeUpdate eks:DeleteAddon eks:TagResource eks:UntagResource " +
			"eks:CreatePodIdentityAssociation eks:DescribePodIdentityAssociation eks:UpdatePodIdentityAssociation " +
			"eks:DeletePodIdentityAssociation iam:GetRole iam:PassRole"},
		// The children of pulumi-eks's component: the cluster, its role, security groups and access entries.
		{eksComponent, "eks:CreateCluster eks:DescribeCluster eks:UpdateClusterConfig eks:UpdateClusterVersion " +
			"eks:DescribeUpdate eks:DeleteCluster eks:TagResource eks:UntagResource eks:CreateAccessEntry " +
			"eks:DescribeAccessEntry eks:UpdateAccessEntry eks:DeleteAccessEntry eks:AssociateAccessPolicy " +
			"eks:DisassociateAccessPolicy eks:ListAssociatedAccessPolicies iam:PassRole iam:GetRole " +
			"iam:CreateServiceLinkedRole kms:CreateGrant kms:DescribeKey"},
		{role, "iam:CreateRole iam:GetRole iam:PutRolePermissionsBoundary iam:DeleteRolePermissionsBoundary iam:UpdateRole iam:UpdateRoleDescription iam:UpdateAssumeRolePolicy " +
			"iam:TagRole iam:UntagRole iam:ListRolePolicies iam:ListAttachedRolePolicies iam:ListInstanceProfilesForRole iam:DeleteRole"},
		{"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "iam:AttachRolePolicy iam:ListAttachedRolePolicies iam:DetachRolePolicy"},
		{schedule, "scheduler:CreateSchedule scheduler:GetSchedule scheduler:UpdateSchedule scheduler:DeleteSchedule iam:PassRole"},
		{"aws:eks/getNodeGroup:getNodeGroup", "eks:DescribeNodegroup"},
		{"aws:iam/rolePolicy:RolePolicy", "iam:PutRolePolicy iam:GetRolePolicy iam:DeleteRolePolicy"},
		{reservation, "ec2:CreateCapacityReservation ec2:DescribeCapacityReservations ec2:ModifyCapacityReservation " +
			"ec2:CancelCapacityReservation" + tags},
		{flowLog, "ec2:CreateFlowLogs ec2:DescribeFlowLogs ec2:DeleteFlowLogs iam:PassRole" + tags},
		{kmsKey, "kms:CreateKey kms:DescribeKey kms:GetKeyPolicy kms:PutKeyPolicy kms:GetKeyRotationStatus " +
			"kms:EnableKeyRotation kms:UpdateKeyDescription kms:ListResourceTags kms:TagResource kms:UntagResource kms:ScheduleKeyDeletion"},
		// Logs use the key with the caller's permissions when a group is created.
		{logGroup, "logs:AssociateKmsKey logs:DisassociateKmsKey kms:DescribeKey logs:CreateLogGroup logs:DescribeLogGroups logs:PutRetentionPolicy " +
			"logs:DeleteRetentionPolicy logs:ListTagsForResource logs:TagResource logs:UntagResource logs:DeleteLogGroup"},
		{"aws:index/getCallerIdentity:getCallerIdentity", ""}, // needs no permission
		{"aws:eks/getClusters:getClusters", "eks:ListClusters"},
		{"aws:ssm/getParameter:getParameter", "ssm:GetParameter"},
		{"aws:eks/getAddonVersion:getAddonVersion", "eks:DescribeAddonVersions"},
		{"aws:ec2/getInstanceType:getInstanceType", "ec2:DescribeInstanceTypes"},
		{"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings", "ec2:DescribeInstanceTypeOfferings"},
		{"aws:index/getAvailabilityZones:getAvailabilityZones", "ec2:DescribeAvailabilityZones"},
		{"aws:eks/getClusterVersions:getClusterVersions", "eks:DescribeClusterVersions"},
		{"aws:servicequotas/getServiceQuota:getServiceQuota", "servicequotas:GetServiceQuota"},
		{"aws:ec2/getInstances:getInstances", "ec2:DescribeInstances"},
		{"aws:ec2/getInstance:getInstance", "ec2:DescribeInstances ec2:DescribeInstanceAttribute ec2:DescribeVolumes " +
			"ec2:DescribeInstanceTypes ec2:DescribeInstanceCreditSpecifications"},
		{"aws:ec2/getEips:getEips", "ec2:DescribeAddresses"},
		{"aws:ec2/getVpcs:getVpcs", "ec2:DescribeVpcs"},
		// internal/owned and `raytrain recover` call these without the provider.
		{"raytrain", "tag:GetResources kms:DescribeKey"},
	}
}

// policy is docs/permissions.json.
type policy struct {
	Statement []struct {
		Effect string
		Action []string
	}
}

func TestPermissionsCoverWhatTheProgramCalls(t *testing.T) {
	t.Parallel()
	needed := map[string]string{}
	for _, one := range permissions() {
		needed[one.token] = one.actions
	}
	busy := generous().with(func(c *cloud) {
		c.others = map[string]instance{"i-1": {typ: "g6.xlarge", cluster: "other"}}
		c.quotas["L-DB2E81BA"] = 128
		c.clusters = []string{"ray-train-efa"}
	})
	r := green(t, options{cloud: &busy, config: map[string]string{
		"flowLogs": "true", "ttlHours": "8", "gpu.capacity": "reserve", "adminPrincipalArns": `["arn:aws:iam::123456789012:role/ci"]`,
	}})
	called := map[string]bool{"raytrain": true}
	for _, made := range r.all() {
		if strings.HasPrefix(made.typ, "aws:") || made.typ == eksComponent {
			called[made.typ] = true
		}
	}
	for _, made := range r.calls {
		called[made.token] = true
	}
	for token := range called {
		assert.Contains(t, needed, token, "add its actions to permissions and to docs/permissions.json")
	}
	for token := range needed {
		assert.True(t, called[token], "%s has permissions, and the program does not use it", token)
	}
}

func TestPermissionsDocumentAllowsExactlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "permissions.json"))
	require.NoError(t, err)
	var document policy
	require.NoError(t, json.Unmarshal(text, &document))
	var allowed, needed []string
	for _, statement := range document.Statement {
		require.Equal(t, "Allow", statement.Effect)
		allowed = append(allowed, statement.Action...)
	}
	for _, one := range permissions() {
		needed = append(needed, strings.Fields(one.actions)...)
	}
	slices.Sort(allowed)
	slices.Sort(needed)
	assert.Equal(t, slices.Compact(needed), allowed, "each action once, and none that is not needed")
	// Source: IAM user guide, "IAM and AWS STS quotas": a managed policy without white space.
	compact, err := json.Marshal(json.RawMessage(text))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(compact), 6144)
}

// parliament knows the resource types and the conditions of each action, which cfn-lint does not.
func TestParliamentAcceptsThePermissionsDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "permissions.json"))
	require.NoError(t, err)
	for _, test := range []struct{ name, old, broken, want string }{
		{"as it is", "", "", ""},
		{"unknown action", `"ec2:CreateVpc"`, `"ec2:CreateVirtualCloud"`, "UNKNOWN_ACTION"},
		{"resource of another service", `"arn:*:logs:*:*:log-group:/aws/eks/*"`, `"arn:aws:s3:::bucket"`, "RESOURCE_MISMATCH"},
		{"unknown condition", `"iam:AWSServiceName"`, `"iam:ServiceName"`, "UNKNOWN_CONDITION"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(text), test.old)
			found := parliament(t, strings.Replace(string(text), test.old, test.broken, 1))
			if test.want == "" {
				assert.Empty(t, found)
			}
			assert.Contains(t, found, test.want)
		})
	}
}

// parliament returns the findings of parliament about a policy document, one per line.
func parliament(t *testing.T, document string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "../bin/cloud-judges/bin/parliament", "--json")
	command.Stdin = strings.NewReader(document)
	out, err := command.Output()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "running parliament: %v; next: make judges", err)
	var lines []string
	for line := range strings.Lines(string(out)) {
		var finding struct{ Issue, Title string }
		require.NoError(t, json.Unmarshal([]byte(line), &finding), line)
		// The ids of networks and keys are AWS's, and the names of clusters are a setting.
		if finding.Issue != "RESOURCE_STAR" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
