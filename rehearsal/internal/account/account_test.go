package account

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

func TestStackUpAndDown(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)

	require.Len(t, l.runtime.nodes, 3)
	gpus := 0
	for _, node := range l.runtime.nodes {
		if node.NodeGroup != "gpu" {
			assert.Equal(t, 3920, node.AllocatableCPUMillis,
				"an m7i.xlarge leaves about 3.9 CPU to pods")
			assert.Equal(t, 58, node.MaxPods)
			assert.Zero(t, node.GPUs+node.EFAInterfaces)
			continue
		}
		gpus += node.GPUs
		assert.Equal(t,
			[]api.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}},
			node.Taints)
		assert.Equal(t, "us-east-2a", node.Labels["topology.kubernetes.io/zone"])
		assert.Equal(t, "true", node.Labels["nvidia.com/gpu.present"])
		assert.Equal(t, 1, node.EFAInterfaces)
		assert.Equal(t, "cluster", node.Facts.PlacementStrategy)
		require.Len(t, node.Facts.SecurityGroups, 2)
		for _, group := range node.Facts.SecurityGroups {
			assert.True(t, group.SelfIngress && group.SelfEgress, "%s lets EFA through", group.Name)
		}
	}
	assert.Equal(t, 8, gpus)
	assert.InDelta(t, 9.5548, l.account.Inventory().HourlyUSD(), 0.01, "the reference's price")

	step, err = l.down()
	require.NoError(t, err, step)
	assert.Empty(t, l.account.Inventory().Remains())
	require.Len(t, l.account.Inventory().Items, 1, "the key is pending deletion")
	assert.Contains(t, l.account.Inventory().Items[0].Note, "pending deletion until 2026-12-07")
	assert.Empty(t, l.runtime.clusters)
	assert.Empty(t, l.runtime.nodes)
}

