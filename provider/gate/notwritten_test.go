package gate

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
)

func TestFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("archiving: %w", &fs.PathError{Op: "write", Path: "evidence/x", Err: syscall.ENOSPC})
	o := operation{in: jobs.Inputs{EvidenceDir: "evidence"}}
	refused := o.interrupted(run{record: attempt.Record{SubmissionID: "a"}}, cause, false).Refusal
	assert.Equal(t, "disk-full", refused.Code)
	assert.Contains(t, refused.Error(), "no space left on device")
	assert.Contains(t, refused.Next, `df -h "evidence"`)
}
