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

func locate(t *testing.T) toolchain.Toolchain {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	tools, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	return tools
}

// python is a command of the environment that a rehearsal's image has: real torch.
func python(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(locate(t).RayVenv, "bin", "python"), args...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return command
}

// TestPython runs the training code's own tests with real Ray and torch. pytest and transformers
// come from other environments, so that this one stays that of the rehearsal's image.
func TestPython(t *testing.T) {
	t.Parallel()
	tools := locate(t)
	checks, err := tools.Packages("python-checks")
	require.NoError(t, err)
	transformers, err := tools.Packages("transformers")
	require.NoError(t, err)
	command := python(t, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--durations", "3", "tests")
	command.Env = append(command.Env, "PYTHONPATH="+checks+":"+transformers)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	t.Log(string(output))
}

// TestPythonIsClean checks all Python that runs in a user's job, and the examples.
func TestPythonIsClean(t *testing.T) {
	t.Parallel()
	tools := locate(t)
	for _, arguments := range [][]string{
		{"ruff", "check", "--no-cache", "jobs", "examples"},
		{"ruff", "format", "--no-cache", "--check", "jobs", "examples"},
		// It reads the types of Ray and torch.
		{"mypy", "--python-executable", "bin/ray-venv/bin/python", "jobs/train", "jobs/script"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(tools.Bin, "python-checks", "bin", arguments[0]), arguments[1:]...)
		command.Dir = tools.Root
		output, err := command.CombinedOutput()
		assert.NoError(t, err, "%q: %s", arguments, output)
	}
}
