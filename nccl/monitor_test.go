package nccl_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

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
		whole := m.Status().Report
		for i, found := range whole.Findings { // Judge reads a line again to quote it
			if found.Text == "" && i < len(want.Findings) {
				want.Findings[i].Text = ""
			}
		}
		assert.Equal(t, want, whole, "seed %d", seed)
		assert.Equal(t, want, m.Status().Report, "seed %d: judged again", seed)
		m = nccl.NewMonitor(opts)
		for _, f := range again {
			n, err := m.AddFrom(f.Name, bytes.NewReader(f.Data))
			require.NoError(t, err)
			assert.EqualValues(t, len(f.Data), n)
			m.End(f.Name)
		}
		assert.Equal(t, want, m.Status().Report, "seed %d: from readers", seed)
	}
}

func TestMonitorAddsWhatItCouldRead(t *testing.T) {
	t.Parallel()
	m := nccl.NewMonitor(nccl.Options{})
	n, err := m.AddFrom("rank0.log", io.MultiReader(strings.NewReader("a line\n"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, `"rank0.log"`)
	assert.EqualValues(t, len("a line\n"), n)
}
