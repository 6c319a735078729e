package nccl_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
)

// TestMonitorEqualsJudge feeds synthetic runs in pieces, the logs in turns: at the end the report is
// Judge's, and a status that says that the verdict cannot become efa is right.
func TestMonitorEqualsJudge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		files, truth := synth.Random(seed, true).Generate()
		opts := nccl.Options{WorldSize: truth.ExpectWorldSize, Nodes: truth.ExpectNodes, Completed: truth.Completed}
		want, err := judgeSynthetic(files, truth)
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(seed, 1))
		m, failed := nccl.NewMonitor(opts), false
		left := map[string][]byte{}
		for _, f := range files {
			left[f.Name] = f.Data
			m.Add(f.Name, nil)
		}
		for len(left) > 0 {
			name := files[rng.IntN(len(files))].Name
			n := min(len(left[name]), 1+rng.IntN(4000))
			m.Add(name, left[name][:n])
			if left[name] = left[name][n:]; len(left[name]) == 0 {
				m.End(name)
				delete(left, name)
			}
			if rng.IntN(20) == 0 {
				s := m.Status()
				failed = failed || !s.CanBecomeEFA
				require.Equal(t, len(left) > 0, s.Provisional)
			}
		}
		got := m.Status()
		if failed {
			assert.NotEqual(t, report.EFA, want.Verdict, "seed %d", seed)
		}
		// A line that was incomplete when Status was called stays incomplete.
		assert.True(t, truth.Allows(got.Report.Verdict) || got.Report.Verdict == report.Inconclusive,
			"seed %d: %s, want %s", seed, got.Report.Verdict, want.Verdict)
		// Without a status in between, nothing is lost.
		m = nccl.NewMonitor(opts)
		again, _ := synth.Random(seed, true).Generate()
		for _, f := range again {
			m.Add(f.Name, f.Data)
			m.End(f.Name)
		}
		assert.Equal(t, want, m.Status().Report, "seed %d", seed)
		assert.Equal(t, want, m.Status().Report, "seed %d: judged again", seed)
	}
}
