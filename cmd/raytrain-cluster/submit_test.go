package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

// call runs the command and returns what it printed and its exit status.
func call(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	command := newRootCommand()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	status = exit.Status(&stderr, err)
	return stdout.String(), stderr.String(), status
}

func TestSubmitJudgesAJob(t *testing.T) {
	t.Parallel()
	server := raytest.New()
	t.Cleanup(server.Close)
	server.Token = "the-token"
	server.OnSubmit = func(job *rayapi.Job, _ rayapi.Submission) {
		job.Status = rayapi.Succeeded
		server.AddFile(job.DriverNodeID, "job-driver-"+job.SubmissionID+".log", []byte("RAY_AUTH_TOKEN=the-token\n"))
	}
	folder := t.TempDir()
	token, written := filepath.Join(folder, "token"), filepath.Join(folder, "report.json")
	require.NoError(t, os.WriteFile(token, []byte("the-token\n"), 0o600))
	out, errOut, status := call(t, "submit", "--address", server.URL()+"/", "--token-file", token,
		"--evidence-dir", filepath.Join(folder, "evidence"), "--format", "json", "--report", written,
		"--env", "A=b=c", "--", "python", "train.py", "--name", "a b")
	assert.Equal(t, 4, status, errOut)
	assert.Empty(t, out, "the report is in the file")
	text, err := os.ReadFile(written)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"verdict": "inconclusive"`)

	require.Len(t, server.Submissions, 1)
	sent := server.Submissions[0]
	assert.Equal(t, "python train.py --name 'a b'", sent.Entrypoint)
	assert.Equal(t, "b=c", sent.RuntimeEnv.EnvVars["A"])
	assert.Contains(t, errOut, "report: ")
	assert.Contains(t, errOut, "RAY_AUTH_TOKEN=[token removed]", "the job's output is shown")
	log, err := os.ReadFile(filepath.Join(folder, "evidence", sent.ID, "driver.log"))
	require.NoError(t, err)
	assert.Equal(t, "RAY_AUTH_TOKEN=[token removed]\n", string(log))

	_, errOut, status = call(t, "submit", "--address", server.URL(), "--token-file", token,
		"--evidence-dir", filepath.Join(folder, "evidence"), "--attach", sent.ID)
	assert.Equal(t, 4, status, errOut)
	assert.Len(t, server.Submissions, 1, "attaching submits nothing")
}

func TestSubmitRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	server := raytest.New()
	t.Cleanup(server.Close)
	server.Nodes = append(server.Nodes, rayapi.Node{ID: "w", State: rayapi.Alive, Resources: map[string]float64{"GPU": 4}})
	_, errOut, status := call(t, "submit", "--address", server.URL(), "--world-size", "8", "--", "python train.py")
	assert.Equal(t, 1, status)
	assert.Contains(t, errOut, "it has 4 GPUs, required: 8")
	_, errOut, _ = call(t, "submit", "--address", server.URL(), "--nodes", "2", "--", "python train.py")
	assert.Contains(t, errOut, "it has 1 nodes with GPUs, required: 2")
	_, errOut, _ = call(t, "submit", "--address", server.URL(), "--env", "NCCL_DEBUG=WARN", "--", "python train.py")
	assert.Contains(t, errOut, "allowed: INFO or TRACE")
	assert.Empty(t, server.Submissions)
}

func TestSubmitNamesEveryWrongFlag(t *testing.T) {
	t.Parallel()
	_, errOut, status := call(t, "submit", "--address", "ray://127.0.0.1:10001", "--format", "pdf", "--nodes", "-1",
		"--deadline", "-5s", "--env", "A", "--on-interrupt", "ask", "--", "true")
	assert.Equal(t, 1, status)
	for _, says := range []string{"--address", "--format", "--nodes", "--deadline", "--env", "--on-interrupt"} {
		assert.Contains(t, errOut, says)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--address", "http://127.0.0.1:1"}, "missing COMMAND"},
		{[]string{"--address", "http://127.0.0.1:1", "--attach", "x", "--", "true"}, "takes no COMMAND"},
		{[]string{"--kubeconfig", "x", "--", "true"}, "must be set together"},
		{[]string{"--address", "http://127.0.0.1:1", "--kubeconfig", "x", "--raycluster", "y", "--", "true"}, "not allowed with"},
		{[]string{"--kubeconfig", filepath.Join(t.TempDir(), "absent"), "--raycluster", "y", "--", "true"}, "no such file"},
	} {
		_, errOut, status := call(t, append([]string{"submit"}, test.args...)...)
		assert.Equal(t, 1, status)
		assert.Contains(t, errOut, test.says)
	}
}

func TestProgressShowsWhatChanges(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Unix(0, 0)
	show := newProgress(&out, func() time.Time { return now })
	for i := range 40 {
		now = time.Unix(int64(2*i), 0)
		show("job a RUNNING, " + now.Format("05") + " s")
	}
	show("job a SUCCEEDED")
	assert.Equal(t, 4, strings.Count(out.String(), "\n"), out.String())
}
