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

// splitForm is how a release prints the communicator lines of a split.
type splitForm struct {
	name string
	// line is the message up to the state, of split number n by a color.
	line func(ptr, rank, size, parent, n, color int) string
}

// splitForms lists one release of each form.
func splitForms() []splitForm {
	const head = "comm 0x%x rank %d nranks %d cudaDev 0 nvmlDev 0 busId 60"
	return []splitForm{
		{"2.20, whose id is made of parent and color", func(ptr, rank, size, _, _, color int) string {
			return fmt.Sprintf(head+" commId 0x77%d -", ptr, rank, size, color)
		}},
		{"2.22, the same with its parent", func(ptr, rank, size, parent, _, color int) string {
			return fmt.Sprintf("ncclCommSplit "+head+" parent 0x%x color %d key %d commId 0x77%d -", ptr, rank, size, parent, color, rank, color)
		}},
		{"2.23, without id and number", func(ptr, rank, size, parent, _, color int) string {
			return fmt.Sprintf("ncclCommSplit "+head+" parent 0x%x color %d key %d-", ptr, rank, size, parent, color, rank)
		}},
		{"2.24 to 2.28", func(ptr, rank, size, parent, n, color int) string {
			return fmt.Sprintf("ncclCommSplit "+head+" parent 0x%x splitCount %d color %d key %d-", ptr, rank, size, parent, n, color, rank)
		}},
		{"2.29 and later", func(ptr, rank, size, parent, n, color int) string {
			return fmt.Sprintf("ncclCommSplit "+head+" parent 0x%x childCount %d color %d key %d-", ptr, rank, size, parent, n, color, rank)
		}},
	}
}

// splitRank prints a rank of three, each on its own node, that takes part in
// four splits: of ranks 0 and 1, of 1 and 2, of 0 and 2, and of all three. Its
// color is the same each time, or none where it stays outside.
func splitRank(f splitForm, rank int, network func(n int) string) []string {
	out := []string{
		"NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
		"Using network Libfabric",
		fmt.Sprintf("ncclCommInitRank comm 0x5%d rank %d nranks 3 cudaDev 0 nvmlDev 0 busId 60 commId 0xabc - Init START", rank, rank),
	}
	out = append(out, useRing(rank, 3, "Libfabric")...)
	for n, group := range [][]int{{0, 1}, {1, 2}, {0, 2}, {0, 1, 2}} {
		me := -1
		for i, r := range group {
			if r == rank {
				me = i
			}
		}
		if me < 0 {
			out = append(out, fmt.Sprintf("Rank %d has color with NCCL_SPLIT_NOCOLOR, not creating a new communicator", rank))
			continue
		}
		line := f.line(0x600+16*n+rank, me, len(group), 0x50+rank, n+1, 4)
		out = append(out, "Using network "+network(n), line+" Init START")
		out = append(out, useRing(me, len(group), network(n))...)
		out = append(out, line+" Init COMPLETE")
	}
	return out
}

func useRing(rank, size int, network string) []string {
	before, behind := (rank+size-1)%size, (rank+1)%size
	return []string{
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [receive] via NET/%s/0", before, rank, network),
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/%s/0", rank, behind, network),
		"Connected all rings",
	}
}

// TestConditionsOfSplits checks that splits are distinguished in every release, with ranks that
// stay outside of some, and that none of them is overlooked.
func TestConditionsOfSplits(t *testing.T) {
	t.Parallel()
	for _, f := range splitForms() {
		judge := func(t *testing.T, ranks int, network func(n int) string) report.Report {
			t.Helper()
			var sources []nccl.Source
			for rank := range ranks {
				sources = append(sources, nccl.BytesSource(fmt.Sprintf("rank%d.log", rank), logOf(rank, splitRank(f, rank, network))))
			}
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			return result
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			result := judge(t, 3, func(int) string { return "Libfabric" })
			assert.Equal(t, report.EFA, result.Verdict, "findings: %q", codesOf(result))
			assert.Len(t, result.Communicators, 5)
			if !strings.HasPrefix(f.name, "2.20") { // which does not say that it is a split
				assert.NotContains(t, codesOf(result), "stale-run")
			}
		})
		t.Run(f.name+", one on sockets", func(t *testing.T) {
			t.Parallel()
			result := judge(t, 3, func(n int) string { return []string{"Libfabric", "Libfabric", "Socket", "Libfabric"}[n] })
			assert.Equal(t, report.Mixed, result.Verdict, "findings: %q", codesOf(result))
		})
		t.Run(f.name+", a rank missing", func(t *testing.T) {
			t.Parallel()
			result := judge(t, 2, func(int) string { return "Libfabric" })
			assert.Equal(t, report.Inconclusive, result.Verdict, "findings: %q", codesOf(result))
			assert.Contains(t, codesOf(result), "rank-missing")
		})
	}
}

