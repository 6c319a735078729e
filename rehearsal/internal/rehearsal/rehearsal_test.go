package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// It runs alone: a file that another test's fork has inherited open cannot be executed.
func TestCheckGate(t *testing.T) {
	for _, test := range []struct {
		name, program string
		want          string
	}{
		{"fresh", "[ \"$1\" = -check-freshness ]", ""},
		{"stale", "echo 'built from other sources; next: make build' >&2; exit 1",
			"checking the gate: built from other sources; next: make build"},
		{"not built", "", "make build"},
	} {
		t.Run(test.name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "pulumi-resource-raytrain")
			if test.program != "" {
				require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\n"+test.program+"\n"),
					0o700))
			}
			err := checkGate(t.Context(), binary)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), test.want)
		})
	}
}

func TestAMissingNodeIsReportedFirst(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := checkNode()
	require.ErrorContains(t, err, "the eks plugin needs Node.js, which is not on the PATH")
	require.ErrorContains(t, err, "install Node.js")
}

func TestASecondCommandNamesTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lock(dir)
	require.NoError(t, err)
	_, err = lock(dir)
	require.EqualError(t, err,
		fmt.Sprintf("another command (process %d) is using %s; next: wait until it ends", os.Getpid(), dir))
	require.NoError(t, first.Close())
	second, err := lock(dir)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

// step runs a step whose engine returns update and err, and returns what people read.
func step(t *testing.T, update *engine.Update, stepErr error) string {
	t.Helper()
	var out bytes.Buffer
	r := &Rehearsal{options: Options{Dir: t.TempDir(), Out: &out},
		parts: &parts{answers: [][]daemon.Incident{nil}}}
	_, err := r.run(t.Context(), "preview", func(context.Context) (*engine.Update,
		error) {
		return update, stepErr
	})
	if stepErr != nil {
		require.ErrorIs(t, err, ErrRefused)
	}
	return out.String()
}

func TestAStepPrintsWhatPulumiWouldPrint(t *testing.T) {
	t.Parallel()
	out := step(t, &engine.Update{Title: "preview", Info: []string{"hourly price"},
		Warnings: []string{"publicAccessCidrs is []"}}, nil)
	assert.Contains(t, out, "hourly price\nwarning: publicAccessCidrs is []\n")
	out = step(t, &engine.Update{Title: "preview", Errors: []string{"boom"}},
		errors.New("exit status 255"))
	assert.Contains(t, out, "error: [rehearsed] boom\n")
	assert.NotContains(t, out, "255")
}
