package freshness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
)

const module = "github.com/ray-train-efa/ray-train-efa"

// TestFoldersAreWhatTheCompilerReads keeps the list true: a folder that is
// missing from it would let a stale binary serve.
func TestFoldersAreWhatTheCompilerReads(t *testing.T) {
	t.Parallel()
	command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./provider")
	command.Dir = filepath.Join("..", "..")
	output, err := command.Output()
	require.NoError(t, err)
	want := []string{"jobs/train/raytrain_job"} // embedded, not imported
	for line := range strings.Lines(string(output)) {
		if folder, ok := strings.CutPrefix(strings.TrimSpace(line), module+"/"); ok {
			want = append(want, folder)
		}
	}
	assert.ElementsMatch(t, want, freshness.Folders())
}

// checkout makes a small copy of the repository's shape.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module "+module+"\n")
	write(t, filepath.Join(root, "go.sum"), "")
	for _, folder := range freshness.Folders() {
		write(t, filepath.Join(root, folder, "a.go"), "package a\n")
	}
	write(t, filepath.Join(root, "provider", "PulumiPlugin.yaml"), "runtime: go\n")
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	binary := filepath.Join(root, "provider", "pulumi-resource-raytrain")
	built, err := freshness.Hash(root)
	require.NoError(t, err)
	require.NoError(t, freshness.Check(binary, built))

	write(t, filepath.Join(root, "transport", "a_test.go"), "package a\n")
	require.NoError(t, freshness.Check(binary, built), "tests do not go into the binary")

	write(t, filepath.Join(root, "transport", "a.go"), "package a // judge otherwise\n")
	require.ErrorIs(t, freshness.Check(binary, built), freshness.ErrStale)
	require.NoError(t, freshness.Check(filepath.Join(t.TempDir(), "x"), built), "an installed release has no sources beside it")
	require.NoError(t, freshness.Check(binary, ""), "compiled just now by Pulumi's host")
}

func TestEachFolderCounts(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	before, err := freshness.Hash(root)
	require.NoError(t, err)
	for _, folder := range append(freshness.Folders(), ".") {
		path := filepath.Join(root, folder, "a.go")
		if folder == "." {
			path = filepath.Join(root, "go.sum")
		}
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		write(t, path, "package changed\n")
		after, err := freshness.Hash(root)
		require.NoError(t, err)
		assert.NotEqual(t, before, after, "%s", path)
		write(t, path, string(old))
	}
}