// TestConditionsOfAnotherThread checks that a split communicator which shares its
// parent's connections, and so is connected without a channel of its own, does
// not prove another communicator that hangs in another thread.
func TestConditionsOfAnotherThread(t *testing.T) {
	t.Parallel()
	log := func(rank int) []byte {
		whole := string(logOf(rank, provenRank(rank)))
		second := logOf(rank, []string{
			"Using network Libfabric",
			fmt.Sprintf("ncclCommInitRank comm 0x6%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xdef - Init START", rank, rank),
			fmt.Sprintf("comm 0x6%d rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", rank, rank),
			fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Libfabric/0", rank, 1-rank),
		})
		child := logOf(rank, []string{"Connected all rings, use ring PXN 0 GDR 0"})
		thread := func(b []byte, tid int) string {
			own := fmt.Sprintf(":%d [0]", 100+rank)
			return strings.ReplaceAll(string(b), own, fmt.Sprintf(":%d [0]", tid))
		}
		return []byte(whole + thread(second, 700) + thread(child, 800))
	}
	result, err := nccl.Judge(t.Context(), []nccl.Source{
		nccl.BytesSource("rank0.log", log(0)), nccl.BytesSource("rank1.log", log(1)),
	}, nccl.Options{})
	require.NoError(t, err)
	assert.Equal(t, report.Inconclusive, result.Verdict, "findings: %q", codesOf(result))
	assert.Contains(t, codesOf(result), "never-connected")
}

// TestConditionsOfAnNVLinkDomain checks that hosts which NVLink joins are not overlooked where
// NCCL counts them as one node.
func TestConditionsOfAnNVLinkDomain(t *testing.T) {
	t.Parallel()
	log := func(rank int, via string) []byte {
		return logOf(rank, append(provenRank(rank), []string{
			"Using network Libfabric",
			fmt.Sprintf("ncclCommInitRank comm 0x6%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xdef - Init START", rank, rank),
			fmt.Sprintf("comm 0x6%d rank %d nRanks 2 nNodes 1 localRanks 2 localRank %d MNNVL 1", rank, rank, rank),
			fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] via %s", rank, 1-rank, via),
			"Connected all rings, use ring PXN 0 GDR 0",
		}...))
	}
	for via, want := range map[string]report.Verdict{"P2P/MNNVL": report.Mixed, "P2P/CUMEM": report.EFA} {
		result, err := nccl.Judge(t.Context(), []nccl.Source{
			nccl.BytesSource("rank0.log", log(0, via)), nccl.BytesSource("rank1.log", log(1, via)),
		}, nccl.Options{})
		require.NoError(t, err)
		assert.Equal(t, want, result.Verdict, "%s: findings: %q", via, codesOf(result))
	}
}

// TestConditionsOfASilentRelease checks that a release which prints no Connected
// line proves a communicator by the end of its own initialization, and not by an
// earlier one's.
func TestConditionsOfASilentRelease(t *testing.T) {
	t.Parallel()
	log := func(rank int, hangs bool) []byte {
		first := []string{
			"NCCL version 2.7.8+cuda11.0",
			"NET/OFI Selected Provider is efa (found 1 nics)",
			"Using network AWS Libfabric",
		}
		for n := range 2 {
			first = append(first,
				fmt.Sprintf("Channel 00 : %d[1b0] -> %d[1b0] [receive] via NET/AWS Libfabric/0", 1-rank, rank),
				fmt.Sprintf("Channel 00 : %d[1b0] -> %d[1b0] [send] via NET/AWS Libfabric/0", rank, 1-rank),
				fmt.Sprintf("comm 0x5%d%d rank %d nranks 2 cudaDev 0 busId 1b0 - Init COMPLETE", n, rank, rank))
		}
		if hangs {
			first = first[:len(first)-1]
		}
		return logOf(rank, first)
	}
	for hangs, want := range map[bool]report.Verdict{false: report.EFA, true: report.Inconclusive} {
		result, err := nccl.Judge(t.Context(), []nccl.Source{
			nccl.BytesSource("rank0.log", log(0, hangs)), nccl.BytesSource("rank1.log", log(1, hangs)),
		}, nccl.Options{})
		require.NoError(t, err)
		assert.Equal(t, want, result.Verdict, "hangs %v: findings: %q", hangs, codesOf(result))
	}
}
