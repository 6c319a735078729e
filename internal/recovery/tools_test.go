package recovery

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnInterruptedPulumiCompletesItsStep needs a program that is slow when it is interrupted. A killed
// pulumi would leave another pending operation and its lock.
func TestAnInterruptedPulumiCompletesItsStep(t *testing.T) {
	dir := t.TempDir()
	const script = `#!/bin/sh
trap 'echo interrupted; touch completed; exit 1' INT
touch started
while :; do sleep 0.1; done
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pulumi"), []byte(script), 0o700)) //nolint:gosec // a program
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := Pulumi{Project: dir, Out: io.Discard}
	go func() { ended <- p.change(ctx, "refresh", nil) }()
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	require.Eventually(t, func() bool { return exists("started") }, time.Minute, 10*time.Millisecond)
	cancel()
	require.ErrorContains(t, <-ended, `running "pulumi refresh --yes"`)
	assert.True(t, exists("completed"))
}

func TestAMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Pulumi{Project: t.TempDir()}.ExportJSON(t.Context())
	require.EqualError(t, err, `running "pulumi stack export": exec: "pulumi": executable file not found in $PATH; `+
		"next: install pulumi, or add its folder to the PATH")
}
