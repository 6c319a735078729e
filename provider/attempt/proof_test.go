package attempt

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// go test ./provider/attempt -update rewrites the golden.
var update = flag.Bool("update", false, "rewrite golden files") //nolint:gochecknoglobals // flags are global

func fixedInputs() jobs.Inputs {
	training := train.Defaults()
	training.Model, training.Device, training.Steps = "tiny", train.CPU, 5
	training.BatchSize, training.SequenceLength, training.WrapMinParameters = 1, 16, 1000
	return jobs.Inputs{
		ImageDigest: "repo@sha256:00", Environment: map[string]string{"NCCL_NET": "Libfabric", "FI_PROVIDER": "efa"},
		LaunchTemplateVersion: "3", AMIRelease: "1.36.2-20260714", InstanceType: "g6.12xlarge",
		ChartVersions: map[string]string{"kuberay-operator": "1.6.2"}, RayCluster: "train",
		RayClusterSpec: `{"b": [2], "a": 12345678901234567890}`,
		Training:       training,
		Expectations: jobs.Expectations{
			WorldSize: 8, Nodes: 2, GPUsPerNode: 4, EFAPerNode: 1, Provider: "efa", RequireFIInfo: true,
		},
	}
}

var fixedCode = Code{Revision: "abc", Entrypoint: "python -m raytrain_job"} //nolint:gochecknoglobals // a constant

// The golden is what every proven stack depends on: a changed line runs every job again.
func TestProofOfAFixedInput(t *testing.T) {
	t.Parallel()
	text, err := proofText(proofValues(fixedInputs(), fixedCode))
	require.NoError(t, err)
	proof, err := NewProof(fixedInputs(), fixedCode)
	require.NoError(t, err)
	got := string(text) + "sha256 " + proof.Hash + "\n"
	const golden = "testdata/proof.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestNewValueAtItsDefaultChangesNothing(t *testing.T) {
	t.Parallel()
	values := proofValues(fixedInputs(), fixedCode)
	before, err := hashValues(values)
	require.NoError(t, err)
	added := value{name: "training.gradientAccumulation", value: 1, unset: 1}
	after, err := hashValues(append(slices.Clone(values), added))
	require.NoError(t, err)
	assert.Equal(t, before, after)
	added.value = 2
	after, err = hashValues(append(slices.Clone(values), added))
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
	slices.Reverse(values)
	reordered, err := hashValues(values)
	require.NoError(t, err)
	assert.Equal(t, before, reordered)
}

// The hash of an earlier release is only known for what that release knew.
func TestLegacyHash(t *testing.T) {
	t.Parallel()
	code := Code{Revision: legacyRevision, Entrypoint: "python -m raytrain_job"}
	values := proofValues(fixedInputs(), code)
	hash, err := legacyHash(fixedInputs(), code, values)
	require.NoError(t, err)
	assert.Len(t, hash, 64)
	for name, other := range map[string][]value{
		"a value that it did not know": append(slices.Clone(values), value{name: "later", value: 2, unset: 1}),
		"other code":                   nil,
	} {
		revision := code
		if other == nil {
			revision.Revision = "another"
		}
		hash, err := legacyHash(fixedInputs(), revision, other)
		require.NoError(t, err)
		assert.Empty(t, hash, name)
	}
	assert.False(t, Proof{Hash: "a"}.Matches(""), "no hash is no proof")
	assert.True(t, Proof{Hash: "a", legacy: "b"}.Matches("b"))
}

// notProven are the inputs that cannot change the outcome of a run.
func notProven() []string {
	return []string{
		"Kubeconfig", "ClusterName", "Namespace", "StartupSeconds", "DeadlineSeconds", "HourlyUSD", "AWSRegion", "EFASecurityGroupID",
		"EvidenceDir",
		"WorkingDir", // its digest is
		"PendingSeconds", "NoProgressSeconds", "FailFast", "OnCancel",
	}
}

