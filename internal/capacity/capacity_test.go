package capacity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// region is a Source of fixed answers; what it lacks is an error.
type fixedRegion struct {
	types  map[string]InstanceType
	zones  map[string][]region.Zone
	quotas map[string]float64
	// ids are nil and support is empty where AWS does not answer.
	ids     map[region.Zone]string
	support Support
	// others counts instances of other stacks, addresses and vpcs the same.
	others          map[string]int
	addresses, vpcs int
	// amis holds releases by parameter, addons the newest versions by name.
	amis, addons map[string]string
	// denied are the methods that the identity may not call.
	denied []string
}

func (r fixedRegion) ask(method string) error {
	if slices.Contains(r.denied, method) {
		return fmt.Errorf("calling aws:%s: %w", method, ErrDenied)
	}
	return nil
}

func (r fixedRegion) AMIRelease(parameter string) (string, error) {
	return r.amis[parameter], r.ask("AMIRelease")
}

func (r fixedRegion) NewestAddon(name, _ string) (string, error) {
	return r.addons[name], r.ask("NewestAddon")
}

// requireRefusal asserts that err is exactly one refusal, of that code, and returns it.
func requireRefusal(t *testing.T, err error, code string) *refusal.Refusal {
	t.Helper()
	refusals := refusal.All(err)
	require.Len(t, refusals, 1)
	assert.Equal(t, code, refusals[0].Code)
	assert.NotEmpty(t, refusals[0].Next)
	assert.Contains(t, refusals[0].Billing, "this run created nothing")
	return refusals[0]
}

var errNoAnswer = errors.New("throttled")

func (r fixedRegion) InstanceType(name string) (InstanceType, error) {
	if found, ok := r.types[name]; ok {
		return found, nil
	}
	return InstanceType{}, errNoAnswer
}

func (r fixedRegion) Zones(name string) ([]region.Zone, error) {
	if found, ok := r.zones[name]; ok {
		return found, nil
	}
	return nil, errNoAnswer
}

func (r fixedRegion) ZoneIDs() (map[region.Zone]string, error) {
	if r.ids == nil {
		return nil, errNoAnswer
	}
	return r.ids, nil
}

func (r fixedRegion) Support(version string) (Support, error) {
	switch {
	case r.ask("Support") != nil:
		return "", r.ask("Support")
	case r.support == "":
		return "", errNoAnswer
	case version != kubernetesVersion:
		return "", nil
	}
	return r.support, nil
}

func (r fixedRegion) OtherInstances([]string) (map[string]int, error) {
	return r.others, r.ask("OtherInstances")
}

func (r fixedRegion) OtherAddresses() (int, error) { return r.addresses, r.ask("OtherAddresses") }

func (r fixedRegion) OtherVPCs() (int, error) { return r.vpcs, r.ask("OtherVPCs") }

func (r fixedRegion) Quota(_, code string) (float64, error) {
	if err := r.ask("Quota"); err != nil {
		return 0, err
	}
	if found, ok := r.quotas[code]; ok {
		return found, nil
	}
	return 0, errNoAnswer
}

// kubernetesVersion is the version that the fixed region supports.
const kubernetesVersion = "1.99"

func ohio() fixedRegion {
	return fixedRegion{
		types: map[string]InstanceType{
			"g6.12xlarge": {Name: "g6.12xlarge", VCPUs: 48, MemoryMiB: 196608, GPUs: 4, EFAInterfaces: 1, NetworkCards: 1},
			"g6.48xlarge": {Name: "g6.48xlarge", VCPUs: 192, MemoryMiB: 786432, GPUs: 8, EFAInterfaces: 1, NetworkCards: 1},
			"m7i.xlarge":  {Name: "m7i.xlarge", VCPUs: 4, MemoryMiB: 16384, NetworkCards: 1},
		},
		zones: map[string][]region.Zone{
			"g6.12xlarge": {"us-east-2c", "us-east-2b"}, "g6.48xlarge": {"us-east-2b"},
			"m7i.xlarge": {"us-east-2c", "us-east-2a", "us-east-2b"},
		},
		quotas: map[string]float64{"L-DB2E81BA": 96, "L-1216C47A": 5, "L-0263D0A3": 5, "L-F678F1CE": 5},
		ids:    map[region.Zone]string{"us-east-2a": "use2-az1", "us-east-2b": "use2-az2", "us-east-2c": "use2-az3"}, support: StandardSupport,
	}
}

