package rehearsal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkoutWith makes a checkout whose bin/ holds programs of these names.
func checkoutWith(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	for _, name := range names {
		program(t, filepath.Join(root, "bin"), name)
	}
	return root
}

func program(t *testing.T, dir, name string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700)) //nolint:gosec // a program must be executable
}

// A released CLI has the Go host next to it, so it must be found. An installed AWS provider calls
// the real account, so it must not.
func TestShellTakesThePulumiOfTheUserAndThePluginsOfTheCheckout(t *testing.T) {
	root := checkoutWith(t, append(linkedTools(), "pulumi")...)
	users, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	for _, name := range []string{"pulumi", "pulumi-resource-aws", "aws"} {
		program(t, users, name)
	}
	find := func() map[string]string {
		env, err := ShellEnvironment(dir, root)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "pulumi-home"), env["PULUMI_HOME"])
		require.Equal(t, env["RAYTRAIN_REHEARSAL_CONFIG"], env["PULUMI_OPTION_CONFIG_FILE"])
		found := map[string]string{}
		for _, name := range []string{"pulumi", "pulumi-resource-aws", "aws"} {
			found[name] = lookIn(t, env["PATH"], name)
		}
		return found
	}
	t.Setenv("PATH", users)
	assert.Equal(t, map[string]string{
		"pulumi":              filepath.Join(users, "pulumi"),
		"pulumi-resource-aws": filepath.Join(dir, "bin", "pulumi-resource-aws"),
		"aws":                 filepath.Join(dir, "bin", "aws"),
	}, find())
	t.Setenv("PATH", "/nowhere")
	assert.Equal(t, filepath.Join(root, "bin", "pulumi"), find()["pulumi"],
		"without a released CLI the pinned one serves")
}

func lookIn(t *testing.T, path, name string) string {
	t.Helper()
	for folder := range strings.SplitSeq(path, ":") {
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found
		}
	}
	t.Errorf("no %s in %s", name, path)
	return ""
}

func TestAMissingStandInIsNotLookedForElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	_, err := Environment(dir, checkoutWith(t, "kubectl"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "pulumi-resource-aws")
	require.ErrorContains(t, err, "make build")
}