// TestBreaks breaks one step of the stack at a time: what AWS refuses is refused at the
// same step with AWS's code.
func TestBreaks(t *testing.T) {
	set := func(key string, value any) func(props) { return func(p props) { p[key] = value } }
	nic := func(edit func(props)) func(props) {
		return func(p props) { edit(p["networkInterfaces"].([]props)[0]) }
	}
	for _, test := range []struct {
		name   string
		change map[string]func(props)
		skip   []string
		faults api.Faults
		step   string
		code   string
		text   string
	}{
		{name: "VPC too large", change: map[string]func(props){"vpc": set("cidrBlock", "10.0.0.0/8")}, step: "vpc", code: "InvalidVpc.Range"},
		{name: "subnets overlap", change: map[string]func(props){"public": set("cidrBlock", "10.0.64.0/20")}, step: "public", code: "InvalidSubnet.Conflict"},
		{name: "subnet outside the VPC", change: map[string]func(props){"nodes": set("cidrBlock", "10.1.0.0/17")}, step: "nodes", code: "InvalidSubnet.Range"},
		{name: "zone does not exist", change: map[string]func(props){"nodes": set("availabilityZone", "us-east-2z")}, step: "nodes", code: "InvalidParameterValue"},
		{name: "misspelt property", change: map[string]func(props){"vpc": set("cidr", "x")}, step: "vpc", code: "ValidationError", text: `unknown field "cidr"`},
		{name: "NAT without an internet gateway", skip: []string{"igw", "public-route"}, step: "nat", code: "Gateway.NotAttached"},
		{name: "quota of elastic addresses", faults: api.Faults{Quota: map[string]float64{ec2.QuotaElasticIPs: 0}}, step: "eip", code: "AddressLimitExceeded"},
		{name: "all protocols with ports", change: map[string]func(props){"efa-in": func(p props) { p["fromPort"], p["toPort"] = 0, 0 }}, step: "efa-in", code: "ValidationError"},
		{name: "control plane in one zone", change: map[string]func(props){"control": set("availabilityZone", "us-east-2a")}, step: "cluster", code: "InvalidParameterException", text: "at least two different AZs"},
		{name: "cluster role without its policy", skip: []string{"cluster-role-AmazonEKSClusterPolicy"}, step: "cluster", code: "InvalidParameterException", text: "AmazonEKSClusterPolicy"},
		{name: "cluster role for another service", change: map[string]func(props){"cluster-role": set("assumeRolePolicy", trust("ec2.amazonaws.com"))}, step: "cluster", code: "InvalidParameterException", text: "could not be assumed"},
		{name: "no such Kubernetes version", change: map[string]func(props){"cluster": set("version", "1.20")}, step: "cluster", code: "InvalidParameterException", text: eks.DefaultVersion()},
		{name: "private address may not be public", change: map[string]func(props){"cluster": func(p props) { p["vpcConfig"].(props)["publicAccessCidrs"] = []string{"10.0.0.0/8"} }}, step: "cluster", code: "InvalidParameterException", text: "not allowed in publicAccessCidrs"},
		{name: "add-on takes over without saying so", change: map[string]func(props){"vpc-cni": set("resolveConflictsOnCreate", "NONE")}, step: "vpc-cni", code: "ConfigurationConflict"},
		{name: "network policy as a boolean", change: map[string]func(props){"vpc-cni": set("configurationValues", `{"enableNetworkPolicy":true}`)}, step: "vpc-cni", code: "InvalidParameterException", text: "string expected"},
		{name: "misspelt add-on option", change: map[string]func(props){"vpc-cni": set("configurationValues", `{"enableNetworkPolicies":"true"}`)}, step: "vpc-cni", code: "InvalidParameterException", text: "enableNetworkPolicies"},
		{name: "no such add-on version", change: map[string]func(props){"vpc-cni": set("addonVersion", "v9")}, step: "vpc-cni", code: "InvalidParameterException", text: "v1.22.3-eksbuild.1"},
		{name: "node role without the worker policy", skip: []string{"node-role-AmazonEKSWorkerNodePolicy"}, step: "system", code: "InvalidParameterException", text: "AmazonEKSWorkerNodePolicy"},
		{name: "node role without the CNI policy", skip: []string{"node-role-AmazonEKS_CNI_Policy"}, step: "system", code: "NodeCreationFailure", text: "AmazonEKS_CNI_Policy"},
		{name: "no route out", skip: []string{"private-route"}, step: "system", code: "NodeCreationFailure", text: "no route to the internet"},
		{name: "no CNI at all", skip: []string{"vpc-cni"}, change: map[string]func(props){"cluster": set("bootstrapSelfManagedAddons", false)}, step: "system", code: "NodeCreationFailure", text: "no vpc-cni"},
		{name: "VPC without DNS names", change: map[string]func(props){"vpc": set("enableDnsHostnames", false)}, step: "system", code: "NodeCreationFailure", text: "enableDnsHostnames"},
		{name: "public endpoint only, nodes not admitted", change: map[string]func(props){"cluster": func(p props) { p["vpcConfig"].(props)["endpointPrivateAccess"] = false }}, step: "system", code: "NodeCreationFailure", text: "the nodes' address"},
		{name: "reserved label", change: map[string]func(props){"system": set("labels", props{"kubernetes.io/role": "x"})}, step: "system", code: "InvalidParameterException", text: "reserved prefixes"},
		{name: "effect in Kubernetes's spelling", change: map[string]func(props){"gpu": set("taints", []props{{"key": "k", "effect": "NoSchedule"}})}, step: "gpu", code: "InvalidParameterException", text: "NO_SCHEDULE"},
		{name: "no security group on the interface", change: map[string]func(props){"lt": nic(func(p props) { delete(p, "securityGroups") })}, step: "gpu", code: "NodeCreationFailure", text: "list the cluster security group"},
		{name: "only our security group on the interface", change: map[string]func(props){"lt": nic(func(p props) { p["securityGroups"] = p["securityGroups"].([]string)[1:] })}, step: "gpu", code: "NodeCreationFailure"},
		{name: "groups on the interface and beside it", change: map[string]func(props){"lt": func(p props) {
			p["vpcSecurityGroupIds"] = p["networkInterfaces"].([]props)[0]["securityGroups"]
		}}, step: "gpu", code: "InvalidParameterCombination"},
		{name: "EFA on a type without", change: map[string]func(props){"gpu": set("instanceTypes", []string{"g6.xlarge"})}, step: "gpu", code: "InvalidParameterCombination", text: "no Elastic Fabric Adapter"},
		{name: "efa-only as the primary interface", change: map[string]func(props){"lt": nic(func(p props) { p["interfaceType"] = "efa-only" })}, step: "gpu", code: "InvalidParameterCombination", text: "EFA-only"},
		{name: "more EFA interfaces than the type has", change: map[string]func(props){"lt": func(p props) {
			one := p["networkInterfaces"].([]props)[0]
			p["networkInterfaces"] = []props{one, {"deviceIndex": 1, "interfaceType": "efa", "securityGroups": one["securityGroups"]}}
		}}, step: "gpu", code: "AttachmentLimitExceeded"},
		{name: "subnet in the template", change: map[string]func(props){"lt": nic(func(p props) { p["subnetId"] = "subnet-1" })}, step: "gpu", code: "InvalidParameterException", text: "should not specify a subnet"},
		{name: "AMI does not fit the type", change: map[string]func(props){"system": set("amiType", "AL2023_x86_64_NVIDIA")}, step: "system", code: "InvalidParameterException", text: "not a valid instance type"},
		{name: "Amazon Linux 2", change: map[string]func(props){"gpu": set("amiType", "AL2_x86_64_GPU")}, step: "gpu", code: "InvalidParameterException", text: "not supported for kubernetes version " + eks.DefaultVersion()},
		{name: "release of another version", change: map[string]func(props){"gpu": set("releaseVersion", "1.35.2-20260304")}, step: "gpu", code: "InvalidParameterException", text: eks.DefaultRelease()},
		{name: "disk size beside a template", change: map[string]func(props){"gpu": set("diskSize", 100)}, step: "gpu", code: "InvalidParameterException", text: "within the launch template"},
		{name: "template version that is not there", change: map[string]func(props){"gpu": func(p props) { p["launchTemplate"].(props)["version"] = "7" }}, step: "gpu", code: "InvalidRequestException"},
		{name: "desired above max", change: map[string]func(props){"gpu": func(p props) { p["scalingConfig"].(props)["desiredSize"] = 3 }}, step: "gpu", code: "InvalidParameterException"},
		{name: "no capacity", faults: api.Faults{NoCapacity: []api.TypeInZone{{Type: "g6.12xlarge", Zone: "us-east-2a"}}}, step: "gpu", code: "InsufficientInstanceCapacity", text: "choosing us-east-2b, us-east-2c"},
		{name: "quota", faults: api.Faults{Quota: map[string]float64{ec2.QuotaG: 48}}, step: "gpu", code: "VcpuLimitExceeded", text: "limit of 48"},
		{name: "type not offered", faults: api.Faults{NotOffered: []api.TypeInZone{{Type: "g6.12xlarge"}}}, step: "gpu", code: "Unsupported"},
		{name: "coredns before nodes that it may use", skip: []string{"system"}, step: "coredns", code: "InsufficientNumberOfReplicas", text: "DEGRADED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			for name, edit := range test.change {
				l.change[name] = edit
			}
			for _, name := range test.skip {
				l.skip[name] = true
			}
			require.NoError(t, l.account.SetFaults(t.Context(), test.faults))
			step, err := l.up()
			require.Error(t, err)
			assert.Equal(t, test.step, step, err.Error())
			assert.Equal(t, test.code, code(err), err.Error())
			assert.Contains(t, err.Error(), test.text)

			step, err = l.down()
			require.NoError(t, err, "what was made can be deleted: %s", step)
			assert.Empty(t, l.account.Inventory().Remains())
		})
	}
}

