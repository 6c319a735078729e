package nccl

import (
	"testing"

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
		want Verdict
	}{
		{"EFA only", runJudge{efa: 1}, EFA},
		{"EFA only, blocked", runJudge{efa: 1, blocked: true}, Inconclusive},
		{"EFA only, de-duplicated", runJudge{efa: 1, tainted: true}, Inconclusive},
		{"EFA and an unknown", runJudge{efa: 1, unknown: 1}, Inconclusive},
		{"EFA and another", runJudge{efa: 1, other: 1}, Mixed},
		{"EFA and another, blocked", runJudge{efa: 1, other: 1, blocked: true}, Mixed},
		{"another only", runJudge{other: 1}, NotEFA},
		{"another only, blocked", runJudge{other: 1, blocked: true}, NotEFA},
		{"another only, de-duplicated", runJudge{other: 1, tainted: true}, Inconclusive},
		{"another and an unknown", runJudge{other: 1, unknown: 1}, Inconclusive},
		{"an unknown only", runJudge{unknown: 1}, Inconclusive},
		{"nothing", runJudge{}, Inconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.in.found = newFindings()
			assert.Equal(t, c.want, c.in.verdict())
		})
	}
}
