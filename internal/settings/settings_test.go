package settings

import (
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

var goodDigest = "sha256:" + strings.Repeat("0f", 32)

// config is the smallest usable config with changes, by setting, as the engine passes it.
func config(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	values := map[string]string{"imageDigest": goodDigest, "publicAccessCidrs": `["203.0.113.7/32"]`}
	maps.Copy(values, changes)
	raw, err := Encode(values)
	require.NoError(t, err)
	raw["aws:region"] = "eu-west-1"
	return raw
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	have, err := Parse(config(t, nil))
	require.NoError(t, err)
	assert.Equal(t, Settings{
		Place: Place{
			AWSRegion: "us-east-2", ClusterName: "ray-train-efa", KubernetesVersion: DefaultKubernetesVersion,
			VPCCIDR:            netip.MustParsePrefix("10.42.0.0/16"),
			PublicAccessCIDRs:  CIDRs{netip.MustParsePrefix("203.0.113.7/32")},
			AdminPrincipalARNs: []string{}, LogRetentionDays: 30,
		},
		Addons: AddonVersions{
			VPCCNI: "v1.22.4-eksbuild.3", KubeProxy: "v1.36.0-eksbuild.21",
			CoreDNS: "v1.14.3-eksbuild.16", PodIdentityAgent: "v1.3.10-eksbuild.3",
		},
		GPU: GPU{
			NodeGroup: NodeGroup{InstanceType: "g6.12xlarge", Nodes: 2, AMIRelease: DefaultAMIRelease, VolumeGiB: 200, VolumeThroughput: 500},
			Placement: ClusterPlacement, Capacity: OfferedCapacity, MetadataHopLimit: 1,
		},
		System:        NodeGroup{InstanceType: "m7i.xlarge", Nodes: 1, AMIRelease: DefaultAMIRelease, VolumeGiB: 100, VolumeThroughput: 500},
		FastImagePull: true,
		Image:         image.Reference{Repository: "public.ecr.aws/deep-learning-containers/ray", Digest: image.Digest(goodDigest)},
		Charts: Charts{
			NVIDIA:         Chart{"https://nvidia.github.io/k8s-device-plugin", "0.20.0"},
			EFA:            Chart{"https://aws.github.io/eks-charts", "v0.5.30"},
			KubeRay:        Chart{"https://ray-project.github.io/kuberay-helm", "1.6.2"},
			TimeoutSeconds: 300,
		},
		Ray: Ray{
			Version: "2.58.0", Namespace: "ray", HeadCPU: "3", HeadMemory: "10Gi", HeadObjectStoreMiB: 1024, WorkerObjectStoreMiB: 16384,
		},
		Job: Job{
			Enabled: true, Training: train.Config{
				Model: "Qwen/Qwen2.5-1.5B", Device: train.CUDA, Steps: 20, BatchSize: 1, SequenceLength: 512,
				LearningRate: 1e-5, Seed: 7, WrapMinParameters: 10_000_000, Strategy: train.FSDP2,
			},
			StartupSeconds: 1200, DeadlineSeconds: 1800, PendingSeconds: 600, NoProgressSeconds: 900,
			FailFast: true, OnCancel: jobs.LeaveJob,
			Environment: map[string]string{}, EvidenceDir: "evidence",
		},
		Cost: Cost{MaxHourlyUSD: 12, Prices: map[string]float64{}},
	}, have)
	assert.Equal(t, "public.ecr.aws/deep-learning-containers/ray@"+goodDigest, have.Image.String())
}

func TestWhatARehearsalChanges(t *testing.T) {
	t.Parallel()
	have, err := Parse(config(t, map[string]string{
		"imageRepository": "127.0.0.1:5000/deep-learning-containers/ray", "charts.efa.repository": "http://127.0.0.1:7000/charts",
		"job.device": "cpu", "job.model": "tiny", "job.environment": `{"NCCL_NET":""}`, "job.deadlineSeconds": "45",
		"charts.efa.imageRepository": "127.0.0.1:5000/efa", "publicAccessCidrs": "[]", "job.enabled": "false",
	}))
	require.NoError(t, err)
	assert.Equal(t, train.CPU, have.Job.Training.Device)
	assert.Equal(t, map[string]string{"NCCL_NET": ""}, have.Job.Environment)
	assert.Equal(t, 45, have.Job.DeadlineSeconds)
	assert.Empty(t, have.PublicAccessCIDRs)
	assert.False(t, have.Job.Enabled)
	assert.Equal(t, "127.0.0.1:5000/efa", have.Charts.EFAImageRepository)
}

// A setting that would change nothing is refused.
func TestAScriptAndTheBuiltInTrainingExclude(t *testing.T) {
	t.Parallel()
	own := map[string]string{"job.entrypoint": "python train.py", "job.workingDir": "train", "job.device": "cpu"}
	have, err := Parse(config(t, own))
	require.NoError(t, err)
	assert.Equal(t, "python train.py", have.Job.Entrypoint)
	assert.Equal(t, "train", have.Job.WorkingDir)

	builtIn := map[string]string{
		"job.model": "tiny", "job.steps": "4", "job.batchSize": "1", "job.sequenceLength": "32",
		"job.strategy": "ddp", "job.checkpointEvery": "2", "job.runName": "a",
	}
	maps.Copy(own, builtIn)
	_, err = Parse(config(t, own))
	for key := range builtIn {
		require.ErrorContains(t, err, key)
		require.ErrorContains(t, err, "pulumi config rm --path "+key)
	}
	assert.NotContains(t, err.Error(), "job.device")

	for _, key := range []string{"job.workingDir", "job.pip"} {
		_, err = Parse(config(t, map[string]string{key: "train"}))
		require.ErrorContains(t, err, key)
		require.ErrorContains(t, err, "job.entrypoint is not set")
	}
}

func TestFSDP1NeedsGPUs(t *testing.T) {
	t.Parallel()
	have, err := Parse(config(t, map[string]string{"job.strategy": "fsdp1", "job.storagePath": "s3://bucket/runs"}))
	require.NoError(t, err)
	assert.Equal(t, train.FSDP1, have.Job.Training.Strategy)
	assert.Equal(t, "s3://bucket/runs", have.Job.Training.StoragePath)
	_, err = Parse(config(t, map[string]string{"job.strategy": "fsdp1", "job.device": "cpu"}))
	require.ErrorContains(t, err, "FSDP1 exists for GPUs only, and job.device is cpu")
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"awsRegion":                {"", "us-east", "us-east-2a"},
		"clusterName":              {"", "-a", "a b"},
		"kubernetesVersion":        {"1.3", "v1.36", "1.36.2"},
		"ttlHours":                 {"-1", "721", "8h"},
		"vpcCidr":                  {"10.42.0.0", "10.42.0.0/24", "10.42.0.0/8", "8.8.0.0/16", "10.42.1.0/16", "fd00::/16"},
		"availabilityZone":         {"b", "us-east-2", "us-west-2a"},
		"publicAccessFromAnywhere": {"", "yes"},
		"permissionsBoundaryArn":   {"boundary", "arn:aws:iam::123456789012:role/boundary"},
		"addons.vpcCni":            {"1.22.4", "latest"},
		"addons.kubeProxy":         {"v1.36"},
		"addons.coredns":           {"v1"},
		"addons.podIdentityAgent":  {"v1.3.10"},
		"gpu.capacity":             {"", "spot"}, "gpu.reservation": {"cr-1", "arn:aws:ec2:us-east-2:123456789012:capacity-reservation/cr-1"}, "gpu.autoRepair": {"on"},
		"gpu.volumeThroughput": {"124", "1001"}, "system.volumeThroughput": {"fast"}, "fastImagePull": {"yes"},
		"flowLogs":          {"on"},
		"protect":           {"1"},
		"publicAccessCidrs": {"203.0.113.7/32", `["203.0.113.7"]`, `["::/0"]`, `[7]`, "null", `["10.0.0.0/8"]`, `["192.168.1.0/24"]`, `["127.0.0.1/32"]`, `["169.254.0.0/16"]`, `["203.0.113.7/32"] x`, `["203.0.113.7/32"]]`, `{}`, `"203.0.113.7/32"`},
		"adminPrincipalArns": {
			`["root"]`, `["arn:aws:sts::123456789012:assumed-role/ml-team/me"]`, `["arn:aws:iam::123456789012:assumed-role/ml-team/me"]`,
			`["arn:aws:iam::123456789012:root"]`, `["arn:aws:iam::123456789012:role/a","arn:aws:iam::123456789012:role/a"]`,
		},
		"logRetentionDays":           {"2", "ever"},
		"gpu.instanceType":           {"g6", "G6.12xlarge", ""},
		"gpu.nodes":                  {"1", "two", "2.5", "513", "", "null", "[2]", "true", "-2"},
		"gpu.amiRelease":             {"latest", "1.36.2", "1.20.9-20260714"},
		"gpu.volumeGiB":              {"99", "16385"},
		"gpu.placement":              {"", " mine", "größer"},
		"gpu.metadataHopLimit":       {"0", "3"},
		"system.instanceType":        {"m7i"},
		"system.nodes":               {"0", "11"},
		"system.amiRelease":          {"1.20.9-20260714"},
		"system.volumeGiB":           {"0", "16385"},
		"imageRepository":            {"ray", "public.ecr.aws/ray:v1", "public.ecr.aws/ray@" + goodDigest, "https://public.ecr.aws/ray"},
		"imageDigest":                {"", "v1.1", "sha256:abc", "sha256:" + strings.Repeat("0F", 32)},
		"charts.nvidia.repository":   {"nvidia", "ftp://a"},
		"charts.nvidia.version":      {"latest", "0.20", "^0.20.0"},
		"charts.efa.repository":      {""},
		"charts.efa.version":         {""},
		"charts.kuberay.repository":  {""},
		"charts.kuberay.version":     {"1"},
		"charts.efa.imageRepository": {"efa:v1"},
		"charts.timeoutSeconds":      {"0", "5m", "3601"},
		"ray.version":                {"2.58", "latest", "2.51.9", "1.99.0", "2.58.0-rc1", "99999.0.0"},
		"ray.namespace":              {"Ray", "", "default", "kube-system", "kube-public", "kube-node-lease", "kuberay-system", "a b"},
		"ray.headCpu":                {"", "three", "0", "-1", "50m", "1e100"},
		"ray.headMemory":             {"10 GB", "10", "0", "-1Gi", "8Ei", "1e100", "512Mi"},
		"ray.headObjectStoreMiB":     {"74", "1048577"},
		"ray.workerObjectStoreMiB":   {"all", "74", "1048577"},
		"job.enabled":                {"yes", "1", "", "null", "TRUE"},
		"job.model":                  {"", "a b", "Qwen/Qwen2.5-7B"},
		"job.device":                 {"gpu", ""},
		"job.steps":                  {"0", "1000001", "1", "hello", "2.5", "null", "true", "[]", "1e3", "99999999999999999999"},
		"job.batchSize":              {"0", "1025"},
		"job.sequenceLength":         {"7", "131073"},
		"job.strategy":               {"", "fsdp", "FSDP2"},
		"job.gradientCheckpointing":  {"yes"},
		"job.compile":                {"1"},
		"job.checkpointEvery":        {"-1", "1000001", "often"},
		"job.storagePath":            {"runs", "s3://", " /runs"},
		"job.runName":                {"A", "a b", strings.Repeat("a", 64)},
		"job.maxFailures":            {"-1", "101"},
		"job.entrypoint":             {" "},
		"job.workingDir":             {" "},
		"job.pip":                    {" "},
		"job.startupSeconds":         {"9", "7201"},
		"job.deadlineSeconds":        {"9", "1h", "86401"},
		"job.environment":            {"NCCL_NET=x", `["a"]`, `{"A B":"c"}`, `{"A":null}`, `{"A":["b"]}`, `{"A":{}}`, "null", `{"1A":"b"}`, `{"A-B":"c"}`, `{"A.B":"c"}`, `{"":"c"}`, `{"A":"b"} x`},
		"job.requireEfaCounters":     {"maybe"},
		"job.requireFiInfo":          {"1.5"},
		"job.pendingSeconds":         {"-1", "10m", "86401"},
		"job.noProgressSeconds":      {"-1", "86401"},
		"job.failFast":               {"fast"},
		"job.onCancel":               {"", "kill"},
		"job.evidenceDir":            {"", " "},
		"maxHourlyUsd":               {"", "ten", "0", "-1", "NaN", "Inf", "1e6", "$12"},
		"prices":                     {`{"g6":1}`, `{"g6.12xlarge":0}`, `{"g6.12xlarge":"dear"}`, `{"g6.12xlarge":"NaN"}`, `{"g6.12xlarge":true}`, "4.6", "null", `{"g6.12xlarge":-1}`, `{"g6.12xlarge":1e7}`},
	}
	for _, f := range Fields() {
		assert.Contains(t, tests, f.Key, "no bad value of it is tried")
	}
	for key, values := range tests {
		for _, value := range values {
			t.Run(key+"="+value, func(t *testing.T) {
				t.Parallel()
				_, err := Parse(config(t, map[string]string{key: value}))
				var problems Problems
				require.ErrorAs(t, err, &problems)
				require.Len(t, problems, 1)
				assert.Equal(t, key, problems[0].Key)
				assert.Equal(t, value, problems[0].Value)
				assert.Equal(t, value == "" && (key == "imageDigest" || key == "publicAccessCidrs"), problems[0].Missing)
				assert.NotEmpty(t, problems[0].Allowed)
				assert.NotEmpty(t, problems[0].Next, "what to run")
			})
		}
	}
}

