package evidence_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

// TestRehearsalIsSaidOnce checks that a report of a rehearsal begins with the notice and has it once,
// whether the gate, the logs or both say that it is one.
func TestRehearsalIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		gate, logs bool
		notices    int
	}{
		{"neither", false, false, 0},
		{"the gate", true, false, 1},
		{"the logs", false, true, 1},
		{"both", true, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bundle := evidence.Bundle{SubmissionID: "s", Rehearsed: c.gate}
			path, err := evidence.Archive(t.TempDir(), bundle, report.Report{Rehearsed: c.logs}, nil, nil)
			require.NoError(t, err)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, c.notices, strings.Count(string(text), evidence.RehearsedNotice))
			assert.Equal(t, c.notices == 1, strings.HasPrefix(string(text), evidence.RehearsedNotice))
		})
	}
}
