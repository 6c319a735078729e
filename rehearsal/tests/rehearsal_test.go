// Package rehearsal runs the built command on the emulated AWS account, as a user would: whole
// cycles, faults, and the steps of a kept rehearsal.
package rehearsal

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cloudformation"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cycle"
)

// root returns the folder of the checkout.
func root(t *testing.T) string {
	t.Helper()
	found, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	return found
}

// stopAtEnd stops the rehearsal when the test ends, whose own context has ended by then.
func stopAtEnd(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		out, err := exec.Command(filepath.Join(root(t), "bin", "raytrain"), "rehearse", "stop",
			"--dir", dir).CombinedOutput()
		require.NoError(t, err, string(out))
	})
}

// raytrain runs bin/raytrain and returns its exit status and output. A missing toolchain fails the
// test: run `make build`.
func raytrain(t *testing.T, args ...string) (int, string) {
	t.Helper()
	tools, err := toolchain.Locate(root(t))
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), tools.Raytrain, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	t.Logf("raytrain %s\n%s", strings.Join(args, " "), out)
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// runCycle runs one whole rehearsal and returns its result and exported state.
func runCycle(t *testing.T, args ...string) (cycle.Result, string) {
	t.Helper()
	dir := t.TempDir()
	result, state := filepath.Join(dir, "result.json"), filepath.Join(dir, "state.json")
	exit, out := raytrain(t, append([]string{"rehearse", "--json", result, "--state", state,
		"--timeline", filepath.Join(dir, "trace.json")}, args...)...)
	body, err := os.ReadFile(result)
	require.NoError(t, err, out)
	var got cycle.Result
	require.NoError(t, json.Unmarshal(body, &got))
	assert.Equal(t, got.Exit, exit, "the exit status and the result must agree")
	assert.True(t, got.Rehearsed)
	require.NotNil(t, got.AccountEmpty)
	assert.True(t, *got.AccountEmpty, "destroy must empty the account")
	exported, err := os.ReadFile(state)
	require.NoError(t, err)
	trace, err := os.ReadFile(filepath.Join(dir, "trace.json"))
	require.NoError(t, err)
	assert.Contains(t, string(trace), `"rehearsed": true`)
	return got, string(exported)
}

func TestGreenCycle(t *testing.T) {
	got, state := runCycle(t)
	assert.Equal(t, 0, got.Exit)
	assert.Equal(t, "efa", got.Verdict)
	assert.Empty(t, got.Phase)
	require.NotNil(t, got.HourlyUSD)
	assert.InDelta(t, 9.6712, *got.HourlyUSD, 1e-6)
	for _, want := range []string{
		`"aws:eks/cluster:Cluster"`, `"aws:ec2/launchTemplate:LaunchTemplate"`, `"aws:ec2/placementGroup:PlacementGroup"`,
		`"kubernetes:ray.io/v1:RayCluster"`, `"kubernetes:helm.sh/v3:Release"`, `"raytrain:index:TrainingJob"`,
		`"interfaceType": "efa"`, `"nvidia.com/gpu.present": "true"`, `"AL2023_x86_64_NVIDIA"`, `"g6.12xlarge"`,
	} {
		assert.Contains(t, state, want)
	}
	requireValidForAWS(t, state)
}

// requireValidForAWS checks the AWS resources of a state against AWS's own resource schemas, which
// the emulated account does not know.
func requireValidForAWS(t *testing.T, state string) {
	t.Helper()
	template, err := cloudformation.FromState([]byte(state))
	require.NoError(t, err)
	judges := filepath.Join(root(t), "bin")
	findings, err := cloudformation.Lint(
		t.Context(), filepath.Join(judges, "cloud-judges", "bin", "cfn-lint"), template, "us-east-2")
	require.NoError(t, err)
	assert.Empty(t, findings)
	findings, err = cloudformation.Checkov(
		t.Context(), filepath.Join(judges, "checkov", "bin", "checkov"), template)
	require.NoError(t, err)
	assert.Empty(t, findings)
}

// TestFastFaults runs the fast faults of the table on one standing stack; --all-faults runs all.
func TestFastFaults(t *testing.T) {
	exit, out := raytrain(t, "rehearse", "--all-faults", "--fast")
	assert.Equal(t, 0, exit)
	for _, want := range []string{
		"provider-tcp: verdict not-efa, exit 2", "submit-reply-lost: verdict efa, exit 0",
		"kill-submitted: verdict efa, exit 0", "tcp-fallback: verdict not-efa, exit 2", "0 failed",
	} {
		assert.Contains(t, out, want)
	}
}

