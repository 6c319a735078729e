package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

func TestReportDiff(t *testing.T) {
	t.Parallel()
	archived := func(judged report.Report) string {
		path, err := evidence.Archive(t.TempDir(), evidence.Bundle{SubmissionID: "run"}, judged, nil, nil)
		require.NoError(t, err)
		return filepath.Join(filepath.Dir(path), "report.json")
	}
	good := archived(report.Report{Verdict: report.EFA})
	bad := archived(report.Report{
		Verdict: report.NotEFA, Ranks: []report.Rank{{Network: "a|b\x1b[31m<i>"}},
		Findings: []report.Finding{{Code: "other-network", Severity: report.Error, Cause: "NCCL used TCP", Next: "look"}},
	})
	tests := []struct {
		name     string
		args     []string
		code     int
		has, not []string
	}{
		{"worse", []string{good, bad}, 2, []string{
			"Run B is worse than run A.", "verdict", "+ other-network (error): NCCL used TCP\n    next: look\n",
		}, []string{"\x1b"}},
		{"better", []string{bad, good}, 0, []string{
			"Run B is not worse than run A.", "- other-network (error): NCCL used TCP\n",
		}, []string{"next: look"}},
		{"markdown", []string{"--format", "markdown", good, bad}, 2, []string{
			"**Run B is worse than run A.**", "| verdict | efa | not-efa |  |", `a\|b`, "&lt;i&gt;",
			"| only B | `other-network` | error | NCCL used TCP |",
		}, []string{"\x1b", "<i>"}},
		{"another format", []string{"--format", "pdf", good, bad}, 1, nil, []string{"verdict"}},
		{"one run", []string{good}, 1, nil, []string{"verdict  "}},
		{"no run", []string{good, t.TempDir()}, 1, nil, []string{"verdict"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := newRootCommand()
			out := &bytes.Buffer{}
			root.SetOut(out)
			root.SetErr(&bytes.Buffer{})
			root.SetArgs(append([]string{"report", "diff"}, test.args...))
			assert.Equal(t, test.code, exit.Status(&bytes.Buffer{}, root.ExecuteContext(t.Context())))
			for _, want := range test.has {
				assert.Contains(t, out.String(), want)
			}
			for _, other := range test.not {
				assert.NotContains(t, out.String(), other)
			}
		})
	}
}
