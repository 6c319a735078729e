package gate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// go test ./provider/gate -update rewrites the goldens.
var update = flag.Bool("update", false, "rewrite golden files") //nolint:gochecknoglobals // flags are global

// judged is a state with what its job left.
type judged struct {
	state State
	end   follow.Outcome
	log   string
}

func notEFA() judged {
	state := unproven(jobs.Inputs{HourlyUSD: 9.55, Expectations: jobs.Expectations{WorldSize: 8}}, false)
	state.Verdict, state.SubmissionID, state.WorldSize = report.NotEFA, "train-0a1b2c3d-a1", new(8)
	state.ReportPath = "evidence/train-0a1b2c3d-a1/report.txt"
	state.Findings = []report.Finding{
		{Code: "topology", Severity: report.Note, Text: "2 nodes"},
		{
			Code: "plugin-not-found", Severity: report.Error, Rank: new(0), File: "rank0.w1.11.log", Line: 14,
			Text:  "NCCL INFO NET/Plugin: Could not find: ofi libnccl-net-ofi.so",
			Cause: "the image has no EFA plugin, so NCCL fell back to TCP sockets", Next: "raytrain image pin",
		},
		{Code: "plugin-not-found", Severity: report.Error, Rank: new(1), Text: "the same on another rank"},
		{Code: "net-unpinned", Severity: report.Warning, Text: "NCCL_NET is not set", Cause: "c", Next: "n"},
	}
	return judged{state, follow.Outcome{Job: rayapi.Job{Status: rayapi.Succeeded, ExitCode: new(0)}}, ""}
}

func crash() judged {
	j := notEFA()
	j.state.Verdict, j.state.Rehearsed, j.state.Findings = report.EFA, true, nil
	j.end.Job = rayapi.Job{Status: rayapi.Failed, ExitCode: new(1)}
	j.log = "Traceback (most recent call last):\n  File \"train.py\", line 3\n\nValueError: \x1b[31mboom\x1b[0m\n"
	return j
}

func hang() judged {
	j := notEFA()
	j.state.Verdict, j.state.DeadlineSeconds = report.Inconclusive, 120
	j.end = follow.Outcome{Job: rayapi.Job{Status: rayapi.Stopped}, Stopped: follow.AtDeadline}
	return j
}

func neverConnected() judged {
	j := hang()
	j.state.AWSRegion, j.state.EFASecurityGroupID = "us-east-2", "sg-0a1b2c"
	j.state.Findings = []report.Finding{{
		Code: "never-connected", Severity: report.Error, File: "rank1.w1.11.log", Line: 37,
		Cause: "channels were set up but never connected", Next: "check the group",
	}}
	return j
}

func hungOnEFA() judged {
	j := hang()
	j.state.Verdict, j.state.Findings = report.EFA, nil
	return j
}

func refusedInPreflight() *refusal.Refusal {
	finding := report.Finding{
		Code: "efa-device-missing", Severity: report.Error, Text: "node n1: allocatable vpc.amazonaws.com/efa = 0, required: 1",
		Cause: "no pod of the EFA device plugin runs on this node", Next: "kubectl describe node n1",
	}
	o := operation{in: jobs.Inputs{HourlyUSD: 9.55}}
	return o.refusedByPreflight(run{}, []report.Finding{finding}).Refusal
}

func cutOff() *refusal.Refusal {
	o := operation{in: jobs.Inputs{HourlyUSD: 9.55}}
	return o.interrupted(run{record: attempt.Record{SubmissionID: "train-0a1b2c3d-a1"}}, context.Canceled, false).Refusal
}

func (j judged) refusal() *refusal.Refusal { return refuseRun(j.state, j.end, []byte(j.log)) }

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   *refusal.Refusal
		code string
	}{
		{"not-efa", notEFA().refusal(), "plugin-not-found"},
		{"crash", crash().refusal(), "job-failed"},
		{"preflight", refusedInPreflight(), "efa-device-missing"},
		{"hang", hang().refusal(), "plugin-not-found"},
		{"never-connected", neverConnected().refusal(), "never-connected"},
		{"hang-on-efa", hungOnEFA().refusal(), "job-failed"},
		{"interrupted", cutOff(), "interrupted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", "refusals", test.name+".golden")
			got := test.in.Error() + "\n"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
			assert.Equal(t, test.code, test.in.Code)
			require.NotNil(t, test.in.HourlyUSD, "the price travels as data")
			assert.InDelta(t, 9.55, *test.in.HourlyUSD, 0)
		})
	}
	unpriced := notEFA()
	unpriced.state.HourlyUSD = 0
	assert.Nil(t, unpriced.refusal().HourlyUSD)
	assert.Contains(t, unpriced.refusal().Billing, "an unknown price")
}

func TestRefusalFitsAScreen(t *testing.T) {
	t.Parallel()
	j := notEFA()
	j.end.Job.Status, j.log = rayapi.Failed, strings.Repeat(strings.Repeat("ä", 500)+"\n", 100)
	for i := range 50 {
		j.state.Findings = append(j.state.Findings, report.Finding{
			Code: "code-" + strings.Repeat("x", i), Severity: report.Warning, Text: strings.Repeat("t", 1000) + "\nsecond line",
		})
	}
	lines := strings.Split(j.refusal().Error(), "\n")
	assert.LessOrEqual(t, len(lines), 20)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 160)
	}
	assert.Contains(t, lines[len(lines)-1], "$9.55 per hour")
	assert.Contains(t, lines[len(lines)-2], "report.txt")
}

// TestAnInterruptionNamesItsReason checks that each reason is named alone.
func TestAnInterruptionNamesItsReason(t *testing.T) {
	t.Parallel()
	for text, cause := range map[string]error{
		"the update was canceled":    fmt.Errorf("waiting for the job: %w", context.Canceled),
		"the update ran out of time": context.DeadlineExceeded,
		"the cluster did not answer": errors.New("connection refused"),
	} {
		state := operation{}.interrupted(run{record: attempt.Record{SubmissionID: "gate-1-a1"}}, cause, false)
		require.Len(t, state.Findings, 1)
		assert.Contains(t, state.Findings[0].Cause, text)
		assert.Contains(t, state.Findings[0].Cause, "before job gate-1-a1 was judged; if it runs, it continues")
	}
}
