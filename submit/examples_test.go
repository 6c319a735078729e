package submit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

// examples runs the scripts of examples/ with gloo: without GPUs no rank uses NCCL, and a job without
// evidence must not pass.
func (c *cluster) examples(t *testing.T) {
	t.Helper()
	folders, err := filepath.Glob("../examples/*/train.py")
	require.NoError(t, err)
	require.Len(t, folders, 3)
	for _, path := range folders {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			got, err := c.submitter(t).Run(t.Context(), submit.Job{
				Entrypoint: c.python + " train.py", WorkingDir: folder, Expected: submit.Expected{Provider: "efa"},
			})
			require.NoError(t, err)
			log, err := os.ReadFile(filepath.Join(filepath.Dir(got.ReportPath), "driver.log"))
			require.NoError(t, err)
			assert.Equal(t, rayapi.Succeeded, got.Job.Status, string(log))
			assert.Contains(t, string(log), "trained: ")
			assert.Equal(t, report.Inconclusive, got.Report.Verdict)
			assert.Equal(t, 4, got.Report.Verdict.ExitCode())
			assert.Equal(t, "nccl-unused", firstError(got.Report))
			assert.False(t, got.Passed())
		})
	}
}