// TestWrongTypesAreNamed tries values of another type on every setting that is not text. Each is one
// problem of the program, beside all others, and not an error of Pulumi's own.
func TestWrongTypesAreNamed(t *testing.T) {
	t.Parallel()
	wrong := map[Type]map[string]string{
		Integer: {"hello": "not a ", "1.5": "not a ", "true": "not a ",
			"[1]": "not a ", `{"a":1}`: "not a ", "null": "not a "},
		Boolean: {"hello": "allowed: true or false", "1": "allowed: true or false", "null": "allowed: true or false"},
		Array:   {"hello": "allowed: ", "7": "allowed: ", `{"a":"b"}`: "allowed: ", "true": "allowed: "},
		Object:  {"hello": "allowed: ", "7": "allowed: ", `["a"]`: "allowed: ", "true": "allowed: "},
	}
	tried := 0
	for _, f := range Fields() {
		for value, says := range wrong[f.Type] {
			_, err := Parse(config(t, map[string]string{f.Key: value, "clusterName": "a b"}))
			var problems Problems
			require.ErrorAs(t, err, &problems, "%s=%s", f.Key, value)
			require.Len(t, problems, 2, "%s=%s", f.Key, value)
			require.ErrorContains(t, err, Namespace+":clusterName is \"a b\"")
			at := slices.IndexFunc(problems, func(p Problem) bool { return p.Key == f.Key })
			require.GreaterOrEqual(t, at, 0)
			assert.Contains(t, problems[at].String(), says, "%s=%s", f.Key, value)
			assert.Contains(t, problems[at].String(), "next: pulumi config set ", "%s=%s", f.Key, value)
			tried++
		}
	}
	assert.Greater(t, tried, 90)
}

