package gate_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestGreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	assert.Equal(t, "efa", w.text("verdict"))
	assert.Equal(t, 8, w.state.Get("ranks").AsArray().Len())
	assert.InDelta(t, 0.5, w.state.Get("stepsPerSecond").AsNumber(), 0)
	assert.True(t, w.state.Get("kubeconfig").Secret(), "the kubeconfig stays secret in the state")
	assert.Equal(t, true, w.record()["settled"])
	first := w.state.Get("ranks").AsArray().Get(0).AsMap()
	assert.Equal(t, "worker0", first.Get("node").AsString())
	assert.Equal(t, "efa", first.Get("provider").AsString())

	submission := w.ray.Submissions[0]
	assert.Regexp(t, `^train-[0-9a-f]{8}-a1$`, submission.ID)
	assert.Equal(t, "0", submission.RuntimeEnv.EnvVars["RAY_DEDUP_LOGS"])
	assert.Equal(t, "Libfabric", submission.RuntimeEnv.EnvVars["NCCL_NET"])
	assert.Equal(t, "420", submission.RuntimeEnv.EnvVars["RAYTRAIN_DEADLINE_SECONDS"], "after the gate's own stop")
	assert.Contains(t, submission.RuntimeEnv.EnvVars["RAYTRAIN_CONFIG"], `"worldSize":8`)

	assert.False(t, w.hasChanges())
	require.NoError(t, w.refresh())
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted(), "a green, unchanged stack runs no second job")
	require.NoError(t, w.destroy())
}

func TestEvidenceIsFiled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Rehearsed = true
	w.start()
	require.NoError(t, w.up())
	folder := filepath.Join(w.evidence, w.text("submissionId"))
	assert.Equal(t, filepath.Join(folder, "report.txt"), w.text("reportPath"))
	for _, name := range []string{"report.txt", "report.json", "driver.log", "ranks/rank0.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.NotEmpty(t, text)
		assert.NotContains(t, string(text), token, "%s", name)
	}
	report, err := os.ReadFile(filepath.Join(folder, "report.txt"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(report), "REHEARSED"))
	logs, err := filepath.Glob(filepath.Join(folder, "ranks", "rank*.log"))
	require.NoError(t, err)
	assert.Len(t, logs, 8)
}

func TestRedStaysRed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	err := w.up()
	require.ErrorContains(t, err, "refused: the verdict is not-efa")
	for _, part := range []string{"cause:", "evidence:", "next:", "report:", "$9.55 per hour"} {
		assert.ErrorContains(t, err, part)
	}
	assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 20)
	require.NotEmpty(t, w.id, "the resource and its evidence stay in the state")
	assert.Equal(t, "not-efa", w.text("verdict"))
	assert.NotEmpty(t, w.text("reportPath"))
	assert.Equal(t, 8, w.state.Get("ranks").AsArray().Len())

	require.Error(t, w.refresh(), "a refresh must not heal it")
	assert.True(t, w.hasChanges())
	require.ErrorContains(t, w.up(), "not-efa")
	assert.Equal(t, 2, w.submitted(), "the next up runs a new attempt")

	w.fabric = synth.OnEFA
	require.NoError(t, w.up())
	assert.Equal(t, "efa", w.text("verdict"))
	assert.True(t, strings.HasSuffix(w.text("submissionId"), "-a3"))
	require.NoError(t, w.refresh())
	assert.False(t, w.hasChanges())
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	failed := func(job *rayapi.Job) { job.Status, job.ExitCode = rayapi.Failed, pointer(1) }
	runs := func(*rayapi.Job) {}
	tests := []struct {
		name   string
		fabric synth.Fabric
		script func(*rayapi.Job)
		want   string
		says   string
	}{
		{"pinned abort", synth.PluginMissingPinned, failed, "inconclusive", "FAILED (exit status 1)"},
		{"broken device", synth.DeviceMissing, nil, "not-efa", "SUCCEEDED"},
		{"one rank on TCP hangs", synth.SocketOneRank, runs, "mixed", "stopped at its deadline of 300 s"},
		{"the script crashes on EFA", synth.OnEFA, failed, "efa", "the last line"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fabric = test.fabric
			if test.script != nil {
				w.script = test.script
			}
			err := w.up()
			require.ErrorContains(t, err, test.says)
			assert.NotContains(t, err.Error(), token)
			assert.Equal(t, test.want, w.text("verdict"))
			assert.True(t, w.hasChanges())
			require.Error(t, w.refresh())
			require.NoError(t, w.destroy())
		})
	}
}

func pointer[T any](value T) *T { return &value }

// TestEvidenceMustBeThisRuns changes the evidence of a run on EFA, so that it must not pass.
func TestEvidenceMustBeThisRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(node, name string, text []byte) (string, []byte)
		code  string
	}{
		{"a manifest is missing", func(node, name string, text []byte) (string, []byte) {
			if name == "rank3.json" {
				return node, nil
			}
			return node, text
		}, "rank-missing"},
		{"a manifest of another run", func(node, name string, text []byte) (string, []byte) {
			if name == "rank3.json" {
				return node, []byte(strings.ReplaceAll(string(text), `"nonce":"`, `"nonce":"0`))
			}
			return node, text
		}, "manifest-invalid"},
		{"a log is missing", func(node, name string, text []byte) (string, []byte) {
			if strings.HasPrefix(name, "rank3.") && strings.HasSuffix(name, ".log") {
				return node, nil
			}
			return node, text
		}, "nccl-log-missing"},
		{"all ranks on one node", func(_, _ string, text []byte) (string, []byte) {
			return "worker0", []byte(strings.ReplaceAll(string(text), "worker1", "worker0"))
		}, "nodes-not-spanned"},
		{"a manifest on another node than it names", func(node, name string, text []byte) (string, []byte) {
			if name == "rank3.json" {
				return "worker1", text
			}
			return node, text
		}, "manifest-invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.spoil = test.spoil
			require.Error(t, w.up())
			assert.Equal(t, "inconclusive", w.text("verdict"))
			assert.Contains(t, codes(w), test.code)
		})
	}
}

