package verdict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// over returns what a rank prints that joins a communicator and uses it over a network.
func over(network, id string) func(rank, size int) []string {
	return func(rank, size int) []string {
		return replace("Libfabric", network)(all(joins(rank, size, id), rings(rank, size)))
	}
}

// lines renders the table of ranks, one line for each row.
func lines(r report.Report) []string {
	var out []string
	for _, k := range r.Ranks {
		out = append(out, fmt.Sprintf("rank %d run %d %s: %s, %s", k.Rank, k.Run, k.Communicator, k.Network, k.Traffic))
	}
	return out
}

// TestRanksShowWhatDecided checks that the table of ranks agrees with the verdict.
func TestRanksShowWhatDecided(t *testing.T) {
	t.Parallel()
	efa, later := over("Libfabric", "abc"), over("Socket", "def")
	other := speaker{"other", 7, 7}
	cases := []struct {
		name    string
		logs    []string
		verdict report.Verdict
		world   int
		want    []string
	}{
		{"one communicator", each(2, func(rank int) []string { return all(boots(rank, "efa"), efa(rank, 2)) }),
			report.EFA, 2, []string{"rank 0 run 1 0xabc: Libfabric, efa", "rank 1 run 1 0xabc: Libfabric, efa"}},
		{"a second one of the same ranks off EFA",
			each(2, func(rank int) []string { return all(boots(rank, "efa"), efa(rank, 2), later(rank, 2)) }),
			report.Mixed, 2, []string{"rank 0 run 1 0xdef: Socket, other", "rank 1 run 1 0xdef: Socket, other"}},
		{"a smaller one off EFA", each(3, func(rank int) []string {
			if rank == 0 {
				return all(boots(0, "efa"), efa(0, 3))
			}
			return all(boots(rank, "efa"), efa(rank, 3), later(rank-1, 2))
		}), report.Mixed, 3, []string{
			"rank 0 run 1 0xabc: Libfabric, efa",
			"rank 1 run 1 0xdef: Socket, other", "rank 2 run 1 0xdef: Socket, other",
		}},
		{"a smaller run off EFA beside a proven one", append(
			each(3, func(rank int) []string { return all(boots(rank, "efa"), efa(rank, 3)) }),
			other.says(all(boots(0, ""), later(0, 2))...), speaker{"another", 8, 8}.says(all(boots(1, ""), later(1, 2))...)),
			report.NotEFA, 2, []string{"rank 0 run 2 0xdef: Socket, other", "rank 1 run 2 0xdef: Socket, other"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := judged(t, c.logs)
			assert.Equal(t, c.verdict, r.Verdict, "findings: %q", codesOf(r))
			assert.Equal(t, c.want, lines(r))
			require.NotNil(t, r.WorldSize)
			assert.Equal(t, c.world, *r.WorldSize)
			for _, e := range r.Edges {
				assert.Equal(t, e.Traffic == report.TrafficOther, e.Transport == "NET/Socket", "%+v", e)
			}
			for _, f := range r.Findings {
				if f.Code == "proof-channel" && c.verdict != report.EFA {
					assert.Contains(t, f.Text, "NET/Socket")
				}
			}
		})
	}
}

// TestEdgesHaveTheNumbersOfTheTable checks that the connections of a smaller communicator, which
// numbers its ranks anew, are drawn between the same ranks as in the table.
func TestEdgesHaveTheNumbersOfTheTable(t *testing.T) {
	t.Parallel()
	small := over("Socket", "def")
	r := judged(t, each(3, func(rank int) []string {
		if rank == 0 {
			return whole(0, 3)
		}
		return all(whole(rank, 3), small(rank-1, 2))
	}))
	var off []string
	for _, e := range r.Edges {
		if e.Traffic == report.TrafficOther {
			off = append(off, fmt.Sprint(e.From, "-", e.To))
		}
	}
	assert.Equal(t, []string{"1-2", "2-1"}, off)
}

func TestRehearsedLogsAreMarked(t *testing.T) {
	t.Parallel()
	banner := "# Rehearsed: written by ray-train-efa's stand-in for NCCL. No GPU, no NCCL.\n"
	logs := each(2, func(rank int) []string { return whole(rank, 2) })
	assert.False(t, judged(t, logs).Rehearsed)
	logs[1] = "[pod/worker-1/ray] " + banner + logs[1]
	assert.True(t, judged(t, logs).Rehearsed)
	assert.False(t, judged(t, []string{strings.Repeat("text\n", 2000) + banner}).Rehearsed)
}

// TestOneHostIsNotShownAsEFA checks that traffic that cannot have left its host is local.
func TestOneHostIsNotShownAsEFA(t *testing.T) {
	t.Parallel()
	log := speaker{"solo", 7, 7}.says(append(boots(0, "efa"), all(
		joins(0, 2, "abc"), joins(1, 2, "abc"), opens(0, 2), opens(1, 2), []string{"Connected all rings", "Connected all rings"},
	)...)...)
	r := judged(t, []string{log})
	assert.Equal(t, report.Inconclusive, r.Verdict)
	require.Len(t, r.Ranks, 2)
	for _, k := range r.Ranks {
		assert.Equal(t, report.TrafficLocal, k.Traffic)
	}
	assert.Equal(t, report.TrafficLocal, r.Communicators[0].Traffic)
}
