package train_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
)

// python is a command of the environment that a rehearsal's image has: real torch.
func python(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	tools, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), filepath.Join(tools.RayVenv, "bin", "python"), args...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return command
}

// TestPython runs the training code's own tests, without Ray.
func TestPython(t *testing.T) {
	t.Parallel()
	output, err := python(t, "-m", "unittest", "discover", "-s", "tests", "-t", ".").CombinedOutput()
	require.NoError(t, err, string(output))
}
