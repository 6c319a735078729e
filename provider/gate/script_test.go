package gate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// newScriptWorld is a stack whose job is a user's own script in a folder, which it returns.
func newScriptWorld(t *testing.T) (*world, string) {
	t.Helper()
	w := newWorld(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "train.py"), []byte("print(1)"), 0o600))
	w.inputs["entrypoint"] = property.New("python train.py --name 'a b'")
	w.inputs["workingDir"] = property.New(folder)
	w.useFiles(folder)
	w.ray.OnSubmit = func(job *rayapi.Job, submission rayapi.Submission) {
		w.spoil = onlyLogs
		w.runJob(job, submission)
	}
	return w, folder
}

// useFiles does what NewTrainingJob does.
func (w *world) useFiles(folder string) {
	w.t.Helper()
	digest, err := script.Digest(folder)
	require.NoError(w.t, err)
	w.inputs["workingDirDigest"] = property.New(digest)
}

// onlyLogs keeps NCCL's logs of what the built-in training leaves.
func onlyLogs(node, name string, text []byte) (string, []byte) {
	if strings.HasSuffix(name, ".json") {
		return node, nil
	}
	return node, text
}

func TestAScriptIsJudged(t *testing.T) {
	t.Parallel()
	w, folder := newScriptWorld(t)
	requirement := "einops==0.8.1 --hash=sha256:" + strings.Repeat("0", 64)
	w.inputs["pip"] = property.New([]property.Value{property.New(requirement)})
	require.NoError(t, w.up())
	assert.Equal(t, "efa", w.text("verdict"))
	assert.InDelta(t, 8, w.state.Get("worldSize").AsNumber(), 0)

	sent := w.ray.Submissions[0]
	assert.Contains(t, sent.Entrypoint, "timeout --kill-after=30 420 sh -c 'python train.py")
	assert.Equal(t, script.Hook, sent.RuntimeEnv.SetupHook)
	require.Len(t, sent.RuntimeEnv.PyModules, 1)
	require.NotNil(t, sent.RuntimeEnv.Pip)
	assert.Equal(t, []string{requirement}, sent.RuntimeEnv.Pip.Packages)
	assert.Contains(t, sent.RuntimeEnv.Pip.InstallOptions, "--require-hashes")
	assert.Equal(t, "Libfabric", sent.RuntimeEnv.EnvVars["NCCL_NET"])
	assert.NotContains(t, sent.RuntimeEnv.EnvVars, "RAYTRAIN_CONFIG")
	files, err := script.Pack(folder)
	require.NoError(t, err)
	assert.Equal(t, files.Zip, w.ray.Packages[strings.TrimPrefix(sent.RuntimeEnv.WorkingDir, "gcs://")])

	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted(), "a proven script does not run again")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "train.py"), []byte("print(2)"), 0o600))
	w.useFiles(folder)
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted(), "other files need another proof")
}

func TestAScriptWithoutNCCLDoesNotPass(t *testing.T) {
	t.Parallel()
	w, _ := newScriptWorld(t)
	w.ray.OnSubmit = func(job *rayapi.Job, submission rayapi.Submission) {
		text, err := json.Marshal(map[string]string{
			"submissionId": job.SubmissionID, "nonce": submission.RuntimeEnv.EnvVars["RAYTRAIN_NONCE"], "node": "worker0",
		})
		require.NoError(t, err)
		w.ray.AddFile("worker0", "raytrain/"+job.SubmissionID+"/node.worker0.json", text)
		job.Status = rayapi.Succeeded
	}
	require.ErrorContains(t, w.up(), "no process used NCCL")
	assert.Equal(t, "inconclusive", w.text("verdict"))
}

func TestFilesThatChangeDuringTheUpdateAreRefused(t *testing.T) {
	t.Parallel()
	w, folder := newScriptWorld(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "train.py"), []byte("print(2)"), 0o600))
	require.ErrorContains(t, w.up(), "the files changed while the update ran")
	assert.Zero(t, w.submitted())
}

func TestCheckOfAScript(t *testing.T) {
	t.Parallel()
	w, _ := newScriptWorld(t)
	w.inputs["training"] = property.New(map[string]property.Value{
		"model": property.New(""), "steps": property.New(0.0), "batchSize": property.New(0.0),
		"sequenceLength": property.New(0.0), "learningRate": property.New(0.0), "seed": property.New(0.0),
		"device": property.New("cuda"), "wrapMinParameters": property.New(0.0), "maxFailures": property.New(0.0),
	})
	check := func() []p.CheckFailure {
		response, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
		require.NoError(t, err)
		return response.Failures
	}
	assert.Empty(t, check(), "the built-in training's values are not used")
	w.inputs["pip"] = property.New([]property.Value{property.New("einops==0.8.1")})
	require.Len(t, check(), 1)
	assert.Contains(t, check()[0].Reason, "no --hash=sha256")
	delete(w.inputs, "pip")
	w.inputs["workingDirDigest"] = property.New("")
	require.Len(t, check(), 1)
	assert.Contains(t, check()[0].Reason, "NewTrainingJob")
}
