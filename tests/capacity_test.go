package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/image"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

func TestCapacityCheckRefusesBeforeAnythingBills(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config map[string]string
		change func(*cloud)
		want   string
		says   []string
	}{
		{"no quota for GPUs", nil, func(c *cloud) { c.quotas["L-DB2E81BA"] = 0 }, capacity.CodeQuota, []string{
			"96 vCPUs are needed, 0 granted",
			"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA --desired-value 96 --region us-east-2",
		}},
		{"quota for one node", nil, func(c *cloud) { c.quotas["L-DB2E81BA"] = 95 }, capacity.CodeQuota, []string{"95 granted"}},
		{"quota that others use", nil, func(c *cloud) {
			c.others = map[string]instance{"i-1": {typ: "g6.12xlarge", cluster: "other"}}
		}, capacity.CodeQuota, []string{"48 in use outside this stack", "--desired-value 144"}},
		{"no address left", nil, func(c *cloud) { c.addresses = 5 }, capacity.CodeQuota, []string{"EC2-VPC Elastic IPs"}},
		{"no VPC left", nil, func(c *cloud) { c.vpcs = 5 }, capacity.CodeQuota, []string{"--service-code vpc"}},
		{"no quota for the system node", nil, func(c *cloud) { c.quotas["L-1216C47A"] = 3 }, capacity.CodeQuota, []string{"L-1216C47A", "4 vCPUs"}},
		{"GPU type in no zone", nil, func(c *cloud) { c.zones["g6.12xlarge"] = nil }, capacity.CodeNotOffered, []string{"no zone offers both"}},
		{"no common zone", nil, func(c *cloud) { c.zones["m7i.xlarge"] = []string{"us-east-2a"} }, capacity.CodeNotOffered, []string{"no zone offers both"}},
		{"the zone lacks the type", map[string]string{"availabilityZone": "us-east-2a"}, nil, capacity.CodeNotOffered, []string{
			`availabilityZone "us-east-2a" (not-offered)`, "only [us-east-2b us-east-2c] offers both", "pulumi config set availabilityZone us-east-2b",
		}},
		{"one zone only", nil, func(c *cloud) {
			c.zones["g6.12xlarge"], c.zones["m7i.xlarge"] = []string{"us-east-2b"}, []string{"us-east-2b"}
		}, capacity.CodeNotOffered, []string{"second zone"}},
		{"too dear", map[string]string{"maxHourlyUsd": "9.67"}, nil, capacity.CodePrice, []string{"9.6712 USD per hour and 9.67 are allowed"}},
		{"price unknown", map[string]string{"gpu.instanceType": "g9.12xlarge"}, func(c *cloud) {
			c.machines["g9.12xlarge"], c.zones["g9.12xlarge"] = c.machines["g6.12xlarge"], c.zones["g6.12xlarge"]
		}, capacity.CodePrice, []string{
			`pulumi config set --path --type float 'prices["g9.12xlarge"]' USD_PER_HOUR`,
		}},
		{"Kubernetes version that has ended", nil, func(c *cloud) { c.support[settings.DefaultKubernetesVersion] = "UNSUPPORTED" }, capacity.CodeVersion, []string{
			"EKS reports UNSUPPORTED", "aws eks describe-cluster-versions --region us-east-2",
		}},
		{"Kubernetes version that EKS lacks", nil, func(c *cloud) { delete(c.support, settings.DefaultKubernetesVersion) }, capacity.CodeVersion, []string{
			`kubernetesVersion "` + settings.DefaultKubernetesVersion + `" (`, "EKS does not list this version",
		}},
		{"the only other zone lacks control planes", nil, func(c *cloud) {
			c.zoneIDs["us-east-2b"], c.zoneIDs["us-east-2c"] = "use1-az3", "usw1-az2"
		}, capacity.CodeNotOffered, []string{"no zone offers both"}},
		{"type that does not exist", map[string]string{"gpu.instanceType": "g6.13xlarge"}, nil, capacity.CodeInstanceType, []string{
			`gpu.instanceType "g6.13xlarge"`, "EC2 has no such instance type in us-east-2", "pulumi config set --path gpu.instanceType TYPE",
		}},
		{"system type that does not exist", map[string]string{"system.instanceType": "m7i.13xlarge"}, nil, capacity.CodeInstanceType,
			[]string{`system.instanceType "m7i.13xlarge"`}},
		{"AWS that does not answer", nil, func(c *cloud) { delete(c.quotas, "L-DB2E81BA") }, "resource-failed",
			[]string{"could not check the capacity of AWS", "NoSuchResourceException"}},
		{"head's object store", map[string]string{"ray.headObjectStoreMiB": "5121"}, nil, workloads.CodeObjectStore,
			[]string{"pulumi config set --path ray.headObjectStoreMiB 5120"}},
		{"worker's object store", map[string]string{"ray.workerObjectStoreMiB": "81921"}, nil, workloads.CodeObjectStore,
			[]string{"pulumi config set --path ray.workerObjectStoreMiB 81920"}},
		{"evidence below a file", map[string]string{"job.evidenceDir": "capacity_test.go/evidence"}, nil, "evidence-dir-not-writable",
			[]string{"pulumi config set --path job.evidenceDir evidence"}},
		{"evidence in a file", map[string]string{"job.evidenceDir": "capacity_test.go"}, nil, "evidence-dir-not-writable",
			[]string{"capacity_test.go\" is not a folder"}},
		{"AMI release that does not exist", map[string]string{"gpu.amiRelease": settings.DefaultKubernetesVersion + ".2-20260101"}, nil,
			capacity.CodeAMIRelease, []string{"EKS has no AMI amazon-eks-node-al2023-x86_64-nvidia-", "pulumi config set --path gpu.amiRelease " + settings.DefaultAMIRelease}},
		{"add-on version that does not exist", map[string]string{"addons.coredns": "v9.9.9-eksbuild.1"}, nil, capacity.CodeAddon,
			[]string{`addons.coredns "v9.9.9-eksbuild.1"`, "describe-addon-versions --addon-name coredns"}},
		{"type without EFA", map[string]string{"gpu.instanceType": "g6.xlarge"}, nil, capacity.CodeInstanceType, []string{
			"1 GPUs and 0 EFA interfaces", "similar types with both: g6.8xlarge (GPUs: 1, $2.01 an hour)",
		}},
	}
	for _, test := range tests {
		for _, preview := range []bool{true, false} {
			name := test.name + map[bool]string{true: ", preview", false: ", up"}[preview]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				region := generous()
				if test.change != nil {
					region = region.with(test.change)
				}
				r := runProgram(t, options{config: test.config, cloud: &region, preview: preview})
				codes, printed := r.refused(t)
				assert.Contains(t, codes, test.want)
				for _, text := range test.says {
					assert.Contains(t, printed, text)
				}
				assert.Contains(t, printed, "\nnext:     ")
				assert.Contains(t, printed, "\nbilling:  ")
				// Nothing but the provider that asked.
				assert.Len(t, r.all(), 1)
			})
		}
	}
}

