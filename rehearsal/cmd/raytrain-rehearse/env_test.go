package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShellQuoteMakesOneWord(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "two words", `it's "quoted" $HOME`, ""} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(text)).Output()
		require.NoError(t, err)
		assert.Equal(t, text, string(out))
	}
}

func TestGoHostIsFoundWhereThePulumiCLILooks(t *testing.T) {
	release, onPath, linked := t.TempDir(), t.TempDir(), t.TempDir()
	program := func(path string) {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700)) //nolint:gosec // a program must be executable
	}
	program(filepath.Join(release, "pulumi"))
	program(filepath.Join(onPath, "pulumi-language-go"))
	require.NoError(t, os.Symlink(filepath.Join(release, "pulumi"),
		filepath.Join(linked, "pulumi")))

	t.Setenv("PATH", "")
	assert.False(t, goHostFound(), "no pulumi at all")
	t.Setenv("PATH", linked)
	assert.False(t, goHostFound(), "a pulumi without hosts, as the pinned one")
	t.Setenv("PATH", onPath)
	assert.True(t, goHostFound(), "on the PATH")
	program(filepath.Join(release, "pulumi-language-go"))
	t.Setenv("PATH", linked)
	assert.True(t, goHostFound(), "beside the program that a link on the PATH leads to")
}