func request() Request {
	return Request{
		Region: "us-east-2", KubernetesVersion: kubernetesVersion, GPU: Group{Type: "g6.12xlarge", Nodes: 2, VolumeGiB: 200}, System: Group{Type: "m7i.xlarge", Nodes: 1, VolumeGiB: 100}, MaxHourlyUSD: 12,
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	plan, err := Check(ohio(), request())
	require.NoError(t, err)
	assert.Equal(t, region.Zone("us-east-2b"), plan.Zone)
	assert.Equal(t, region.Zone("us-east-2a"), plan.ControlPlaneZone)
	assert.Equal(t, []region.Zone{"us-east-2c"}, plan.OtherZones)
	assert.InDelta(t, 9.2032, plan.Estimate.USDOf(plan.GPU.Name), 1e-9)
	assert.Zero(t, plan.Estimate.USDOf("nothing"))
	assert.Equal(t, 4, plan.GPU.GPUs)
	assert.Equal(t, []QuotaUse{
		{"ec2", "L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "vCPUs", 4, 0, 5},
		{"ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", "vCPUs", 96, 0, 96},
		{"ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", "addresses", 1, 0, 5},
		{"vpc", "L-F678F1CE", "VPCs per Region", "VPCs", 1, 0, 5},
	}, plan.Quotas)
	assert.InDelta(t, 9.6096, plan.Estimate.HourlyUSD(), 1e-9)
}

func TestCheckPassesOnWhatAWSDoesNotAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fixedRegion)
		says   string
	}{
		{"GPU type", func(r *fixedRegion) { delete(r.types, "g6.12xlarge") }, `describing instance type "g6.12xlarge"`},
		{"system type", func(r *fixedRegion) { delete(r.types, "m7i.xlarge") }, `describing instance type "m7i.xlarge"`},
		{"GPU zones", func(r *fixedRegion) { delete(r.zones, "g6.12xlarge") }, `listing the zones that offer "g6.12xlarge"`},
		{"system zones", func(r *fixedRegion) { delete(r.zones, "m7i.xlarge") }, `listing the zones that offer "m7i.xlarge"`},
		{"zone ids", func(r *fixedRegion) { r.ids = nil }, `listing the zones of "us-east-2"`},
		{"support of the version", func(r *fixedRegion) { r.support = "" }, `reading the support status of Kubernetes "` + kubernetesVersion + `" in EKS`},
		{"quota", func(r *fixedRegion) { delete(r.quotas, "L-DB2E81BA") }, `reading quota "L-DB2E81BA"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := ohio()
			test.change(&source)
			_, err := Check(source, request())
			require.ErrorIs(t, err, errNoAnswer, "no answer is never a yes")
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestZonesThatCanHaveTheCluster(t *testing.T) {
	t.Parallel()
	const local, wavelength = "us-east-2-atl-2a", "us-east-2-wl1-atl-wlz-1"
	tests := []struct {
		name         string
		wanted       region.Zone
		change       func(*fixedRegion)
		zone, second region.Zone
		others       []region.Zone
		says         string
	}{
		{name: "no Local or Wavelength Zone", change: func(r *fixedRegion) {
			for name, zones := range r.zones {
				r.zones[name] = append(zones, local, wavelength)
			}
		}, zone: "us-east-2b", second: "us-east-2a", others: []region.Zone{"us-east-2c"}},
		{name: "no Local Zone for the control plane", change: func(r *fixedRegion) {
			r.zones["m7i.xlarge"], r.zones["g6.12xlarge"] = []region.Zone{local, "us-east-2b"}, []region.Zone{local, "us-east-2b"}
		},
			wanted: "us-east-2b", says: "EKS needs a second zone"},
		{name: "no zone without control planes", change: func(r *fixedRegion) { r.ids["us-east-2b"] = "use1-az3" },
			zone: "us-east-2c", second: "us-east-2a"},
		{name: "nor as the second", change: func(r *fixedRegion) { r.ids["us-east-2a"] = "cac1-az3" },
			zone: "us-east-2b", second: "us-east-2c", others: []region.Zone{"us-east-2c"}},
		{name: "nor when asked for", wanted: "us-east-2b", change: func(r *fixedRegion) { r.ids["us-east-2b"] = "usw1-az2" },
			says: `availabilityZone "us-east-2b" (not-offered)` + "\ncause:    only [us-east-2c] offers both g6.12xlarge and m7i.xlarge, and supports EKS control planes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source, asked := ohio(), request()
			test.change(&source)
			asked.AvailabilityZone = test.wanted
			plan, err := Check(source, asked)
			if test.says != "" {
				_ = requireRefusal(t, err, CodeNotOffered)
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []region.Zone{test.zone, test.second}, []region.Zone{plan.Zone, plan.ControlPlaneZone})
			assert.ElementsMatch(t, test.others, plan.OtherZones)
		})
	}
}

func TestAVersionThatEKSDoesNotMake(t *testing.T) {
	t.Parallel()
	source, asked := ohio(), request()
	source.support = Unsupported
	_, err := Check(source, asked)
	_ = requireRefusal(t, err, CodeVersion)
	require.ErrorContains(t, err, "EKS reports UNSUPPORTED for this version\nnext:     aws eks describe-cluster-versions --region us-east-2")
	asked.KubernetesVersion = "1.20"
	plan, err := Check(ohio(), asked)
	_ = requireRefusal(t, err, CodeVersion)
	require.ErrorContains(t, err, "EKS does not list this version")
	assert.InDelta(t, 0.60, plan.Estimate.Lines[2].UnitUSD, 1e-9, "never taken for standard")
}

func TestOnlyStandardSupportIsCheap(t *testing.T) {
	t.Parallel()
	for support, want := range map[Support]float64{StandardSupport: 0.10, ExtendedSupport: 0.60, Unsupported: 0.60, "": 0.60, "NEW_SUPPORT": 0.60} {
		assert.InDelta(t, want, Price(request(), support).Lines[2].UnitUSD, 1e-9, support)
	}
	assert.Contains(t, Price(request(), ExtendedSupport).Table(), "0.6000  1 x EKS control plane, extended support of Kubernetes "+kubernetesVersion)
}

func TestQuotaCountsBothGroupsOfOneFamily(t *testing.T) {
	t.Parallel()
	source := ohio()
	source.types["m7i.xlarge"] = InstanceType{Name: "m7i.xlarge", VCPUs: 4, GPUs: 1, EFAInterfaces: 1, NetworkCards: 1}
	both := request()
	both.GPU = Group{Type: "m7i.xlarge", Nodes: 2, VolumeGiB: 100}
	_, err := Check(source, both)
	_ = requireRefusal(t, err, CodeQuota)
	require.ErrorContains(t, err, "12 vCPUs are needed, 5 granted")
}

func TestQuotaLessUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fixedRegion)
		says   string
	}{
		{"enough quota next to other instances", func(r *fixedRegion) { r.quotas["L-DB2E81BA"] = 144; r.others = map[string]int{"g6.12xlarge": 1} }, ""},
		{"another G instance", func(r *fixedRegion) { r.others = map[string]int{"g6.12xlarge": 1} },
			"96 vCPUs are needed, 96 granted, 48 in use outside this stack\nnext:     aws service-quotas request-service-quota-increase " +
				"--service-code ec2 --quota-code L-DB2E81BA --desired-value 144 --region us-east-2"},
		{"instances of another quota", func(r *fixedRegion) { r.others = map[string]int{"trn1.32xlarge": 7} }, ""},
		{"every address taken", func(r *fixedRegion) { r.addresses = 5 }, "1 addresses are needed, 5 granted, 5 in use"},
		{"every VPC taken", func(r *fixedRegion) { r.vpcs = 5 }, "--service-code vpc --quota-code L-F678F1CE --desired-value 6"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := ohio()
			test.change(&source)
			_, err := Check(source, request())
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			_ = requireRefusal(t, err, CodeQuota)
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestQuotaOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"g6.12xlarge": "L-DB2E81BA", "g6e.48xlarge": "L-DB2E81BA", "gr6.8xlarge": "L-DB2E81BA", "g4dn.8xlarge": "L-DB2E81BA",
		"p5.48xlarge": "L-417A185B", "p6-b200.48xlarge": "L-417A185B", "m7i.xlarge": "L-1216C47A", "c7g.large": "L-1216C47A",
		"trn1.32xlarge": "", "u-6tb1.metal": "", "nonsense": "",
	} {
		found, ok := quotaOf(name)
		assert.Equal(t, want, found.code, name)
		assert.Equal(t, want != "", ok, name)
	}
}

func TestPriceOfOtherRegionsIsUnknown(t *testing.T) {
	t.Parallel()
	elsewhere := request()
	elsewhere.Region = "eu-west-1"
	estimate := Price(elsewhere, StandardSupport)
	assert.Equal(t, []string{"g6.12xlarge", "m7i.xlarge"}, estimate.Unknown())
	assert.Contains(t, estimate.Table(), "unknown  2 x g6.12xlarge")
	unknown := requireRefusal(t, estimate.check(1000), CodePrice)
	assert.Equal(t, "the price of g6.12xlarge and m7i.xlarge is unknown", unknown.Cause)
	require.ErrorContains(t, unknown, `next:     pulumi config set --path --type float 'prices["g6.12xlarge"]' USD_PER_HOUR`)

	elsewhere.Prices = map[string]float64{"g6.12xlarge": 5, "m7i.xlarge": 0.25}
	estimate = Price(elsewhere, StandardSupport)
	assert.Empty(t, estimate.Unknown())
	assert.InDelta(t, 10.4548, estimate.HourlyUSD(), 1e-9)
	require.NoError(t, estimate.check(10.4548))
	_ = requireRefusal(t, estimate.check(10.45), CodePrice)
}

func TestPriceIsExactInTheRegionThatWasRead(t *testing.T) {
	t.Parallel()
	virginia := request()
	virginia.Region = "us-east-1"
	assert.NotContains(t, Price(virginia, StandardSupport).Table(), "assumed for")
	assert.Contains(t, Price(request(), StandardSupport).Table(), "assumed for us-east-2")
}

// A denied question is neither a yes nor a no.
func TestWhatTheIdentityMayNotAskIsUnknown(t *testing.T) {
	t.Parallel()
	asked := request()
	asked.GPU.AMIRelease = "1.99.1-20260714"
	asked.Addons = []Addon{{"addons.vpcCni", "vpc-cni", "v9.0.0-eksbuild.1"}}
	for method, says := range map[string]string{
		"Quota":          "quota L-DB2E81BA (Running On-Demand G and VT instances) is unknown",
		"OtherInstances": "what others use of quota L-DB2E81BA",
		"OtherAddresses": "what others use of quota L-0263D0A3", "OtherVPCs": "what others use of quota L-F678F1CE",
		"Support": "the support of Kubernetes 1.99 is unknown", "AMIRelease": `whether gpu.amiRelease "1.99.1-20260714" exists is unknown`,
		"NewestAddon": `whether addons.vpcCni "v9.0.0-eksbuild.1" exists is unknown`,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			source := ohio()
			source.denied = []string{method}
			plan, err := Check(source, asked)
			require.NoError(t, err)
			assert.Contains(t, strings.Join(plan.Unknown, "\n"), says)
			assert.Contains(t, plan.Unknown[0], "calling aws:"+method+": the AWS identity lacks the permission")
		})
	}
	source := ohio()
	source.denied = []string{"Support"}
	plan, err := Check(source, asked)
	require.NoError(t, err)
	assert.InDelta(t, 10.1096, plan.Estimate.HourlyUSD(), 1e-9, "never taken for standard")
	assert.Len(t, plan.Quotas, 4)
	source.denied = []string{"Quota"}
	plan, err = Check(source, asked)
	require.NoError(t, err)
	assert.Empty(t, plan.Quotas, "a quota that was not asked is not granted")
}

func TestReleasesThatDoNotExist(t *testing.T) {
	t.Parallel()
	parameter := func(image string) string { return AMIParameter(kubernetesVersion, NVIDIAVariant, image) }
	tests := []struct {
		name, release string
		amis          map[string]string
		says          string
	}{
		{"recommended", "1.99.2-20261101", map[string]string{parameter(Recommended): "1.99.2-20261101"}, ""},
		{"older", "1.99.1-20260714", map[string]string{
			parameter(Recommended): "1.99.2-20261101", parameter("amazon-eks-node-al2023-x86_64-nvidia-1.99-v20260714"): "1.99.1-20260714",
		}, ""},
		{"no AMI of that day", "1.99.1-20260715", map[string]string{parameter(Recommended): "1.99.2-20261101"},
			"EKS has no AMI amazon-eks-node-al2023-x86_64-nvidia-1.99-v20260715 in us-east-2\nnext:     pulumi config set --path gpu.amiRelease 1.99.2-20261101"},
		{"other patch", "1.99.3-20260714", map[string]string{
			parameter(Recommended): "1.99.2-20261101", parameter("amazon-eks-node-al2023-x86_64-nvidia-1.99-v20260714"): "1.99.1-20260714",
		}, "is 1.99.1-20260714\nnext:     pulumi config set --path gpu.amiRelease 1.99.1-20260714"},
		{"AWS has no parameters", "1.99.1-20260714", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source, asked := ohio(), request()
			source.amis, asked.GPU.AMIRelease = test.amis, test.release
			_, err := Check(source, asked)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			_ = requireRefusal(t, err, CodeAMIRelease)
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestAddonsThatAreNewerThanTheNewest(t *testing.T) {
	t.Parallel()
	for version, refused := range map[string]bool{
		"": false, "v1.22.4-eksbuild.3": false, "v1.9.9-eksbuild.9": false,
		"v1.22.4-eksbuild.10": true, "v1.22.5-eksbuild.1": true, "v2.0.0-eksbuild.1": true,
	} {
		source, asked := ohio(), request()
		source.addons = map[string]string{"vpc-cni": "v1.22.4-eksbuild.3"}
		asked.Addons = []Addon{{"addons.vpcCni", "vpc-cni", version}}
		_, err := Check(source, asked)
		if !refused {
			require.NoError(t, err, version)
			continue
		}
		_ = requireRefusal(t, err, CodeAddon)
		require.ErrorContains(t, err, "in us-east-2 is v1.22.4-eksbuild.3\nnext:     aws eks describe-addon-versions --addon-name vpc-cni")
	}
}

func TestOldPricesAreCalledOld(t *testing.T) {
	t.Parallel()
	asked := request()
	read, err := time.Parse(time.DateOnly, PriceDate)
	require.NoError(t, err)
	for days, old := range map[int]bool{0: false, 180: false, 181: true} {
		asked.Today = read.AddDate(0, 0, days)
		assert.Equal(t, old, strings.Contains(Price(asked, StandardSupport).Table(), PriceDate+", old: check it and set prices"), days)
	}
	asked.Today = read.AddDate(0, 0, 181)
	asked.Prices = map[string]float64{"g6.12xlarge": 5}
	assert.NotContains(t, Price(asked, StandardSupport).Lines[0].Source, "old", "a price of the settings has no date")
}

func TestVolumesCostMoney(t *testing.T) {
	t.Parallel()
	asked := request()
	asked.GPU.VolumeThroughput, asked.System.VolumeThroughput = 500, 100
	estimate := Price(asked, StandardSupport)
	assert.InDelta(t, 500*0.08/730, estimate.USDOf("GiB of gp3 volumes"), 1e-9)
	assert.InDelta(t, 750*0.04/730, estimate.USDOf("MiB/s of gp3 throughput above 125 per volume"), 1e-9)
	assert.Contains(t, estimate.Table(), "once per node: about 2.02 USD for 3 nodes")
	require.ErrorContains(t, estimate.check(9.6096), "price-refused")
	asked.Region = "eu-west-1"
	assert.Contains(t, Price(asked, StandardSupport).Table(), "assumed for eu-west-1, where it may be higher")
}

// Source: EC2 user guide, "Capacity Blocks for ML": no On-Demand quota, paid upfront.
func TestACapacityBlockIsPaidInAdvance(t *testing.T) {
	t.Parallel()
	source, asked := ohio(), request()
	asked.GPU.Prepaid, source.quotas["L-DB2E81BA"] = true, 0
	plan, err := Check(source, asked)
	require.NoError(t, err)
	assert.InDelta(t, 9.6096-9.2032, plan.Estimate.HourlyUSD(), 1e-9)
	assert.Contains(t, plan.Estimate.Table(), "0.0000  2 x g6.12xlarge  (a Capacity Block, paid in advance)")
	assert.Len(t, plan.Quotas, 3)
}
