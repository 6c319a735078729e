package verdict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secondLife is a release's way to print two communicators of which the second
// may lie at the first one's address.
type secondLife struct {
	name string
	// print is what a rank prints of communicator n at an address.
	print func(n, rank, ptr int) []string
}

func secondLives() []secondLife {
	split := func(destroyed bool) func(n, rank, ptr int) []string {
		return func(n, rank, ptr int) []string {
			line := fmt.Sprintf("ncclCommSplit comm 0x%x rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 parent 0x5%d childCount %d color 0 key 0", ptr, rank, rank, n)
			out := []string{
				"Using network Libfabric", line + "- Init START",
				fmt.Sprintf("comm 0x%x rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", ptr, rank),
				line + " - Init COMPLETE",
			}
			out = append(out, useRing(rank, 2, "Libfabric")...)
			if destroyed {
				out = append(out, fmt.Sprintf("comm 0x%x rank %d nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE", ptr, rank))
			}
			return out
		}
	}
	return []secondLife{
		{"splits of 2.30, whose ends are not printed", split(false)},
		{"splits of 2.29", split(true)},
		{"a split of 2.30, then a communicator of its own", func(n, rank, ptr int) []string {
			if n == 1 {
				return split(false)(n, rank, ptr)
			}
			line := fmt.Sprintf("ncclCommInitRankConfig comm 0x%x rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xdef", ptr, rank)
			return append([]string{"Using network Libfabric", line + " - Init START", line + " - Init COMPLETE"}, useRing(rank, 2, "Libfabric")...)
		}},
		{"communicators of 2.14, without START and id", func(_, rank, ptr int) []string {
			line := fmt.Sprintf("comm 0x%x rank %d nranks 2 cudaDev 0 busId 60", ptr, rank)
			out := append([]string{"Using network Libfabric"}, useRing(rank, 2, "Libfabric")...)
			return append(out, line+" - Init COMPLETE", line+" - Destroy COMPLETE")
		}},
	}
}

// TestConditionsOfReusedAddresses checks that a communicator at an earlier one's
// address is one of its own, which needs its own proof, while the earlier one
// stays judged.
func TestConditionsOfReusedAddresses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		// edits of what rank 1 prints of each communicator
		first, second func([]string) []string
		want          report.Verdict
	}{
		{name: "both on EFA", want: report.EFA},
		{name: "the first on sockets at one end", first: replace("NET/Libfabric", "NET/Socket"), want: report.Mixed},
		{name: "the second on sockets at one end", second: replace("NET/Libfabric", "NET/Socket"), want: report.Mixed},
		{name: "the first without one rank", first: func([]string) []string { return nil }, want: report.Inconclusive},
		{name: "the second without one rank", second: func([]string) []string { return nil }, want: report.Inconclusive},
		{name: "the second hangs", second: without("Connected"), want: report.Inconclusive},
	}
	for _, life := range secondLives() {
		for _, c := range cases {
			t.Run(life.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				var sources []nccl.Source
				for rank := range 2 {
					out := provenRank(rank)
					if strings.Contains(life.name, "2.14") {
						out = out[:1]
					}
					for n, edit := range []func([]string) []string{c.first, c.second} {
						// Rank 0 gets the same address again, and rank 1 another.
						lines := life.print(n+1, rank, 0x600+rank*(n+1))
						if rank == 1 && edit != nil {
							lines = edit(lines)
						}
						out = append(out, lines...)
					}
					sources = append(sources, nccl.BytesSource(fmt.Sprintf("rank%d.log", rank), logOf(rank, out)))
				}
				result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
				require.NoError(t, err)
				assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
			})
		}
	}
}

// TestConditionsOfASplitWithoutItsStart checks that a split is one where the line
// that says so first is lost, and needs its ranks all the same.
func TestConditionsOfASplitWithoutItsStart(t *testing.T) {
	t.Parallel()
	split := secondLives()[0].print
	for name, c := range map[string]struct {
		edit func([]string) []string
		want report.Verdict
	}{
		"one START is lost":                  {without("Init START"), report.EFA},
		"a START and the end are lost":       {without("ncclCommSplit"), report.Inconclusive},
		"one rank is lost":                   {func([]string) []string { return nil }, report.Inconclusive},
		"one START is lost, and sockets":     {both(without("Init START"), replace("NET/Libfabric", "NET/Socket")), report.Mixed},
		"one is connected to no other":       {both(without("Init START"), without("Connected")), report.Inconclusive},
		"one says that it is its own parent": {both(without("Init START"), replace("parent 0x51", "parent 0x601")), report.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := nccl.Judge(t.Context(), []nccl.Source{
				nccl.BytesSource("rank0.log", logOf(0, append(provenRank(0), split(1, 0, 0x600)...))),
				nccl.BytesSource("rank1.log", logOf(1, append(provenRank(1), c.edit(split(1, 1, 0x601))...))),
			}, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
		})
	}
}
