package refusal_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/refusal"
)

// go test ./provider/refusal -update rewrites the goldens.
var update = flag.Bool("update", false, "rewrite golden files") //nolint:gochecknoglobals // flags are global

func pointer[T any](value T) *T { return &value }

func notEFA() refusal.Refusal {
	return refusal.Refusal{
		Verdict: "not-efa", SubmissionID: "train-0a1b2c3d-a1", JobStatus: "SUCCEEDED", ExitCode: pointer(0),
		RanksSeen: 8, WorldSize: 8, HourlyUSD: 9.55, ReportPath: "evidence/train-0a1b2c3d-a1/report.txt",
		Findings: []jobs.Finding{
			{Code: "topology", Severity: "note", Text: "2 nodes"},
			{
				Code: "plugin-not-found", Severity: "error", Rank: pointer(0), File: "rank0.w1.11.log", Line: 14,
				Text:  "NCCL INFO NET/Plugin: Could not find: ofi libnccl-net-ofi.so",
				Cause: "the image has no EFA plugin, so NCCL fell back to TCP sockets", Next: "raytrain image pin",
			},
			{Code: "plugin-not-found", Severity: "error", Rank: pointer(1), Text: "the same on another rank"},
			{Code: "net-unpinned", Severity: "warning", Text: "NCCL_NET is not set", Cause: "c", Next: "n"},
		},
	}
}

func crash() refusal.Refusal {
	r := notEFA()
	r.Verdict, r.JobStatus, r.ExitCode, r.Rehearsed, r.Findings = "efa", "FAILED", pointer(1), true, nil
	r.Output = "Traceback (most recent call last):\n  File \"train.py\", line 3\n\nValueError: \x1b[31mboom\x1b[0m\n"
	return r
}

func preflight() refusal.Refusal {
	return refusal.Refusal{
		Verdict: "none", HourlyUSD: 9.55,
		Findings: []jobs.Finding{{
			Code: "efa-device-missing", Severity: "error", Text: "node n1: allocatable vpc.amazonaws.com/efa = 0, wanted 1",
			Cause: "no pod of the EFA device plugin runs on this node", Next: "kubectl describe node n1",
		}},
	}
}

func hang() refusal.Refusal {
	r := notEFA()
	r.Verdict, r.JobStatus, r.ExitCode, r.TimedOut, r.DeadlineSeconds = "inconclusive", "STOPPED", nil, true, 120
	return r
}

func interrupted() refusal.Refusal {
	r := preflight()
	r.Interrupted, r.SubmissionID = true, "train-0a1b2c3d-a1"
	r.Findings = []jobs.Finding{{
		Code: "interrupted", Severity: "error", Text: "context canceled", Cause: "the update was cancelled", Next: "pulumi up",
	}}
	return r
}

func TestRender(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   refusal.Refusal
	}{{"not-efa", notEFA()}, {"crash", crash()}, {"preflight", preflight()}, {"hang", hang()}, {"interrupted", interrupted()}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", test.name+".golden")
			got := refusal.Render(test.in) + "\n"
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

func TestRenderFitsAScreen(t *testing.T) {
	t.Parallel()
	r := notEFA()
	r.Output = strings.Repeat(strings.Repeat("ä", 500)+"\n", 100)
	for i := range 50 {
		r.Findings = append(r.Findings, jobs.Finding{
			Code: "code-" + strings.Repeat("x", i), Severity: "warning", Text: strings.Repeat("t", 1000) + "\nsecond line",
		})
	}
	lines := strings.Split(refusal.Render(r), "\n")
	assert.LessOrEqual(t, len(lines), 20)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 160)
	}
	assert.Contains(t, lines[len(lines)-1], "$9.55 per hour")
	assert.Contains(t, lines[len(lines)-2], "report.txt")
}
