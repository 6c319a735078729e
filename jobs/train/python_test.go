package train_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
)

// TestPython runs the training code's own tests in the environment that a
// rehearsal's image has: real torch, without Ray.
func TestPython(t *testing.T) {
	t.Parallel()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	python := filepath.Join(root, "bin", "ray-venv", "bin", "python")
	require.FileExists(t, python, "no Python environment with torch: run make setup")
	command := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
}
