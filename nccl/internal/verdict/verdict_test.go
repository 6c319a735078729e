package verdict

import (
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
)

// TestConditionsOfCounts holds the verdict as a function of what was counted.
// Several of its conditions are also held elsewhere in the judge; here each is
// held by itself.
func TestConditionsOfCounts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		in   runJudge
		want report.Verdict
	}{
		{"EFA only", runJudge{efa: 1}, report.EFA},
		{"EFA only, blocked", runJudge{efa: 1, blocked: true}, report.Inconclusive},
		{"EFA only, de-duplicated", runJudge{efa: 1, deduplicated: true}, report.Inconclusive},
		{"EFA and an unknown", runJudge{efa: 1, unknown: 1}, report.Inconclusive},
		{"EFA and another", runJudge{efa: 1, other: 1}, report.Mixed},
		{"EFA and another, blocked", runJudge{efa: 1, other: 1, blocked: true}, report.Mixed},
		{"another only", runJudge{other: 1}, report.NotEFA},
		{"another only, blocked", runJudge{other: 1, blocked: true}, report.NotEFA},
		{"another only, de-duplicated", runJudge{other: 1, deduplicated: true}, report.Inconclusive},
		{"another and an unknown", runJudge{other: 1, unknown: 1}, report.Inconclusive},
		{"an unknown only", runJudge{unknown: 1}, report.Inconclusive},
		{"nothing", runJudge{}, report.Inconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.in.found = newFindings()
			assert.Equal(t, c.want, c.in.verdict())
		})
	}
}