// Nodes find out about a missing image only after they were created.
func TestAnImageThatTheRegistryLacksIsRefused(t *testing.T) {
	t.Parallel()
	answer := func(exists bool, err error) stack.ImageExists {
		return func(_ context.Context, wanted image.Reference) (bool, error) {
			assert.Equal(t, "public.ecr.aws/deep-learning-containers/ray@"+digest, wanted.String())
			return exists, err
		}
	}
	r := runProgram(t, options{preview: true, imageExists: answer(false, nil)})
	codes, printed := r.refused(t)
	assert.Equal(t, []string{"image-not-found"}, codes)
	assert.Contains(t, printed, "the registry has no such image")
	assert.Contains(t, printed, "next:     raytrain image pin --stack "+stackName)
	assert.Len(t, r.all(), 1)

	r = green(t, options{preview: true, imageExists: answer(false, errors.New("no route to host"))})
	assert.Contains(t, strings.Join(r.log, "\n"), "whether the image exists is unknown: no route to host")
}

func TestCapacityCheckReportsAllRefusalsAtOnce(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) { c.quotas["L-DB2E81BA"] = 8; c.zones["g6.12xlarge"] = nil })
	r := runProgram(t, options{cloud: &region, config: map[string]string{"maxHourlyUsd": "1"}})
	codes, _ := r.refused(t)
	assert.Equal(t, []string{capacity.CodeNotOffered, capacity.CodeQuota, capacity.CodePrice}, codes)
}

func TestPriceIsExported(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	assert.InDelta(t, 9.6712, r.export(t, "hourlyUsd"), 1e-9)
	assert.Equal(t, []float64{9.6712}, r.prices, "the event log has it too")
	for _, line := range []string{"g6.12xlarge", "m7i.xlarge", "EKS control plane", "NAT gateway", "public IPv4 address"} {
		assert.Contains(t, strings.Join(r.log, "\n"), " x "+line, "it is printed line by line")
	}
	overridden := green(t, options{config: map[string]string{"prices": `{"g6.12xlarge":5}`}})
	assert.InDelta(t, 10.4680, overridden.export(t, "hourlyUsd"), 1e-9)
}

