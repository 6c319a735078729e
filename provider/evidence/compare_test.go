package evidence_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// archived writes what a run leaves and returns the path of its report.json.
func archived(t *testing.T, bundle evidence.Bundle, judged report.Report) string {
	t.Helper()
	bundle.SubmissionID = "run"
	path, err := evidence.Archive(t.TempDir(), bundle, judged, nil, nil)
	require.NoError(t, err)
	return filepath.Join(filepath.Dir(path), "report.json")
}

func pointer[T any](value T) *T { return &value }

func TestCompare(t *testing.T) {
	t.Parallel()
	proof := report.Finding{Code: "proof-network", Severity: report.Note}
	note := report.Finding{Code: "a-note", Severity: report.Note}
	failure := report.Finding{Code: "other-network", Severity: report.Error, Cause: "TCP"}
	again := report.Finding{Code: "other-network", Severity: report.Error, Rank: pointer(1)}
	tests := []struct {
		name           string
		before, after  report.Report
		worse          bool
		appeared, gone []report.Finding
	}{
		{
			name:   "both on EFA",
			before: report.Report{Verdict: report.EFA, Findings: []report.Finding{proof, note}},
			after:  report.Report{Verdict: report.EFA, Findings: []report.Finding{note}},
		},
		{
			name:   "no longer on EFA",
			before: report.Report{Verdict: report.EFA},
			after:  report.Report{Verdict: report.NotEFA, Findings: []report.Finding{failure, again}},
			worse:  true, appeared: []report.Finding{failure},
		},
		{
			name:   "no longer proven, without a finding",
			before: report.Report{Verdict: report.EFA}, after: report.Report{Verdict: report.Inconclusive}, worse: true,
		},
		{
			name:   "now on EFA",
			before: report.Report{Verdict: report.NotEFA, Findings: []report.Finding{failure}},
			after:  report.Report{Verdict: report.EFA, Findings: []report.Finding{proof, note}},
			gone:   []report.Finding{failure}, appeared: []report.Finding{note},
		},
		{
			name:   "the same failure",
			before: report.Report{Verdict: report.NotEFA, Findings: []report.Finding{failure}},
			after:  report.Report{Verdict: report.NotEFA, Findings: []report.Finding{again}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := evidence.Compare(
				archived(t, evidence.Bundle{}, test.before), archived(t, evidence.Bundle{}, test.after))
			require.NoError(t, err)
			assert.Equal(t, test.worse, got.Worse)
			assert.Equal(t, test.appeared, got.Appeared)
			assert.Equal(t, test.gone, got.Gone)
			assert.Contains(t, got.Values, evidence.Change{
				Name: "verdict", Before: string(test.before.Verdict), After: string(test.after.Verdict),
			})
			assert.Contains(t, got.Values, evidence.Change{Name: "MFU", Before: "unknown", After: "unknown"})
		})
	}
}

func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	ranks := func(networks ...string) report.Report {
		judged := report.Report{Verdict: report.EFA, RanksSeen: pointer(len(networks))}
		for _, network := range networks {
			judged.Ranks = append(judged.Ranks, report.Rank{Network: network, Provider: "efa"})
		}
		return judged
	}
	before := archived(t, evidence.Bundle{
		HourlyUSD: 36, Job: rayapi.Job{Status: rayapi.Succeeded, StartTime: 1000, EndTime: 101_000},
		Result: &evidence.Result{StepsPerSecond: pointer(2.0), TokensPerSecond: pointer(1000.0), MFU: pointer(0.4)},
	}, ranks("Libfabric", "Libfabric"))
	after := archived(t, evidence.Bundle{
		HourlyUSD: 36, Job: rayapi.Job{Status: rayapi.Failed, StartTime: 1000},
		Result: &evidence.Result{StepsPerSecond: pointer(1.0), TokensPerSecond: pointer(1500.0)},
	}, ranks("Socket", "Libfabric", ""))
	got, err := evidence.Compare(before, after)
	require.NoError(t, err)
	assert.Equal(t, []evidence.Change{
		{Name: "verdict", Before: "efa", After: "efa"},
		{Name: "job", Before: "SUCCEEDED", After: "FAILED"},
		{Name: "ranks seen", Before: "2", After: "3"},
		{Name: "network", Before: "Libfabric efa", After: "Libfabric efa, Socket efa, efa"},
		{Name: "steps/s", Before: "2.00", After: "1.00", Percent: "-50.0 %"},
		{Name: "tokens/s", Before: "1000", After: "1500", Percent: "+50.0 %"},
		{Name: "MFU", Before: "0.400", After: "unknown"},
		{Name: "seconds of the job", Before: "100.0", After: "unknown"},
		{Name: "cost in USD", Before: "1.00", After: "unknown"},
	}, got.Values)
	assert.False(t, got.Worse, "speed does not count")
}

func TestCompareNamesEveryFileThatIsNoRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	verdict, err := json.Marshal(report.Report{Verdict: report.EFA})
	require.NoError(t, err)
	for name, text := range map[string]string{"broken": "{", "verdict": string(verdict), "empty": "{}"} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := evidence.Compare(path, filepath.Join(folder, "absent"))
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "next: give the report.json")
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}
