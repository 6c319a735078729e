package evidence

import (
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARunWithoutAnyLogIsInconclusive(t *testing.T) {
	t.Parallel()
	got, err := Judge(t.Context(), Run{Expected: Expected{WorldSize: 8, Nodes: 2}, Status: rayapi.Failed})
	require.NoError(t, err, "a script that failed early must be refused with its own words, not as an interruption")
	assert.Equal(t, report.Inconclusive, got.Report.Verdict)
	require.NotEmpty(t, got.Report.Findings)
	assert.Equal(t, "job-failed-early", got.Report.Findings[0].Code, "the script is the cause, not what logs it")

	got, err = Judge(t.Context(), Run{Expected: Expected{WorldSize: 8, Nodes: 2}, Status: rayapi.Succeeded})
	require.NoError(t, err)
	require.NotEmpty(t, got.Report.Findings)
	assert.NotEqual(t, "job-failed-early", got.Report.Findings[0].Code)
}

func TestCheckCounters(t *testing.T) {
	t.Parallel()
	moved := func(tx, rx float64) *Counters {
		return &Counters{TxBytes: tx, RxBytes: rx, LeastBytes: 100, Devices: 2}
	}
	tests := []struct {
		name     string
		in       Run
		code     string
		severity report.Severity
	}{
		{"enough", Run{Status: rayapi.Succeeded, Counters: moved(100, 100)}, "", ""},
		{"too little sent", Run{Status: rayapi.Succeeded, Counters: moved(99, 100)}, "efa-counters-low", report.Error},
		{"too little received", Run{Status: rayapi.Succeeded, Counters: moved(100, 99)}, "efa-counters-low", report.Error},
		{"nothing, without a bound", Run{Status: rayapi.Succeeded, Counters: &Counters{}}, "efa-counters-low", report.Error},
		{"a job that failed", Run{Status: rayapi.Failed, Counters: moved(1, 1)}, "", ""},
		{"unreadable", Run{Status: rayapi.Succeeded}, "efa-counters-unreadable", report.Note},
		{"unreadable, asked for", Run{Status: rayapi.Succeeded, RequireEFACounters: true}, "efa-counters-unreadable", report.Error},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := checkCounters(test.in)
			if test.code == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, test.code, found[0].Code)
				assert.Equal(t, test.severity, found[0].Severity)
			}
		})
	}
}
