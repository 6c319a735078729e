package standin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkout returns the root of the checkout that this test runs in.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	return root
}

func TestFolderHoldsWhatPythonLoadsByItself(t *testing.T) {
	t.Parallel()
	assert.FileExists(t, filepath.Join(Folder(checkout(t)), "sitecustomize.py"))
}

// TestPythonKnowsEveryDefect compares the constants of this package with the names in defects.py.
func TestPythonKnowsEveryDefect(t *testing.T) {
	t.Parallel()
	python := filepath.Join(Folder(checkout(t)), "nccl_stand_in", "defects.py")
	body, err := os.ReadFile(python)
	require.NoError(t, err)
	var there []string
	members := regexp.MustCompile(`(?m)^    [A-Z0-9_]+ = "([a-z0-9-]+)"`)
	for _, found := range members.FindAllSubmatch(body, -1) {
		there = append(there, string(found[1]))
	}
	source, err := os.ReadFile("standin.go")
	require.NoError(t, err)
	var here []string
	for _, found := range regexp.MustCompile(`Defect = "([a-z0-9-]+)"`).FindAllSubmatch(source, -1) {
		here = append(here, string(found[1]))
	}
	require.NotEmpty(t, here)
	assert.Equal(t, there, here)
}

func TestANodeHasAtMostOneDefect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, WriteDefect(dir, ""), "a node without a defect")
	require.NoError(t, WriteDefect(dir, Hang))
	require.NoError(t, WriteDefect(dir, Crash))
	body, err := os.ReadFile(filepath.Join(dir, "defect"))
	require.NoError(t, err)
	assert.Equal(t, "crash", string(body))
	require.NoError(t, WriteDefect(dir, ""))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestPython runs the stand-in's own tests. The real judge then reads what the eight ranks of each
// scenario wrote: writer and judge share no code.
func TestPython(t *testing.T) {
	t.Parallel()
	tools, err := toolchain.LocateInstalled(checkout(t))
	require.NoError(t, err)
	logs := t.TempDir()
	command := exec.CommandContext(t.Context(), filepath.Join(tools.RayVenv, "bin", "python"),
		"-m", "unittest", "discover", "-s", "tests", "-t", ".")
	command.Env = append(os.Environ(), "PYTHONPATH="+Folder(tools.Root)+":.",
		"PYTHONDONTWRITEBYTECODE=1", "KEEP_NCCL_LOGS="+logs)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))

	tests := []struct {
		name      string
		completed bool
		want      report.Verdict
	}{
		{"efa", true, report.EFA},
		{"silent_fallback", true, report.NotEFA},
		{"broken_device_falls_back", true, report.NotEFA},
		{"pinned_abort", false, report.Inconclusive},
		{"no_self_egress_hangs", false, report.Inconclusive},
		{"one_rank_on_sockets_floods_and_hangs", false, report.Mixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources, err := nccl.Collect([]string{filepath.Join(logs, test.name)}, nil)
			require.NoError(t, err)
			result, err := nccl.Judge(context.Background(), sources, nccl.Options{
				WorldSize: 8, Nodes: 2, Provider: "efa", Completed: test.completed,
			})
			require.NoError(t, err)
			assert.Equal(t, test.want, result.Verdict, "%+v", result.Findings)
			assert.True(t, result.Rehearsed, "the stand-in marks its files")
		})
	}
}