func TestNodesInTwoZonesOfOneClusterPlacementGroup(t *testing.T) {
	l := newLab(t)
	l.change["gpu"] = func(p props) { p["subnetIds"] = []string{l.ids["nodes"], l.ids["control"]} }
	step, err := l.up()
	require.Error(t, err)
	assert.Equal(t, "gpu", step)
	assert.Contains(t, err.Error(), "can't span multiple Availability Zones")
	assert.Contains(t, err.Error(), "unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'")

	// Instances launched before the failure cost money until the group is deleted.
	running := 0
	for _, item := range l.account.Inventory().Items {
		if item.Type == "ec2 instance" {
			running++
		}
	}
	assert.Equal(t, 2, running, "the system node and the first GPU node")

	// As in AWS, an update that changes nothing succeeds and fixes nothing; any other is refused.
	group := l.gpuGroup()
	require.NoError(t, l.update("gpu", eks.NodeGroups.String(), group))
	assert.Equal(t, eks.StatusCreateFailed, rows(l.account, eks.NodeGroups)[l.ids["gpu"]].Status)
	assert.Len(t, rows(l.account, ec2.Instances), 2, "nothing more is launched")
	group["scalingConfig"] = props{"desiredSize": 1, "minSize": 0, "maxSize": 2}
	assert.ErrorContains(t, l.update("gpu", eks.NodeGroups.String(), group), "CREATE_FAILED")
}

