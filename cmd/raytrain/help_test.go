package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commands lists root and every command below it that help shows.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// TestExamplesAreCommandLines checks that the examples in the help texts have flags and arguments
// that their commands take.
func TestExamplesAreCommandLines(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, c := range commands(newRootCommand()) {
		assert.NotEmpty(t, c.Long, c.CommandPath())
		for line := range strings.Lines(c.Example) {
			_, call, found := strings.Cut(line, "raytrain ")
			require.True(t, found, line)
			call, _, _ = strings.Cut(call, " | ")
			call, _, _ = strings.Cut(call, " >")
			command, rest, err := newRootCommand().Find(strings.Fields(call))
			require.NoError(t, err, line)
			if command.DisableFlagParsing {
				continue
			}
			require.NoError(t, command.ParseFlags(rest), line)
			require.NoError(t, command.ValidateArgs(command.Flags().Args()), line)
			seen++
		}
	}
	assert.Greater(t, seen, 8)
}

// TestHelpFitsATerminal holds the texts that are ours to a small terminal.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range commands(newRootCommand()) {
		if c.Name() == "completion" || c.Parent() != nil && c.Parent().Name() == "completion" {
			continue
		}
		for line := range strings.Lines(c.Long) {
			assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 88, line)
		}
	}
}

func TestProgressIsWrittenOnlyAfterAWhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	require.NoError(t, err)
	progress(file, time.Hour, func() string { return "reading" })()
	written := func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	assert.Empty(t, written())
	stop := progress(file, time.Millisecond, func() string { return "reading 3 logs" })
	require.Eventually(t, func() bool { return strings.Count(written(), "\n") > 1 }, 10*time.Second, time.Millisecond)
	stop()
	assert.True(t, strings.HasPrefix(written(), "raytrain: reading 3 logs, 0 s so far\n"), written())
	assert.NotContains(t, written(), "\x1b", "a file is no terminal")
	require.NoError(t, file.Close())
}

func TestNoColorOutsideATerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	assert.False(t, wantsColor(&b))
}