func TestMissingIsNotMalformed(t *testing.T) {
	t.Parallel()
	_, err := Parse(nil)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 2)
	assert.Equal(t, []string{"publicAccessCidrs", "imageDigest"}, []string{problems[0].Key, problems[1].Key})
	assert.True(t, problems[0].Missing)
	assert.True(t, problems[1].Missing)
	require.ErrorContains(t, err, "ray-train-efa:imageDigest is not set")
	require.ErrorContains(t, err, "next: raytrain image pin")
	require.ErrorContains(t, err, "checkip.amazonaws.com")
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	raw, err := Encode(map[string]string{
		"gpu.nodes": "one", "job.device": "gpu", "gpu.node": "2", "job.steps": "hello", "publicAccessCidrs": "[]",
	})
	require.NoError(t, err)
	_, err = Parse(raw)
	require.EqualError(t, err, `checking the stack's settings: 5 invalid
  - ray-train-efa:gpu.nodes is "one": not a whole number; allowed: 2 to 512; the gate judges traffic between nodes
      next: pulumi config set --path gpu.nodes '2'
  - ray-train-efa:imageDigest is not set; allowed: sha256: followed by 64 hexadecimal digits
      next: raytrain image pin --stack STACK
  - ray-train-efa:job.device is "gpu": invalid format; allowed: one of ["cuda" "cpu"]
      next: pulumi config set --path job.device 'cuda'
  - ray-train-efa:job.steps is "hello": not a whole number; allowed: 2 to 1000000; the first step is a warm-up
      next: pulumi config set --path job.steps '20'
  - ray-train-efa:gpu.node is "2": no such setting; did you mean gpu.nodes?
      next: pulumi config rm --path gpu.node`)
}