func TestNodeFacts(t *testing.T) {
	for _, test := range []struct {
		name   string
		change map[string]func(props)
		skip   []string
		faults api.Faults
		want   func(nodefacts.Facts) bool
	}{
		{name: "no EFA interface", change: map[string]func(props){"lt": func(p props) {
			delete(p["networkInterfaces"].([]props)[0], "interfaceType")
		}}, want: func(f nodefacts.Facts) bool { return f.EFAInterfaces == 0 && len(f.SecurityGroups) == 2 }},
		{name: "device broken", faults: api.Faults{EFADeviceBroken: true}, want: func(f nodefacts.Facts) bool { return f.DeviceBroken }},
		{name: "the cluster's self egress stripped", faults: api.Faults{StripClusterSelfEgress: true}, want: func(f nodefacts.Facts) bool {
			return !f.SecurityGroups[0].SelfEgress && f.SecurityGroups[0].SelfIngress && f.SecurityGroups[1].SelfEgress
		}},
		{name: "all self egress stripped", faults: api.Faults{StripSelfEgress: true}, want: func(f nodefacts.Facts) bool {
			return !f.SecurityGroups[0].SelfEgress && !f.SecurityGroups[1].SelfEgress
		}},
		{name: "egress to everywhere is not egress to itself", change: map[string]func(props){"efa-out": func(p props) {
			delete(p, "referencedSecurityGroupId")
			p["cidrIpv4"] = ec2.AnyIPv4
		}}, want: func(f nodefacts.Facts) bool { return !f.SecurityGroups[1].SelfEgress }},
		{name: "ingress by address is not ingress from itself", change: map[string]func(props){"efa-in": func(p props) {
			delete(p, "referencedSecurityGroupId")
			p["cidrIpv4"] = ec2.AnyIPv4
		}}, want: func(f nodefacts.Facts) bool {
			return !f.SecurityGroups[1].SelfIngress && f.SecurityGroups[1].SelfEgress
		}},
		{name: "no driver on the standard AMI", change: map[string]func(props){"gpu": func(p props) { p["amiType"] = "AL2023_x86_64_STANDARD" }}, want: func(f nodefacts.Facts) bool { return f.GPUs == 0 }},
		{name: "no placement group", change: map[string]func(props){"lt": func(p props) { delete(p, "placement") }}, want: func(f nodefacts.Facts) bool { return f.PlacementGroup == "" && f.PlacementStrategy == "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			for name, edit := range test.change {
				l.change[name] = edit
			}
			require.NoError(t, l.account.SetFaults(t.Context(), test.faults))
			step, err := l.up()
			require.NoError(t, err, step)
			seen := 0
			for _, node := range l.runtime.nodes {
				if node.NodeGroup == "gpu" {
					seen++
					assert.True(t, test.want(node.Facts), "%+v", node.Facts)
				}
			}
			assert.Equal(t, 2, seen)
		})
	}
}

// TestDeleteOrder deletes too early: AWS refuses while other resources depend on the resource.
func TestDeleteOrder(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	for _, test := range []struct {
		step, token, code string
	}{
		{"vpc", ec2.Vpcs.String(), "DependencyViolation"},
		{"nodes", ec2.Subnets.String(), "DependencyViolation"},
		{"control", ec2.Subnets.String(), "DependencyViolation"},
		{"igw", ec2.InternetGateways.String(), "DependencyViolation"},
		{"private-table", ec2.RouteTables.String(), "DependencyViolation"},
		{"efa", ec2.SecurityGroups.String(), "DependencyViolation"},
		{"eip", ec2.Eips.String(), "InvalidIPAddress.InUse"},
		{"pg", ec2.PlacementGroups.String(), "InvalidPlacementGroup.InUse"},
		{"cluster", eks.Clusters.String(), "ResourceInUseException"},
		{"node-role", iam.Roles.String(), "DeleteConflict"},
		{"cluster-role", iam.Roles.String(), "DeleteConflict"},
	} {
		t.Run(test.step, func(t *testing.T) {
			assert.Equal(t, test.code, code(l.delete(test.step, test.token)))
		})
	}
	step, err = l.down()
	require.NoError(t, err, step)
}

func TestLogGroupComesBackWhileTheClusterLogs(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	require.NoError(t, l.delete("log", logs.LogGroups.String()))
	var found api.Item
	for _, item := range l.account.Inventory().Items {
		if item.Type == logs.LogGroups.String() {
			found = item
		}
	}
	assert.Equal(t, "/aws/eks/train/cluster", found.ID)
	assert.Equal(t, "made by the control plane of train", found.Note)
}

