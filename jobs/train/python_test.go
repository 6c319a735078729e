package train_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
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

// checks is the environment with ruff, mypy and pytest.
func checks(t *testing.T) (root, folder string) {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	folder = filepath.Join(root, "bin", "python-checks")
	require.FileExists(t, filepath.Join(folder, "bin", "ruff"), "run make judges")
	return root, folder
}

// TestPython runs the training code's own tests with real Ray and torch. pytest comes from another
// environment, so that this one stays that of the rehearsal's image.
func TestPython(t *testing.T) {
	t.Parallel()
	_, folder := checks(t)
	packages, err := filepath.Glob(filepath.Join(folder, "lib", "python3*", "site-packages"))
	require.NoError(t, err)
	require.Len(t, packages, 1)
	command := python(t, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--durations", "3", "tests")
	command.Env = append(command.Env, "PYTHONPATH="+packages[0])
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	t.Log(string(output))
}

// TestPythonIsClean checks all Python that runs in a user's job, and the examples.
func TestPythonIsClean(t *testing.T) {
	t.Parallel()
	root, folder := checks(t)
	for _, arguments := range [][]string{
		{"ruff", "check", "--no-cache", "jobs"},
		{"ruff", "format", "--no-cache", "--check", "jobs"},
		// It reads the types of Ray and torch.
		{"mypy", "--python-executable", "bin/ray-venv/bin/python", "jobs/train", "jobs/script"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(folder, "bin", arguments[0]), arguments[1:]...)
		command.Dir = root
		output, err := command.CombinedOutput()
		assert.NoError(t, err, "%q: %s", arguments, output)
	}
}
