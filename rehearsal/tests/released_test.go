package rehearsal

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReleasedCLI runs the program as on AWS: main.go, compiled by the Go host of a released Pulumi
// CLI, in a shell with the variables of `rehearse env`. No package registry has the Go host, so
// set-up cannot install it.
func TestReleasedCLI(t *testing.T) {
	if _, err := exec.LookPath("pulumi-language-go"); err != nil {
		t.Skip("no released Pulumi CLI with its Go host on the PATH")
	}
	dir := filepath.Join(t.TempDir(), "kept")
	exit, out := raytrain(t, "rehearse", "preview", "--dir", dir)
	require.Equal(t, 0, exit, out)
	stopAtEnd(t, dir)
	shell := func(command string) string {
		t.Helper()
		script := `exports=$(bin/raytrain rehearse env --dir "$1") && eval "$exports" && ` + command
		shell := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", dir)
		shell.Dir = root(t)
		out, err := shell.CombinedOutput()
		t.Logf("%s\n%s", command, out)
		require.NoError(t, err)
		return string(out)
	}

	assert.Contains(t, shell("pulumi preview"), "hourly price while the stack runs")
	shell("pulumi up --yes")
	assert.Contains(t, shell("pulumi stack output verdict"), "efa")
	assert.Contains(t,
		shell(`pulumi stack output kubeconfig --show-secrets > "$KUBECONFIG" && kubectl get pods --all-namespaces`), "train-head")
	shell("pulumi preview --expect-no-changes")

	// It is one stack, whichever CLI runs the program.
	exit, out = raytrain(t, "rehearse", "up", "--dir", dir)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "up: no changes")

	shell("pulumi destroy --yes")
	exit, out = raytrain(t, "rehearse", "destroy", "--dir", dir)
	require.Equal(t, 0, exit)
	assert.Contains(t, out, "emulated AWS account: empty")
	assert.NoFileExists(t, filepath.Join(root(t), "Pulumi.rehearsal.yaml"),
		"a rehearsal's settings stay in its folder")
}
