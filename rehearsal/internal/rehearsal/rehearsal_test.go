package rehearsal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckGate(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
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