func codes(w *world) []string {
	var list []string
	for _, f := range w.state.Get("findings").AsArray().All {
		list = append(list, f.AsMap().Get("code").AsString())
	}
	return list
}

func TestPreviewRunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{"kubeconfig", "imageDigest", "launchTemplateVersion", "rayClusterSpec", "environment"} {
		w.inputs[key] = property.New(property.Computed)
	}
	check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
	require.NoError(t, err)
	require.Empty(t, check.Failures, "unknown inputs are not rejected")
	created, err := w.server.Create(t.Context(), p.CreateRequest{Urn: w.urn, Properties: check.Inputs, DryRun: true})
	require.NoError(t, err)
	assert.True(t, created.Properties.Get("verdict").IsComputed())
	assert.Zero(t, w.submitted())
	assert.Empty(t, w.kube.Actions(), "not even a look at the cluster")
	assert.Empty(t, w.ray.Requests)
}

// What only the run decides is unknown in the preview of an update too.
func TestPreviewOfAnUpdateInventsNothing(t *testing.T) {
	t.Parallel()
	preview := func(w *world) property.Map {
		check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
		require.NoError(t, err)
		updated, err := w.server.Update(t.Context(), p.UpdateRequest{
			ID: w.id, Urn: w.urn, State: w.state, Inputs: check.Inputs, DryRun: true,
		})
		require.NoError(t, err)
		return updated.Properties
	}
	red := newWorld(t)
	red.fabric = synth.PluginMissing
	require.Error(t, red.up())
	code := newWorld(t)
	require.NoError(t, code.up())
	code.env.Code = []byte("other code")
	code.start()
	for name, w := range map[string]*world{"red": red, "other code": code} {
		outputs := preview(w)
		for _, output := range []string{"verdict", "findings", "ranks", "submissionId", "reportPath", "refusal", "attempt"} {
			assert.True(t, outputs.Get(output).IsComputed(), "%s: %s", name, output)
		}
		assert.Equal(t, "c", outputs.Get("clusterName").AsString())
		assert.Equal(t, 1, w.submitted())
	}
}

func TestTokenIsInNoFindingAndNoState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spoil = func(node, name string, text []byte) (string, []byte) {
		if name == "rank3.json" {
			text = []byte(strings.ReplaceAll(string(text), `"nonce":"`, `"nonce":"`+token))
		}
		return node, text
	}
	require.Error(t, w.up())
	assert.Contains(t, codes(w), "manifest-invalid")
	assert.NotContains(t, fmt.Sprint(w.state), token)
	require.NoError(t, filepath.WalkDir(w.evidence, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(t, string(text), token, path)
		return err
	}))
}

func TestWhatNeedsANewProof(t *testing.T) {
	t.Parallel()
	tests := []struct {
		property string
		value    property.Value
		jobs     int
	}{
		{"environment", property.New(map[string]property.Value{"NCCL_NET": property.New("AWS Libfabric")}), 2},
		{"imageDigest", property.New("other@" + digest), 2},
		{"launchTemplateVersion", property.New("2"), 2},
		{"amiRelease", property.New("1.36-2"), 2},
		{"chartVersions", property.New(map[string]property.Value{"kuberay-operator": property.New("1.7.0")}), 2},
		{"rayClusterSpec", property.New(`{"a":1}`), 2},
		{"deadlineSeconds", property.New(500.0), 1},
		{"startupSeconds", property.New(31.0), 1},
		{"hourlyUsd", property.New(12.0), 1},
		{"awsRegion", property.New("us-west-2"), 1},
		{"efaSecurityGroupId", property.New("sg-2"), 1},
		{"kubeconfig", property.New(kubeconfig + " ").WithSecret(true), 1},
	}
	for _, test := range tests {
		t.Run(test.property, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.up())
			w.inputs[test.property] = test.value
			assert.True(t, w.hasChanges())
			require.NoError(t, w.up())
			assert.Equal(t, test.jobs, w.submitted())
			assert.False(t, w.hasChanges(), "the change is stored")
			require.NoError(t, w.up())
			assert.Equal(t, test.jobs, w.submitted())
		})
	}
}

func TestMovingReplaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	for _, key := range []string{"clusterName", "namespace", "rayCluster"} {
		inputs := property.NewMap(w.inputs).Set(key, property.New("other"))
		diff, err := w.server.Diff(t.Context(), p.DiffRequest{ID: w.id, Urn: w.urn, State: w.state, Inputs: inputs})
		require.NoError(t, err)
		assert.Equal(t, p.UpdateReplace, diff.DetailedDiff[key].Kind)
		assert.True(t, diff.DeleteBeforeReplace)
	}
}

func TestOtherCodeNeedsANewProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.env.Code = []byte("other code")
	w.start()
	assert.True(t, w.hasChanges())
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted())
}