func TestMissingQuotaIsRefusedBeforeAnythingExists(t *testing.T) {
	got, _ := runCycle(t, "--fault", "quota")
	assert.Equal(t, 2, got.Exit)
	assert.Equal(t, "none", got.Verdict)
	assert.Equal(t, "preview", got.Phase)
	require.NotEmpty(t, got.Findings)
	assert.Contains(t, got.Findings[0].Text, "request-service-quota-increase")
}

// TestKeptRehearsal runs one stack through all states: green, unchanged, changed and interrupted,
// without its job, killed, and destroyed after its cluster is gone.
func TestKeptRehearsal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	stopAtEnd(t, dir)
	exit, out := raytrain(t, "rehearse", "up", "--dir", dir)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "verdict (rehearsed): efa")
	require.Equal(t, []string{"a1"}, attempts(t, dir))

	exit, out = raytrain(t, "rehearse", "up", "--dir", dir)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "up: no changes")
	require.Equal(t, []string{"a1"}, attempts(t, dir), "an unchanged green stack runs no job")

	const changed = "job.steps=5"
	k := &kept{dir: dir}
	interruptedUpIsAdopted(t, k, changed)
	disabledJobRunsAgain(t, k, changed)

	own := filepath.Join(t.TempDir(), "kubeconfig")
	pods, err := k.shell(t,
		"export KUBECONFIG="+own+" && aws eks update-kubeconfig --name ray-train-efa && kubectl get pods --all-namespaces && pulumi stack ls")
	require.NoError(t, err, pods)
	assert.Contains(t, pods, "train-head")
	assert.Contains(t, pods, "rehearsal")

	// With the cluster deleted by hand, destroy names one command, and after that command it
	// empties the account.
	exit, _ = raytrain(t, "rehearse", "lose-cluster", "--dir", dir, "ray-train-efa")
	require.Equal(t, 0, exit)
	exit, out = raytrain(t, "rehearse", "destroy", "--dir", dir, "--set", changed)
	require.Equal(t, 3, exit)
	assert.Contains(t, out, "PULUMI_K8S_DELETE_UNREACHABLE")
	t.Setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
	exit, _ = raytrain(t, "rehearse", "refresh", "--dir", dir, "--set", changed)
	require.Equal(t, 0, exit)
	exit, out = raytrain(t, "rehearse", "destroy", "--dir", dir, "--set", changed)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "emulated AWS account: empty")
}

// interruptedUpIsAdopted changes the proof and interrupts the update while its job runs, as Ctrl-C
// does. It must end within seconds, and the next one must take over the same attempt.
func interruptedUpIsAdopted(t *testing.T, k *kept, changed string) {
	t.Helper()
	before := k.newest(t)
	up := start(t, "rehearse", "up", "--dir", k.dir, "--set", changed)
	cut := k.inMidJob(t, up, before.Number+1)
	require.NoError(t, up.command.Process.Signal(os.Interrupt))
	exit, out := up.wait(t, patience)
	assert.Equal(t, 2, exit)
	assert.Contains(t, out, "interrupted before the verdict")
	assert.Equal(t, cut, k.newest(t), "the next update must find the attempt unsettled")

	exit, out = raytrain(t, "rehearse", "up", "--dir", k.dir, "--set", changed)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "verdict (rehearsed): efa")
	cut.Settled = true
	assert.Equal(t, cut, k.newest(t), "the job that ran on is the one that is judged")
	assert.Len(t, attempts(t, k.dir), 2, "a changed proof runs exactly one new job")
}

// disabledJobRunsAgain disables and enables the job, which runs a new attempt. Its update is
// killed, engine and provider at once, and the next one takes over.
func disabledJobRunsAgain(t *testing.T, k *kept, changed string) {
	t.Helper()
	before := k.newest(t)
	exit, out := raytrain(t, "rehearse", "up", "--dir", k.dir, "--set", changed, "--set",
		"job.enabled=false")
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "verdict (rehearsed): none")

	up := start(t, "rehearse", "up", "--dir", k.dir, "--set", changed)
	cut := k.inMidJob(t, up, before.Number+1)
	killEngine(t, up)
	exit, _ = up.wait(t, patience)
	assert.NotEqual(t, 0, exit)

	exit, out = raytrain(t, "rehearse", "up", "--dir", k.dir, "--set", changed)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "verdict (rehearsed): efa")
	cut.Settled = true
	assert.Equal(t, cut, k.newest(t), "the job that ran on is the one that is judged")
	assert.Len(t, attempts(t, k.dir), 3)
}

// patience is how long an interrupted command may take to end. It takes seconds; the rest is for
// busy machines.
const patience = time.Minute

// attempts returns the attempt suffixes of the evidence folders.
func attempts(t *testing.T, dir string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "evidence", "gate-*-a*"))
	require.NoError(t, err)
	var suffixes []string
	for _, folder := range folders {
		suffixes = append(suffixes, folder[strings.LastIndex(folder, "-")+1:])
	}
	return suffixes
}