// `pulumi config set --path` stores groups; without --path a name with dots is a separate key.
func TestGroupsAndNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		raw   map[string]string
		nodes int
		says  string
	}{
		{"in the group", map[string]string{"gpu": `{"nodes":3,"volumeGiB":200}`}, 3, ""},
		{"in the group, as text", map[string]string{"gpu": `{"nodes":"3"}`}, 3, ""},
		{"by name", map[string]string{"gpu.nodes": "3"}, 0, "next: pulumi config rm gpu.nodes && pulumi config set --path gpu.nodes '3'"},
		{"by name, next to the group", map[string]string{"gpu.nodes": "3", "gpu": `{"nodes":3}`}, 0, "set without --path"},
		{"a map, by name", map[string]string{"job.environment": `{"A":"b"}`}, 0, "pulumi config rm job.environment && pulumi config set --path --type string"},
		{"bad, in the group", map[string]string{"gpu": `{"nodes":1}`}, 0, `ray-train-efa:gpu.nodes is "1": out of range`},
		{"a fraction", map[string]string{"gpu": `{"nodes":1.5}`}, 0, `ray-train-efa:gpu.nodes is "1.5": not a whole number`},
		{"null", map[string]string{"gpu": `{"nodes":null}`}, 0, `ray-train-efa:gpu.nodes is "null": not a whole number`},
		{"misspelt, in the group", map[string]string{"gpu": `{"node":3}`}, 0, "did you mean gpu.nodes?"},
		{"no group", map[string]string{"gpu": "3"}, 0, "is a group of settings, not a setting"},
		{"a text", map[string]string{"job": "nonsense"}, 0, "is a group of settings, not a setting"},
		{"a list", map[string]string{"job": "[]"}, 0, "is a group of settings, not a setting"},
		{"no JSON", map[string]string{"gpu": "{"}, 0, `reading "gpu"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			raw := config(t, nil)
			for key, value := range test.raw {
				raw[Namespace+":"+key] = value
			}
			have, err := Parse(raw)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.nodes, have.GPU.Nodes)
		})
	}
	raw := config(t, nil)
	maps.Copy(raw, map[string]string{
		Namespace + ":job":    `{"environment":{"NCCL_NET":""},"enabled":false,"model":"tiny"}`,
		Namespace + ":charts": `{"efa":{"version":"v0.5.19"},"timeoutSeconds":60}`, Namespace + ":ray": `{"headCpu":2}`,
	})
	have, err := Parse(raw)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"NCCL_NET": ""}, have.Job.Environment)
	assert.False(t, have.Job.Enabled)
	assert.Equal(t, "v0.5.19", have.Charts.EFA.Version)
	assert.Equal(t, "2", have.Ray.HeadCPU)
}

func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"gpuNodes": "did you mean gpu.nodes?", "job.stepz": "did you mean job.steps?",
		"ray.color":    "allowed: ray.headCpu, ray.headMemory, ray.headObjectStoreMiB",
		"image-digest": "did you mean imageDigest?", "nodes": "did you mean gpu.nodes?",
		"zzz": "allowed: addons, adminPrincipalArns, availabilityZone, awsRegion, charts, clusterName, fastImagePull, flowLogs, gpu,",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(config(t, map[string]string{key: "2"}))
			require.ErrorContains(t, err, "no such setting")
			require.ErrorContains(t, err, want)
		})
	}
}

func TestStackFilesAreUsable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Pulumi.dev.yaml", "Pulumi.prod.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../../" + name)
			require.NoError(t, err)
			var stack struct {
				Config map[string]any `json:"config"`
			}
			require.NoError(t, yaml.Unmarshal(text, &stack))
			raw := config(t, nil)
			for key, value := range stack.Config {
				if s, ok := value.(string); ok {
					raw[key] = s
					continue
				}
				plain, err := json.Marshal(value)
				require.NoError(t, err)
				raw[key] = string(plain)
			}
			_, err = Parse(raw)
			require.NoError(t, err)
		})
	}
}

// A half of the internet is as open as all of it.
func TestTheInternetNeedsAnExplicitYes(t *testing.T) {
	t.Parallel()
	for _, blocks := range []string{`["0.0.0.0/0"]`, `["203.0.113.7/32","0.0.0.0/1","128.0.0.0/1"]`} {
		_, err := Parse(config(t, map[string]string{"publicAccessCidrs": blocks}))
		require.ErrorContains(t, err, "publicAccessFromAnywhere true")
		have, err := Parse(config(t, map[string]string{"publicAccessCidrs": blocks, "publicAccessFromAnywhere": "true"}))
		require.NoError(t, err)
		assert.NotEmpty(t, have.PublicAccessCIDRs)
	}
	_, err := Parse(config(t, map[string]string{"publicAccessCidrs": `["11.0.0.0/8"]`}))
	require.NoError(t, err)
}

func TestAddonsArePinnedForTheKubernetesVersion(t *testing.T) {
	t.Parallel()
	have, err := Parse(config(t, map[string]string{"addons.coredns": "v1.14.3-eksbuild.23"}))
	require.NoError(t, err)
	assert.Equal(t, "v1.14.3-eksbuild.23", have.Addons.CoreDNS)
	assert.Equal(t, "v1.22.4-eksbuild.3", have.Addons.VPCCNI)
	have, err = Parse(config(t, map[string]string{
		"kubernetesVersion": "1.20", "gpu.amiRelease": "1.20.1-20260714", "system.amiRelease": "1.20.1-20260714",
	}))
	require.NoError(t, err)
	assert.Empty(t, have.Addons, "EKS's defaults")
}

func TestReservationsFitTheOtherSettings(t *testing.T) {
	t.Parallel()
	const id, group = "cr-0123456789abcdef0", "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"
	existing := func(changes ...string) map[string]string {
		values := map[string]string{
			"gpu.capacity": "existing", "gpu.reservation": id, "gpu.placement": "none", "availabilityZone": "us-east-2b",
		}
		for i := 0; i < len(changes); i += 2 {
			values[changes[i]] = changes[i+1]
		}
		return values
	}
	for name, test := range map[string]struct {
		values map[string]string
		says   string
	}{
		"existing":             {existing(), ""},
		"resource group":       {existing("gpu.reservation", group), ""},
		"placement of its own": {existing("gpu.placement", "mine"), ""},
		"block":                {existing("gpu.capacity", "block"), ""},
		"reserve":              {map[string]string{"gpu.capacity": "reserve"}, ""},
		"none named":           {existing("gpu.reservation", ""), "gpu.reservation is not set"},
		"group as a block":     {existing("gpu.capacity", "block", "gpu.reservation", group), "a Capacity Block has an id"},
		"no zone":              {existing("availabilityZone", ""), "a reservation is in one zone"},
		"the stack's group":    {existing("gpu.placement", "cluster"), "not in the placement group that the stack makes"},
		"unused":               {existing("gpu.capacity", "offered"), "gpu.capacity is offered, which does not use it"},
		"unused beside ours":   {existing("gpu.capacity", "reserve"), "gpu.capacity is reserve, which does not use it"},
	} {
		_, err := Parse(config(t, test.values))
		if test.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, test.says, name)
	}
}

func TestLeaseEndIsAFullHour(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 10, 30, 0, 0, time.FixedZone("", 3600))
	assert.Equal(t, time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC), Cost{TTLHours: 8}.LeaseEnd(at))
	assert.Equal(t, Cost{TTLHours: 8}.LeaseEnd(at), Cost{TTLHours: 8}.LeaseEnd(at.Add(29*time.Minute)))
	assert.Zero(t, Cost{}.LeaseEnd(at))
}
