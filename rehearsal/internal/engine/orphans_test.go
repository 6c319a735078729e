package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A killed engine leaves plugins of hundreds of megabytes behind. Nothing else may be killed, least
// of all the user's shell, which has the rehearsal's variables too. The test runs alone: a file that
// another test's fork has inherited open cannot be executed.
func TestOnlyThePluginsOfARehearsalAreKilled(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	dir := t.TempDir()
	plugin := filepath.Join(dir, "pulumi-resource-kubernetes")
	content, err := os.ReadFile(sleep)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(plugin, content, 0o700)) //nolint:gosec // a program must be executable

	running := func(program, rehearsal string) chan error {
		command := exec.CommandContext(t.Context(), program, "60")
		command.Env = []string{"FIRST=1", configVariable + "=" + settingsFile(rehearsal), "LAST=1"}
		require.NoError(t, command.Start())
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		return ended
	}
	own, others, shell := running(plugin, dir), running(plugin, dir+"-2"), running(sleep, dir)
	time.Sleep(100 * time.Millisecond) // until each has called exec
	require.NoError(t, KillOrphans(dir))
	select {
	case err := <-own:
		require.EqualError(t, err, "signal: killed")
	case <-time.After(5 * time.Second):
		require.Fail(t, "the plugin still runs")
	}
	assert.Empty(t, others, "another rehearsal's plugin")
	assert.Empty(t, shell, "no plugin")
}
