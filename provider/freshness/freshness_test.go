package freshness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
)

const module = "github.com/ray-train-efa/ray-train-efa"

// A folder that is missing from the list would let a stale binary serve.
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
	slices.Sort(want)
	folders, err := freshness.Folders(command.Dir)
	require.NoError(t, err)
	assert.Equal(t, want, folders)
}

// checkout makes a small copy of the repository's shape.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module "+module+"\n")
	write(t, filepath.Join(root, "go.sum"), "")
	write(t, filepath.Join(root, "provider", "a.go"), "package a\n\nimport _ \""+module+"/rayapi\"\n")
	write(t, filepath.Join(root, "rayapi", "a.go"), "package a\n")
	write(t, filepath.Join(root, "jobs", "train", "raytrain_job", "models.json"), "{}\n")
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

	write(t, filepath.Join(root, "rayapi", "a_test.go"), "package a\n")
	require.NoError(t, freshness.Check(binary, built), "tests do not go into the binary")

	write(t, filepath.Join(root, "rayapi", "a.go"), "package a // judge otherwise\n")
	require.ErrorIs(t, freshness.Check(binary, built), freshness.ErrStale)
	require.NoError(t, freshness.Check(filepath.Join(t.TempDir(), "x"), built), "an installed release has no sources next to it")
	require.NoError(t, freshness.Check(binary, ""), "compiled just now by Pulumi's host")
}

func TestEachFolderCounts(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	before, err := freshness.Hash(root)
	require.NoError(t, err)
	for _, file := range []string{"go.sum", "provider/a.go", "rayapi/a.go", "jobs/train/raytrain_job/models.json"} {
		path := filepath.Join(root, file)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		old := string(text)
		write(t, path, old+" ")
		after, err := freshness.Hash(root)
		require.NoError(t, err)
		assert.NotEqual(t, before, after, "%s", path)
		write(t, path, old)
	}
}
