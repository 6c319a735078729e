package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/explain"
)

// raytrain runs the command line and returns what it prints and its status.
func raytrain(t *testing.T, stdin string, args ...string) (out string, status int, err error) {
	t.Helper()
	var b bytes.Buffer
	root := newRootCommand()
	root.SetOut(&b)
	root.SetErr(&b)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	var e *exit.Error
	switch {
	case errors.As(err, &e):
		return b.String(), e.Code, err
	case err != nil:
		return b.String(), 1, err
	}
	return b.String(), 0, nil
}

// logs writes the logs of a job of 2 nodes and 16 ranks on the fabric.
func logs(t *testing.T, fabric synth.Fabric) (dir string) {
	t.Helper()
	run := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 8, Channels: 4, Hosts: synth.Distinct, Groups: synth.World, Launcher: synth.Plain,
		Stamp: synth.NoStamp, Layout: synth.PerProcess, Text: synth.Clean, Fabric: fabric,
		Damage: synth.Whole, Expect: synth.Nothing,
	}
	files, _ := run.Generate()
	dir = t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
	return dir
}

// TestVerdictEndsOnASignal waits at an input that nobody writes to.
func TestVerdictEndsOnASignal(t *testing.T) {
	t.Parallel()
	in, keep := io.Pipe()
	t.Cleanup(func() { require.NoError(t, keep.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	root := newRootCommand()
	root.SetIn(in)
	root.SetArgs([]string{"verdict", "-"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(10 * time.Second):
		t.Fatal("the command still waits for its input")
	}
}

// TestVerdictExitStatuses holds the contract that scripts rely on.
func TestVerdictExitStatuses(t *testing.T) {
	t.Parallel()
	efa := logs(t, synth.OnEFA)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"efa", []string{efa}, 0, "verdict: efa (16 of 16 ranks in evidence, 2 nodes)"},
		{"efa as expected", []string{"--world-size", "16", "--nodes", "2", "--completed", "--provider", "efa", efa}, 0, "verdict: efa"},
		{"more ranks expected", []string{"--world-size", "32", efa}, 4, "world-size-mismatch"},
		{"more nodes expected", []string{"--nodes", "3", efa}, 4, "nodes-mismatch"},
		{"not-efa", []string{logs(t, synth.SocketForced)}, 2, "verdict: not-efa"},
		{"mixed", []string{logs(t, synth.SocketOneRankConnected)}, 3, "verdict: mixed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, status, _ := raytrain(t, "", append([]string{"verdict"}, c.args...)...)
			assert.Equal(t, c.status, status, out)
			assert.Contains(t, out, c.says)
		})
	}
}

func TestVerdictReadsStandardInput(t *testing.T) {
	t.Parallel()
	dir := logs(t, synth.OnEFA)
	var all strings.Builder
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		all.Write(data)
	}
	out, status, _ := raytrain(t, all.String(), "verdict", "-")
	assert.Equal(t, 0, status, out)
	out, status, _ = raytrain(t, "", "verdict", "-")
	assert.Equal(t, 4, status, "nothing is no proof: %s", out)
}

// TestVerdictFormats reads each format back as its readers would.
func TestVerdictFormats(t *testing.T) {
	t.Parallel()
	dir := logs(t, synth.SocketForced)
	out, status, _ := raytrain(t, "", "verdict", "--format", "json", dir)
	assert.Equal(t, 2, status)
	var report struct {
		Verdict   string
		WorldSize *int
		Findings  []struct{ Code string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, "not-efa", report.Verdict)
	require.NotNil(t, report.WorldSize)
	assert.Equal(t, 16, *report.WorldSize)
	assert.NotEmpty(t, report.Findings)
	for format, start := range map[string]string{
		"html": "<!doctype html>", "junit": "<?xml", "markdown": "### nccl verdict: `not-efa`",
	} {
		out, status, _ := raytrain(t, "", "verdict", "--format", format, dir)
		assert.Equal(t, 2, status)
		assert.True(t, strings.HasPrefix(strings.ToLower(out), start), "%s starts %.40q", format, out)
	}
}

// TestVerdictIgnoresItsOwnReports judges a folder again after reports were
// written into it, as the gate does: they quote lines out of their order.
func TestVerdictIgnoresItsOwnReports(t *testing.T) {
	t.Parallel()
	for fabric, want := range map[synth.Fabric]int{synth.OnEFA: 0, synth.SocketForced: 2} {
		dir := logs(t, fabric)
		for format, name := range map[string]string{"text": "report.txt", "json": "report.json"} {
			out, status, _ := raytrain(t, "", "verdict", "--proof", "--format", format, dir)
			require.Equal(t, want, status)
			require.Contains(t, out, "NCCL INFO Channel")
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(out), 0o600))
		}
		out, status, _ := raytrain(t, "", "verdict", dir)
		assert.Equal(t, want, status, out)
	}
}

// TestVerdictUsageErrors end with 1, and say what would be right.
func TestVerdictUsageErrors(t *testing.T) {
	t.Parallel()
	dir := logs(t, synth.OnEFA)
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no path", nil, "verdict: missing argument PATH...\nusage: raytrain verdict [flags] PATH..."},
		{"a path that is not there", []string{filepath.Join(dir, "none")}, "no such file"},
		{"one of many that is not there", []string{dir, filepath.Join(dir, "none")}, "no such file"},
		{"an empty folder", []string{t.TempDir()}, "no files found"},
		{"format", []string{"--format", "yaml", dir}, `--format "yaml": must be one of text|json|html|markdown|junit`},
		{"world size", []string{"--world-size", "-1", dir}, "--world-size -1"},
		{"nodes", []string{"--nodes", "-2", dir}, "--nodes -2"},
		{"more nodes than ranks", []string{"--world-size", "2", "--nodes", "9", dir}, "--nodes 9: must be at most --world-size 2"},
		{"no provider", []string{"--provider", "", dir}, `--provider ""`},
		{"the first of two", []string{"--world-size", "-1", "--format", "yaml", dir}, "--world-size -1"},
		{"the second of two", []string{"--world-size", "-1", "--format", "yaml", dir}, `--format "yaml"`},
		{"unknown flag", []string{"--strict", dir}, "unknown flag: --strict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, status, err := raytrain(t, "", append([]string{"verdict"}, c.args...)...)
			assert.Equal(t, 1, status)
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, out, "verdict: ", "an error is never a verdict")
		})
	}
}

func TestVerdictExplainsFindings(t *testing.T) {
	t.Parallel()
	for _, code := range explain.Codes() {
		out, status, err := raytrain(t, "", "verdict", "--explain", code)
		require.NoError(t, err)
		assert.Equal(t, 0, status)
		assert.True(t, strings.HasPrefix(out, code+" ("), out)
		for _, part := range []string{"\nMeaning:\n  ", "\nWhy it happens:\n  ", "\nNext:\n  "} {
			assert.Contains(t, out, part, code)
		}
	}
	_, status, err := raytrain(t, "", "verdict", "--explain", "never-connekted")
	assert.Equal(t, 1, status)
	require.ErrorContains(t, err, `flag --explain "never-connekted": no such finding: must be one of`)
	require.ErrorContains(t, err, " never-connected")
}

func TestRehearseSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	err := become(filepath.Join(t.TempDir(), rehearseProgram), "rehearse", nil)
	require.ErrorContains(t, err, "make build")
}
