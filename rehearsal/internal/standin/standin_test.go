package standin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