// fill sets leaf number want, counted depth first, or counts the leaves when want is negative.
func fill(field reflect.Value, next *int, want int) {
	if field.Kind() == reflect.Struct {
		for i := range field.NumField() {
			if !slices.Contains(notProven(), field.Type().Field(i).Name) {
				fill(field.Field(i), next, want)
			}
		}
		return
	}
	if *next == want {
		switch field.Kind() {
		case reflect.String:
			field.SetString("changed")
		case reflect.Int:
			field.SetInt(99)
		case reflect.Float64:
			field.SetFloat(9.9)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"changed": "1"}))
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"changed"}))
		}
	}
	*next++
}

func TestEveryInputCounts(t *testing.T) {
	t.Parallel()
	type subject struct {
		Inputs jobs.Inputs
		Code   Code
	}
	leaves := 0
	fill(reflect.ValueOf(&subject{}).Elem(), &leaves, -1)
	require.Greater(t, leaves, 20)
	seen := map[string]int{}
	for i := -1; i < leaves; i++ {
		var changed subject
		next := 0
		fill(reflect.ValueOf(&changed).Elem(), &next, i)
		proof, err := NewProof(changed.Inputs, changed.Code)
		require.NoError(t, err)
		before, taken := seen[proof.Hash]
		assert.False(t, taken, "leaf %d hashes like leaf %d", i, before)
		seen[proof.Hash] = i
	}
}

func TestOnlyMeaningCounts(t *testing.T) {
	t.Parallel()
	hash := func(in jobs.Inputs) string {
		proof, err := NewProof(in, fixedCode)
		require.NoError(t, err)
		return proof.Hash
	}
	a := jobs.Inputs{RayClusterSpec: `{"a": 1, "b": [2]}`, Environment: map[string]string{"x": "1", "y": "2"}}
	b := jobs.Inputs{RayClusterSpec: `{"b":[2],"a":1}`, Environment: map[string]string{"y": "2", "x": "1"}}
	assert.Equal(t, hash(a), hash(b))
	b.RayClusterSpec = `{"b":[2],"a":2}`
	assert.NotEqual(t, hash(a), hash(b))
	assert.NotEqual(t, hash(jobs.Inputs{RayClusterSpec: "abc"}), hash(jobs.Inputs{RayClusterSpec: "abd"}))
	assert.NotEqual(t, hash(jobs.Inputs{RayClusterSpec: "{} x"}), hash(jobs.Inputs{RayClusterSpec: "{} y"}))
}

// A script's proof depends on its command and files, and not on what the built-in training would do.
func TestProofOfAScript(t *testing.T) {
	t.Parallel()
	script := fixedInputs()
	script.Entrypoint, script.WorkingDir, script.WorkingDirDigest = "python train.py", "train", "d1"
	hash := func(change func(*jobs.Inputs), code Code) string {
		in := script
		change(&in)
		proof, err := NewProof(in, code)
		require.NoError(t, err)
		return proof.Hash
	}
	base := hash(func(*jobs.Inputs) {}, fixedCode)
	assert.Equal(t, base, hash(func(in *jobs.Inputs) { in.WorkingDir = "/elsewhere" }, fixedCode))
	assert.Equal(t, base, hash(func(in *jobs.Inputs) { in.Training.Steps++ }, fixedCode))
	assert.Equal(t, base, hash(func(*jobs.Inputs) {}, Code{Revision: "other", Entrypoint: "other"}))

	assert.NotEqual(t, base, hash(func(in *jobs.Inputs) { in.Entrypoint = "python other.py" }, fixedCode))
	assert.NotEqual(t, base, hash(func(in *jobs.Inputs) { in.WorkingDirDigest = "d2" }, fixedCode))
	assert.NotEqual(t, base, hash(func(in *jobs.Inputs) { in.WorkingDirDigest = "" }, fixedCode))
	assert.NotEqual(t, base, hash(func(in *jobs.Inputs) { in.Pip = []string{"einops==0.8.1"} }, fixedCode))
	assert.NotEqual(t, base, hash(func(in *jobs.Inputs) { in.Training.Device = train.CUDA }, fixedCode))

	legacy, err := NewProof(script, Code{Revision: legacyRevision, Entrypoint: "python -m raytrain_job"})
	require.NoError(t, err)
	assert.Empty(t, legacy.legacy, "earlier releases had no scripts")
}