func TestLaunchTemplateVersionsAndRollingUpdate(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	template := l.workers()[1].inputs()
	require.NoError(t, l.update("lt", ec2.LaunchTemplates.String(), template), "nothing changed")
	assert.Equal(t, 1, rows(l.account, ec2.LaunchTemplates)[l.ids["lt"]].LatestVersion)

	template["metadataOptions"] = props{"httpTokens": "optional"}
	require.NoError(t, l.update("lt", ec2.LaunchTemplates.String(), template))
	assert.Equal(t, 2, rows(l.account, ec2.LaunchTemplates)[l.ids["lt"]].LatestVersion)

	// In one zone a rolling update first adds two nodes; the quota has room for one.
	require.NoError(t,
		l.account.SetFaults(t.Context(), api.Faults{Quota: map[string]float64{ec2.QuotaG: 144}}))
	group := l.gpuGroup()
	group["launchTemplate"] = props{"id": l.ids["lt"], "version": "2"}
	err = l.update("gpu", eks.NodeGroups.String(), group)
	require.ErrorContains(t, err, "VcpuLimitExceeded")
	assert.Len(t, l.runtime.nodes, 3, "the old nodes are still there")

	require.NoError(t,
		l.account.SetFaults(t.Context(), api.Faults{Quota: map[string]float64{ec2.QuotaG: 192}}))
	before := map[string]bool{}
	for _, node := range l.runtime.nodes {
		before[node.InstanceID] = true
	}
	require.NoError(t, l.update("gpu", eks.NodeGroups.String(), group))
	require.Len(t, l.runtime.nodes, 3)
	kept := 0
	for _, node := range l.runtime.nodes {
		if before[node.InstanceID] {
			kept++
		}
	}
	assert.Equal(t, 1, kept, "both GPU nodes are new")
}

func TestScaleToZeroAndBack(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	group := l.gpuGroup()
	group["scalingConfig"] = props{"desiredSize": 0, "minSize": 0, "maxSize": 2}
	require.NoError(t, l.update("gpu", eks.NodeGroups.String(), group))
	assert.Len(t, l.runtime.nodes, 1)
	require.NoError(t, l.update("gpu", eks.NodeGroups.String(), l.gpuGroup()))
	assert.Len(t, l.runtime.nodes, 3)
}

func TestAccountSurvivesRestart(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	again := &fakeRuntime{}
	reopened := l.open(again)
	require.NoError(t, reopened.Resume(context.Background()))
	assert.Equal(t, []string{"train"}, again.clusters)
	assert.Equal(t, l.runtime.nodes, again.nodes)
	assert.Equal(t, l.runtime.addons, again.addons)
	assert.Equal(t, l.account.Inventory(), reopened.Inventory())
}

// TestResumeGoesOn stops an account in the middle of its work.
func TestResumeGoesOn(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	require.NoError(t, l.account.store.Change(func(o *store.Op) error {
		eks.NodeGroups.In(o)["train:gpu"].Status = eks.StatusCreating
		eks.Addons.In(o)["train:coredns"].Status = eks.StatusDeleting
		ec2.TerminateInstances(o, eks.InstancesOf(o, "train:gpu"))
		return nil
	}))
	again := &fakeRuntime{}
	reopened := l.open(again)
	require.NoError(t, reopened.Resume(context.Background()))
	assert.Len(t, again.nodes, 3)
	assert.Equal(t, eks.StatusActive, rows(reopened, eks.NodeGroups)["train:gpu"].Status)
	assert.NotContains(t, rows(reopened, eks.Addons), "train:coredns")
}

// TestNodeFactsFollowRules takes the egress rule away under the running nodes.
func TestNodeFactsFollowRules(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	selfEgress := func() (open int) {
		for _, node := range l.runtime.nodes {
			for _, group := range node.Facts.SecurityGroups {
				if node.NodeGroup == "gpu" && group.SelfEgress {
					open++
				}
			}
		}
		return open
	}
	assert.Equal(t, 4, selfEgress(), "two groups on two nodes")
	require.NoError(t, l.delete("efa-out", ec2.EgressRules.String()))
	assert.Equal(t, 2, selfEgress())
	require.NoError(t, l.account.SetFaults(t.Context(), api.Faults{StripClusterSelfEgress: true}))
	assert.Equal(t, 0, selfEgress())
}
