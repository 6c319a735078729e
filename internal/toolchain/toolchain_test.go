package toolchain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
)

// touch makes an empty file and the folders above it.
func touch(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o755))
}

// checkout lays out what set-up makes: a cache with a Python environment, and a checkout that links
// to it.
func checkout(t *testing.T) (root, cache string) {
	t.Helper()
	root, cache = t.TempDir(), t.TempDir()
	touch(t, filepath.Join(cache, "ray-1", "venv", "bin", "ray"))
	for _, name := range []string{
		"pulumi", "kubernetes", "kubectl", "kubelet", "kuberay-operator", "kuberay-crds", "pulumi-resource-eks", "pulumi-resource-kubernetes",
	} {
		touch(t, filepath.Join(root, "bin", name))
	}
	require.NoError(t, os.Symlink(filepath.Join(cache, "ray-1", "venv"), filepath.Join(root, "bin", "ray-venv")))
	return root, cache
}

func TestLocateInstalledFindsThePartsAndTheirCache(t *testing.T) {
	root, cache := checkout(t)
	found, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	assert.Equal(t, cache, found.Cache)
	assert.Equal(t, filepath.Join(root, "bin", "kubernetes"), found.Kubernetes.Binary)
	assert.Equal(t, filepath.Join(root, "bin", "ray-venv"), found.RayVenv)
}

func TestLocateNamesWhatIsMissing(t *testing.T) {
	root, cache := checkout(t)
	_, err := toolchain.Locate(root)
	require.ErrorIs(t, err, toolchain.ErrMissing)
	assert.ErrorContains(t, err, "no bin/raytrain, bin/raytrain-rehearse, bin/pulumi-resource-aws, provider/pulumi-resource-raytrain: run make build")

	// A cache that was cleaned leaves links that point nowhere.
	require.NoError(t, os.RemoveAll(cache))
	_, err = toolchain.LocateInstalled(root)
	require.ErrorIs(t, err, toolchain.ErrMissing)
	assert.ErrorContains(t, err, "no bin/ray-venv/bin/ray: run make build")
}

func TestFindRootSkipsModulesOfTools(t *testing.T) {
	root := t.TempDir()
	tool := filepath.Join(root, "tools", "x")
	require.NoError(t, os.MkdirAll(tool, 0o755))
	for folder, module := range map[string]string{
		root: "github.com/ray-train-efa/ray-train-efa", tool: "github.com/ray-train-efa/ray-train-efa/tools/x",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module "+module+"\n\ngo 1.26\n"), 0o644))
	}
	found, err := toolchain.FindRoot(tool)
	require.NoError(t, err)
	assert.Equal(t, root, found)

	_, err = toolchain.FindRoot(t.TempDir())
	assert.ErrorIs(t, err, toolchain.ErrNoCheckout)
}
