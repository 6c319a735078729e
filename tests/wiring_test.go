package tests

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// The types that tests ask for by name.
const (
	launchTemplate = "aws:ec2/launchTemplate:LaunchTemplate"
	nodeGroup      = "aws:eks/nodeGroup:NodeGroup"
	addon          = "aws:eks/addon:Addon"
	role           = "aws:iam/role:Role"
	kmsKey         = "aws:kms/key:Key"
	logGroup       = "aws:cloudwatch/logGroup:LogGroup"
	flowLog        = "aws:ec2/flowLog:FlowLog"
	schedule       = "aws:scheduler/schedule:Schedule"
	subnet         = "aws:ec2/subnet:Subnet"
	eksComponent   = "eks:index:Cluster"
	release        = "kubernetes:helm.sh/v3:Release"
	rayCluster     = "kubernetes:ray.io/v1:RayCluster"
	trainingJob    = "raytrain:index:TrainingJob"
)

func TestGPUInterfacesAreEFAInBothGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, instance string
		want           []map[string]any
	}{
		{"one card", "g6.12xlarge", []map[string]any{nic(0, 0, "efa")}},
		{"four cards", "p4d.24xlarge", []map[string]any{nic(0, 0, "efa"), nic(1, 1, "efa-only"), nic(2, 1, "efa-only"), nic(3, 1, "efa-only")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			region := generous().with(func(c *cloud) { c.zones["p4d.24xlarge"] = []string{"us-east-2a"} })
			r := green(t, options{cloud: &region, config: map[string]string{"gpu.instanceType": test.instance, "maxHourlyUsd": "100"}})
			template := r.one(t, launchTemplate, "gpu")
			have, ok := (template.get(t, "networkInterfaces")).([]any)
			require.True(t, ok)
			require.Len(t, have, len(test.want))
			for i, want := range test.want {
				assert.Equal(t, want, have[i])
			}
			assert.False(t, template.has("vpcSecurityGroupIds"), "groups of the template and of its interfaces exclude each other")
		})
	}
}

func nic(card, device float64, typ string) map[string]any {
	return map[string]any{
		"networkCardIndex": card, "deviceIndex": device, "interfaceType": typ, "deleteOnTermination": "true",
		"securityGroups": []any{"sg-of-eks", "efa-id"},
	}
}

func TestEFASecurityGroupAllowsItselfBothWays(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	for _, typ := range []string{
		"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
	} {
		rule := r.one(t, typ, "efa-self")
		assert.Equal(t, "efa-id", rule.get(t, "securityGroupId"))
		assert.Equal(t, "efa-id", rule.get(t, "referencedSecurityGroupId"))
		assert.Equal(t, "-1", rule.get(t, "ipProtocol"))
		assert.False(t, rule.has("cidrIpv4"))
	}
}

func TestGPUTemplate(t *testing.T) {
	t.Parallel()
	template := green(t, options{}).one(t, launchTemplate, "gpu")
	assert.Equal(t, "gpu-made", template.get(t, "placement|groupName"))
	assert.Equal(t, "required", template.get(t, "metadataOptions|httpTokens"))
	assert.InDelta(t, 1, at(t, template.inputs, "metadataOptions|httpPutResponseHopLimit").NumberValue(), 0)
	podsToo := green(t, options{config: map[string]string{"gpu.metadataHopLimit": "2"}}).one(t, launchTemplate, "gpu")
	assert.InDelta(t, 2, at(t, podsToo.inputs, "metadataOptions|httpPutResponseHopLimit").NumberValue(), 0)
	assert.Equal(t, "true", template.get(t, "blockDeviceMappings|0|ebs|encrypted"))
	// EKS refuses templates with these, or sets them itself.
	for _, absent := range []string{"imageId", "instanceType", "iamInstanceProfile"} {
		assert.False(t, template.has(absent), absent)
	}
	assert.NotContains(t, (template.get(t, "networkInterfaces|0")), "subnetId")
}

