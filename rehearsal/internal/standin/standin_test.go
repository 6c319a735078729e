package standin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/nccl"
)

func TestFolderHoldsWhatPythonLoadsByItself(t *testing.T) {
	t.Parallel()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(Folder(root), "sitecustomize.py"))
}

// TestPython runs the stand-in's own tests, then has the real judge read what
// each story's eight ranks wrote: writer and judge know nothing of one another.
func TestPython(t *testing.T) {
	t.Parallel()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	python := filepath.Join(root, "bin", "ray-venv", "bin", "python")
	require.FileExists(t, python, "no Python environment with torch: run make setup")
	logs := t.TempDir()
	command := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	command.Env = append(os.Environ(), "PYTHONPATH="+Folder(root)+":.", "PYTHONDONTWRITEBYTECODE=1", "KEEP_NCCL_LOGS="+logs)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))

	tests := []struct {
		name      string
		completed bool
		want      nccl.Verdict
	}{
		{"efa", true, nccl.EFA},
		{"silent_fallback", true, nccl.NotEFA},
		{"broken_device_falls_back", true, nccl.NotEFA},
		{"pinned_abort", false, nccl.Inconclusive},
		{"no_self_egress_hangs", false, nccl.Inconclusive},
		{"one_rank_on_sockets_floods_and_hangs", false, nccl.Mixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources, err := nccl.Collect([]string{filepath.Join(logs, test.name)}, nil)
			require.NoError(t, err)
			report, err := nccl.Judge(context.Background(), sources, nccl.Options{
				WorldSize: 8, Nodes: 2, Provider: "efa", Completed: test.completed,
			})
			require.NoError(t, err)
			assert.Equal(t, test.want, report.Verdict, "%+v", report.Findings)
		})
	}
}