func TestBadSettingsMakeNothing(t *testing.T) {
	t.Parallel()
	r := runProgram(t, options{config: map[string]string{"imageDigest": "", "gpu.nodes": "one"}})
	codes, printed := r.refused(t)
	assert.Equal(t, []string{"setting-refused", "setting-missing"}, codes)
	assert.Contains(t, printed, "ray-train-efa:imageDigest is not set")
	assert.Contains(t, printed, `ray-train-efa:gpu.nodes is "one"`)
	assert.Empty(t, r.all())
}

// The control plane of an old version costs six times as much, and the table shows it; an unknown
// support status has the same price.
func TestThePriceFollowsTheKubernetesVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status string
		usd    float64
		says   string
	}{
		{"STANDARD_SUPPORT", 9.6712, "0.1000  1 x EKS control plane, standard support"},
		{"EXTENDED_SUPPORT", 10.1712, "0.6000  1 x EKS control plane, extended support of Kubernetes " + settings.DefaultKubernetesVersion},
		{"LONGER_SUPPORT", 10.1712, `0.6000  1 x EKS control plane, unknown support of Kubernetes ` + settings.DefaultKubernetesVersion + ` ("LONGER_SUPPORT"), assumed to be extended`},
	} {
		t.Run(test.status, func(t *testing.T) {
			t.Parallel()
			region := generous().with(func(c *cloud) { c.support[settings.DefaultKubernetesVersion] = test.status })
			r := green(t, options{cloud: &region, preview: true})
			assert.InDelta(t, test.usd, r.export(t, "hourlyUsd"), 1e-9)
			assert.Contains(t, strings.Join(r.log, "\n"), test.says)
		})
	}
}

// An opted-in Local Zone sorts before the region's own zones, and has neither control planes nor
// managed node groups.
func TestNodesStayOutOfLocalZones(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.zoneIDs["us-east-2-chi-2a"] = "use2-chi2-az1"
		for name, zones := range c.zones {
			c.zones[name] = append([]string{"us-east-2-chi-2a", "us-east-2-wl1-chi-wlz-1"}, zones...)
		}
	})
	assert.Equal(t, "us-east-2b", green(t, options{cloud: &region}).export(t, "availabilityZone"))
}

// An existing stack must not be refused because of its own nodes; Spot instances and other families
// have quotas of their own.
func TestOwnAndUncountedInstancesLeaveTheQuotaAlone(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.others = map[string]instance{
			"i-1": {typ: "g6.12xlarge", cluster: "ray-train-efa"}, "i-2": {typ: "g6.12xlarge", cluster: "ray-train-efa"},
			"i-3": {typ: "g6.12xlarge", spot: true}, "i-4": {typ: "m7i.xlarge", cluster: "ray-train-efa"},
		}
	})
	green(t, options{cloud: &region})
}

// An identity that may only read what it must gets a warning for the rest.
func TestWhatTheIdentityMayNotAskIsAWarning(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.denied = map[string]string{
			"aws:servicequotas/getServiceQuota:getServiceQuota": "servicequotas:GetServiceQuota",
			"aws:eks/getClusterVersions:getClusterVersions":     "eks:DescribeClusterVersions",
			"aws:ssm/getParameter:getParameter":                 "ssm:GetParameter",
			"aws:eks/getAddonVersion:getAddonVersion":           "eks:DescribeAddonVersions",
		}
	})
	r := green(t, options{cloud: &region, preview: true})
	warned := strings.Join(r.warnings, "\n")
	for _, text := range []string{
		"quota L-DB2E81BA", "quota L-F678F1CE", "calling servicequotas:GetServiceQuota: the AWS identity lacks the permission",
		"the support of Kubernetes", "whether gpu.amiRelease", "whether addons.coredns", "next:     grant the statement Read",
	} {
		assert.Contains(t, warned, text)
	}
	assert.InDelta(t, 10.1712, r.export(t, "hourlyUsd"), 1e-9)
}

// An account with a thousand instances must not be asked about each.
func TestInstancesAreCountedByType(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.others = map[string]instance{}
		for i := range 100 {
			c.others[fmt.Sprintf("i-%d", i)] = instance{typ: "g6.xlarge"}
		}
		c.others["i-other"] = instance{typ: "g6.12xlarge"}
		c.quotas["L-DB2E81BA"] = 100*4 + 48 + 96 - 1
	})
	r := runProgram(t, options{cloud: &region, preview: true})
	_, printed := r.refused(t)
	assert.Contains(t, printed, "448 in use outside this stack")
	asked := 0
	for _, made := range r.calls {
		if made.token == "aws:ec2/getInstance:getInstance" {
			asked++
		}
	}
	assert.Equal(t, 2, asked)
}