func TestVolumesAndImagePullAreFast(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{"gpu.volumeThroughput": "1000"}})
	ebs := "blockDeviceMappings|0|ebs|"
	gpu, system := r.one(t, launchTemplate, "gpu"), r.one(t, launchTemplate, "system")
	assert.InDelta(t, 1000, at(t, gpu.inputs, ebs+"throughput").NumberValue(), 0)
	assert.InDelta(t, 4000, at(t, gpu.inputs, ebs+"iops").NumberValue(), 0, "0.25 MiB/s for each of them")
	assert.InDelta(t, 3000, at(t, system.inputs, ebs+"iops").NumberValue(), 0, "these are free")
	for _, template := range []registration{gpu, system} {
		text, err := base64.StdEncoding.DecodeString(template.text(t, "userData"))
		require.NoError(t, err)
		message, err := mail.ReadMessage(bytes.NewReader(text))
		require.NoError(t, err)
		_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
		require.NoError(t, err)
		part, err := multipart.NewReader(message.Body, params["boundary"]).NextPart()
		require.NoError(t, err)
		assert.Equal(t, "application/node.eks.aws", part.Header.Get("Content-Type"))
		config, err := io.ReadAll(part)
		require.NoError(t, err)
		var node struct {
			Spec struct{ FeatureGates map[string]bool }
		}
		require.NoError(t, yaml.Unmarshal(config, &node))
		assert.Equal(t, map[string]bool{"FastImagePull": true}, node.Spec.FeatureGates)
	}
	plain := green(t, options{config: map[string]string{"fastImagePull": "false"}})
	assert.False(t, plain.one(t, launchTemplate, "gpu").has("userData"))
}

func TestPlacementGroupOfTheSettings(t *testing.T) {
	t.Parallel()
	const placementGroup = "aws:ec2/placementGroup:PlacementGroup"
	none := green(t, options{config: map[string]string{"gpu.placement": "none"}})
	assert.Empty(t, none.ofType(placementGroup))
	assert.False(t, none.one(t, launchTemplate, "gpu").has("placement"))
	existing := green(t, options{config: map[string]string{"gpu.placement": "mine"}})
	assert.Empty(t, existing.ofType(placementGroup))
	assert.Equal(t, "mine", existing.one(t, launchTemplate, "gpu").get(t, "placement|groupName"))
}

// Default tags of the provider do not reach what a launch template starts.
func TestEverythingThatATemplateStartsIsTagged(t *testing.T) {
	t.Parallel()
	for _, template := range green(t, options{}).ofType(launchTemplate) {
		var tagged []any
		for i := range at(t, template.inputs, "tagSpecifications").ArrayValue() {
			path := fmt.Sprintf("tagSpecifications|%d|", i)
			tagged = append(tagged, template.get(t, path+"resourceType"))
			assert.Equal(t, stackName, template.get(t, path+"tags|stack"), template.name)
			assert.Equal(t, projectName, template.get(t, path+"tags|project"), template.name)
		}
		assert.Equal(t, []any{"instance", "volume", "network-interface"}, tagged, template.name)
	}
}

func TestPlacementGroupIsACluster(t *testing.T) {
	t.Parallel()
	group := green(t, options{}).one(t, "aws:ec2/placementGroup:PlacementGroup", "gpu")
	assert.Equal(t, "cluster", group.get(t, "strategy"))
}

func TestGPUNodeGroup(t *testing.T) {
	t.Parallel()
	group := green(t, options{}).one(t, nodeGroup, "gpu")
	assert.Equal(t, map[string]any{"role": "gpu-worker", "nvidia.com/gpu.present": "true"}, group.get(t, "labels"))
	assert.Equal(t, []any{map[string]any{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}}, group.get(t, "taints"))
	assert.Equal(t, "AL2023_x86_64_NVIDIA", group.get(t, "amiType"))
	assert.Equal(t, settings.DefaultAMIRelease, group.get(t, "releaseVersion"))
	assert.Equal(t, []any{"g6.12xlarge"}, group.get(t, "instanceTypes"))
	assert.Equal(t, map[string]any{"id": "gpu-id", "version": "3"}, group.get(t, "launchTemplate"))
	assert.InDelta(t, 2, at(t, group.inputs, "scalingConfig|desiredSize").NumberValue(), 0)
	assert.True(t, group.deleteBeforeReplace, "twice the GPU quota is not there")
	assert.False(t, group.has("diskSize"), "excluded by the template's block devices")
	assert.False(t, group.has("remoteAccess"), "excluded by the template")
}

// Without it the next `pulumi up` succeeds although the failed group has no nodes.
func TestANodeGroupThatFailedIsReplaced(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	groups := r.ofType(nodeGroup)
	assert.Len(t, groups, 2)
	for _, group := range groups {
		assert.Contains(t, group.replaceOnChanges, "#initerror", group.name)
		assert.False(t, group.has("nodeGroupName"), "a replacement of the same name is refused while the old one is there")
	}
}

