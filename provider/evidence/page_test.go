package evidence_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestPagesOfARun(t *testing.T) {
	t.Parallel()
	full := evidence.Bundle{
		HourlyUSD: 9.55, Image: "repo@sha256:0123", ProofHash: "0123456789abcdef", Attempt: 2,
		Job:         rayapi.Job{Status: rayapi.Succeeded, StartTime: 1000, EndTime: 361_000},
		Environment: map[string]string{"NCCL_NET": "Lib<b>fabric"},
		Manifests: []evidence.Manifest{
			{NCCLVersion: pointer("2.29.7"), TorchVersion: "2.13.0"}, {NCCLVersion: pointer("2.29.7"), TorchVersion: "2.13.0"},
		},
		Result: &evidence.Result{
			Steps: 7, StepsPerSecond: pointer(0.5), StepSeconds: []float64{2, 3}, LostSteps: 1, ResumedAtStep: 4,
			SecondsToRecover: pointer(9.5),
			AllReduce:        []evidence.Bandwidth{{Bytes: 1 << 16, BusBytesPerSecond: 2.5e9}, {Bytes: 1 << 20, BusBytesPerSecond: 4e9}},
		},
	}
	rehearsed := full
	rehearsed.Rehearsed = true
	tests := []struct {
		name          string
		bundle        evidence.Bundle
		html, text    []string
		without       []string
		judgedVerdict report.Verdict
	}{
		{"all of it", full, []string{
			"<title>6: 2 s</title>", "<title>7: 3 s</title>", "<title>1 MiB: 4 GB/s</title>", "Lib&lt;b&gt;fabric",
		}, []string{
			"$0.96 at $9.55 an hour", "repo@", "2.29.7", "2.13.0", "0.5 steps/s", "2, proof 0123456789ab", "360 s",
			"at step 4 after 9.5 s; lost steps: 1", "Time of each step", "Bus bandwidth", "64 KiB",
		}, []string{"REHEARSED", "2.29.7, 2.29.7", "<script", "<b>fabric"}, report.EFA},
		{"a rehearsal", rehearsed, nil, []string{"REHEARSED", "nothing in a rehearsal; on AWS $0.96"}, nil, report.EFA},
		{"a job that never ran", evidence.Bundle{HourlyUSD: 9.55}, nil, []string{"cost of the job", "unknown"},
			[]string{"$0.", "Time of each step", "Bus bandwidth", "steps/s", "NCCL_NET", "0 s"}, report.Inconclusive},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Dir(archived(t, test.bundle, report.Report{Verdict: test.judgedVerdict}))
			for name, more := range map[string][]string{"report.html": test.html, "report.md": nil} {
				page, err := os.ReadFile(filepath.Join(folder, name))
				require.NoError(t, err)
				for _, want := range append(more, test.text...) {
					if name == "report.md" && want == "repo@" {
						want = "repo@<!-- -->sha256:0123" // so that it mentions no one
					}
					assert.Contains(t, string(page), want, name)
				}
				for _, other := range test.without {
					assert.NotContains(t, string(page), other, name)
				}
			}
		})
	}
}
