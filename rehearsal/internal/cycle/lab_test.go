package cycle

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

func TestMismatchesCompareWithTheTable(t *testing.T) {
	t.Parallel()
	row := faults.Fault{Name: "n", Verdict: "not-efa", Phase: faults.PhaseGate, Cause: "tcp"}
	good := Result{Verdict: "not-efa", Exit: 2, Phase: "gate", Findings: []report.Finding{
		{Code: "note", Severity: report.Note}, {Code: "tcp", Severity: report.Error}}}
	assert.Empty(t, Mismatches(row, good))
	assert.Len(t, Mismatches(row, Result{Verdict: "efa"}), 4)
	assert.Empty(t, Mismatches(faults.Healthy(), Result{Verdict: "efa"}))
}

func TestASoakIsRepeatable(t *testing.T) {
	t.Parallel()
	names := func(seed uint64) (list []string) {
		for _, row := range Soak(200, seed) {
			require.True(t, row.Shared(), row.Name)
			list = append(list, row.Name)
		}
		return list
	}
	first := names(7)
	assert.Len(t, first, 200)
	assert.Equal(t, first, names(7))
	assert.NotEqual(t, first, names(8))
	assert.Contains(t, first, "", "some updates are healthy")
}

func TestALineForEachFault(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result := Result{Verdict: "mixed", Exit: 2, Findings: []report.Finding{
		{Code: "two-networks", Severity: report.Error}}}
	Print(&out, "1/2", "one-rank-on-tcp", result, nil, 31*time.Second)
	Print(&out, "2/2", "", result, []string{"verdict is wrong", "two jobs"}, time.Second)
	assert.Equal(t, "ok   1/2 one-rank-on-tcp: verdict mixed, exit 2, two-networks (31 s)\n"+
		"FAIL 2/2 no fault: verdict is wrong; two jobs (1 s)\n", out.String())
}