func TestSystemNodeGroup(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	group := r.one(t, nodeGroup, "system")
	assert.Equal(t, map[string]any{"role": "system"}, group.get(t, "labels"))
	assert.Equal(t, []any{"m7i.xlarge"}, group.get(t, "instanceTypes"))
	assert.False(t, group.has("taints"))
	assert.False(t, r.one(t, launchTemplate, "system").has("networkInterfaces"), "EKS adds its security group only where none is named")
}

func TestAllNodesShareOneSubnetInOneZone(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	for _, name := range []string{"gpu", "system"} {
		assert.Equal(t, []any{"nodes-id"}, r.one(t, nodeGroup, name).get(t, "subnetIds"), name)
	}
	assert.Equal(t, "us-east-2b", r.one(t, subnet, "nodes").get(t, "availabilityZone"))
	assert.Equal(t, "us-east-2b", r.one(t, subnet, "public").get(t, "availabilityZone"), "the NAT gateway's zone")
	assert.Equal(t, "us-east-2a", r.one(t, subnet, "control-plane").get(t, "availabilityZone"))
	assert.Equal(t, "us-east-2b", r.export(t, "availabilityZone"))
	assert.Len(t, r.ofType("aws:ec2/natGateway:NatGateway"), 1)
	assert.Equal(t, "public-id", r.one(t, "aws:ec2/natGateway:NatGateway", "nat").get(t, "subnetId"))
	cluster := r.one(t, eksComponent, "eks")
	assert.ElementsMatch(t, []any{"nodes-id", "control-plane-id"}, cluster.get(t, "subnetIds"))
}

func TestSubnetTags(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	for name, role := range map[string]string{
		"public": "kubernetes.io/role/elb", "nodes": "kubernetes.io/role/internal-elb", "control-plane": "kubernetes.io/role/internal-elb",
	} {
		tags, ok := r.one(t, subnet, name).get(t, "tags").(map[string]any)
		require.True(t, ok)
		assert.Equal(t, "1", tags[role], name)
		assert.Equal(t, "shared", tags["kubernetes.io/cluster/ray-train-efa"], name)
	}
}

func TestControlPlaneArguments(t *testing.T) {
	t.Parallel()
	cluster := green(t, options{config: map[string]string{
		"adminPrincipalArns": `["arn:aws:iam::123456789012:role/ml/team"]`,
	}}).one(t, "eks:index:Cluster", "eks")
	want := map[string]any{
		"name": "ray-train-efa", "version": settings.DefaultKubernetesVersion, "authenticationMode": "API", "useDefaultVpcCni": true,
		"skipDefaultNodeGroup": true, "endpointPublicAccess": true, "endpointPrivateAccess": true,
		"publicAccessCidrs": []any{"203.0.113.7/32"}, "encryptionConfigKeyArn": "arn:aws:kms:key", "vpcId": "vpc-id",
		"enabledClusterLogTypes": []any{"api", "audit", "authenticator", "controllerManager", "scheduler"},
	}
	for key, value := range want {
		assert.Equal(t, value, cluster.get(t, key), key)
	}
	assert.True(t, cluster.has("instanceRole"), "without it the component makes a role that nothing uses")
	// API authentication excludes these.
	for _, absent := range []string{"roleMappings", "userMappings", "instanceRoles"} {
		assert.False(t, cluster.has(absent), absent)
	}
	assert.Equal(t, "arn:aws:iam::123456789012:role/ml/team", cluster.get(t, "accessEntries|role-ml-team|principalArn"))
	assert.Contains(t, cluster.providers, "aws", "the component inherits no provider")
}

func TestPublicEndpointOff(t *testing.T) {
	t.Parallel()
	cluster := green(t, options{config: map[string]string{"publicAccessCidrs": "[]"}}).one(t, "eks:index:Cluster", "eks")
	assert.Equal(t, false, cluster.get(t, "endpointPublicAccess"))
	assert.False(t, cluster.has("publicAccessCidrs"))
}

func TestAddons(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	cni := r.one(t, addon, "vpc-cni")
	assert.JSONEq(t, `{"enableNetworkPolicy":"true"}`, cni.text(t, "configurationValues"))
	assert.Equal(t, true, cni.get(t, "preserve"), "it must still release addresses while nodes go")
	for _, name := range []string{"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns"} {
		made := r.one(t, addon, name)
		assert.Equal(t, generous().addons[name], made.get(t, "addonVersion"))
		assert.Equal(t, "OVERWRITE", made.get(t, "resolveConflictsOnCreate"), "EKS has its own copies in every new cluster")
		assert.Equal(t, "ray-train-efa", made.get(t, "clusterName"))
	}
}
