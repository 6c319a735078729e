package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

// runCommand executes the root command and returns its output and error.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestListFaultsPrintsTheTable(t *testing.T) {
	t.Parallel()
	out, err := runCommand(t, "rehearse", "--list-faults")
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(out), "\n"), len(faults.Table()))
	assert.Contains(t, out, "no-self-egress\tgate\tpinned\tinconclusive\t2\t")
}

func TestBadFlagsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := runCommand(t, "rehearse", "--fault", "nope", "--speed", "-1", "--set", "steps",
		"--set", "job.steps=4", "--set", "job.Steps=4", "--set", "speed=9", "--root", t.TempDir(), "--dir", t.TempDir())
	require.Error(t, err)
	for _, want := range []string{`--fault "nope"`, "--speed -1", `--set "steps"`,
		"--set job.Steps=4: no such setting; did you mean job.steps?",
		"--set speed=9: no such setting; allowed: ", "make build"} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "--set job.steps=4")
}

func TestARehearsedAccountHasOneRegion(t *testing.T) {
	t.Parallel()
	_, err := runCommand(t, "rehearse", "--set", "awsRegion=eu-west-1", "--root", t.TempDir(),
		"--dir", t.TempDir())
	require.ErrorContains(t, err,
		"--set awsRegion=eu-west-1: the emulated AWS account has only the region us-east-2")
}

// A refused command leaves nothing behind.
func TestBadFlagsLeaveNoFolder(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	_, err := runCommand(t, "rehearse", "--fault", "nope")
	require.ErrorContains(t, err, `--fault "nope"`)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestACycleSaysWhatBecameOfItsFolder(t *testing.T) {
	t.Parallel()
	assert.Contains(t, afterwards("/kept", true), "--dir DIR keeps them")
	assert.Contains(t, afterwards("/kept", false), "are in /kept")
}

// TestSpeedIsANumber also tries NaN, which is not less than 0.
func TestSpeedIsANumber(t *testing.T) {
	t.Parallel()
	for _, speed := range []string{"NaN", "Inf", "-Inf", "-1"} {
		_, err := runCommand(t, "rehearse", "--speed="+speed, "--root", t.TempDir(), "--dir",
			t.TempDir())
		require.ErrorContains(t, err, "must be 0 or more", speed)
	}
}

// TestResultFilesAreTriedFirst requires a file that cannot be written to be refused before minutes
// of work.
func TestResultFilesAreTriedFirst(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent", "result")
	for _, flag := range []string{"--json", "--state", "--timeline"} {
		_, err := runCommand(t, "rehearse", flag, absent, "--root", t.TempDir(), "--dir",
			t.TempDir())
		require.ErrorContains(t, err, flag)
		assert.ErrorContains(t, err, absent)
	}
	kept := filepath.Join(t.TempDir(), "result")
	require.NoError(t, os.WriteFile(kept, []byte("old"), 0o600))
	_, err := runCommand(t, "rehearse", "--json", kept, "--root", t.TempDir(), "--dir", t.TempDir())
	require.Error(t, err)
	body, err := os.ReadFile(kept)
	require.NoError(t, err)
	assert.Equal(t, "old", string(body), "trying a file changes nothing in it")
}

func TestStepsNeedARehearsal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"rehearse", "up"}, {"rehearse", "stop"}, {"rehearse", "env"},
	} {
		_, err := runCommand(t, args...)
		require.ErrorIs(t, err, errNoDir, args)
		require.ErrorContains(t, err, strings.Join(args, " ")+": missing --dir DIR")
	}
	_, err := runCommand(t, "rehearse", "destroy", "--dir", t.TempDir())
	require.ErrorIs(t, err, rehearsal.ErrNotARehearsal)
}

func TestArgumentErrorsNameTheCommand(t *testing.T) {
	t.Parallel()
	_, err := runCommand(t, "rehearse", "lose-cluster", "--dir", t.TempDir())
	require.ErrorContains(t, err, "rehearse lose-cluster: missing argument NAME")
	_, err = runCommand(t, "rehearse", "upp", "--dir", t.TempDir())
	require.ErrorContains(t, err, "up")
	_, err = runCommand(t, "rehearse", "stop", "now", "--dir", t.TempDir())
	require.ErrorContains(t, err, `rehearse stop: unexpected argument "now"`)
}

// Stopping twice is no error and starts nothing.
func TestStopOfAStoppedRehearsalSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "REHEARSAL"), nil, 0o600))
	out, err := runCommand(t, "rehearse", "stop", "--dir", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "nothing to stop")
	_, err = runCommand(t, "rehearse", "env", "--dir", dir)
	require.ErrorIs(t, err, errNotRunning)
	require.ErrorContains(t, err, "rehearse preview --dir")
}
