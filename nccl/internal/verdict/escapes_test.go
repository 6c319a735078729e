package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speaker is a thread that prints NCCL's lines.
type speaker struct {
	host     string
	pid, tid int
}

// of returns the main thread of a rank's process on its own host.
func of(rank int) speaker {
	return speaker{fmt.Sprintf("node-%d", rank), 100 + rank, 100 + rank}
}

func (s speaker) says(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:%d:%d [0] NCCL INFO %s\n", s.host, s.pid, s.tid, m)
	}
	return b.String()
}

// boots returns what a process prints once, on a host of its rank's own address.
func boots(rank int, provider string) []string {
	lines := []string{fmt.Sprintf("Bootstrap: Using eth0:10.0.1.%d<0>", 5+rank), "NCCL version 2.29.7+cuda13.0"}
	if provider == "" {
		return lines
	}
	return append(lines, "NET/OFI Initializing aws-ofi-nccl 1.20.0",
		"NET/OFI Selected provider is "+provider+", fabric is "+provider+" (found 1 nics)")
}

// starts returns what a rank prints up to Init START, joins all that precedes channels.
func starts(rank, size int, id string, network string) []string {
	return []string{
		"Using network " + network,
		fmt.Sprintf("[Rank %d] ncclCommInitRankConfig comm 0x%s%d rank %d nranks %d cudaDev 0 nvmlDev 0 busId 60 commId 0x%s - Init START", rank, id, rank, rank, size, id),
	}
}

func joins(rank, size int, id string) []string {
	return append(starts(rank, size, id, "Libfabric"),
		fmt.Sprintf("comm 0x%s%d rank %d nRanks %d nNodes %d localRanks 1 localRank 0 MNNVL 0", id, rank, rank, size, size),
		fmt.Sprintf("ncclCommInitRankConfig comm 0x%s%d rank %d nranks %d cudaDev 0 nvmlDev 0 busId 60 commId 0x%s - Init COMPLETE", id, rank, rank, size, id))
}

// rings returns a ring of one channel, up to the lines that say that it is connected.
func rings(rank, size int) []string {
	return append(opens(rank, size), "Connected all rings, use ring PXN 0 GDR 0")
}

func opens(rank, size int) []string {
	return []string{
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [receive] via NET/Libfabric/0", (rank+size-1)%size, rank),
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Libfabric/0", rank, (rank+1)%size),
	}
}

func aborts(rank, size int, id string) []string {
	return []string{fmt.Sprintf("comm 0x%s%d rank %d nranks %d cudaDev 0 busId 60 - Abort COMPLETE", id, rank, rank, size)}
}

func all(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// whole returns a process that proves EFA, alone in its log.
func whole(rank, size int) []string {
	return all(boots(rank, "efa"), joins(rank, size, "abc"), rings(rank, size))
}

// each puts every rank's lines into its own log.
func each(size int, lines func(rank int) []string) []string {
	logs := make([]string, size)
	for rank := range size {
		logs[rank] = of(rank).says(lines(rank)...)
	}
	return logs
}

// interleaved puts two threads' lines into one log, in turns.
func interleaved(a, b speaker, first, second []string) string {
	var out strings.Builder
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			out.WriteString(a.says(first[i]))
		}
		if i < len(second) {
			out.WriteString(b.says(second[i]))
		}
	}
	return out.String()
}

// judged returns the report on some logs.
func judged(t *testing.T, logs []string) report.Report {
	t.Helper()
	var sources []nccl.Source
	for i, log := range logs {
		sources = append(sources, nccl.BytesSource(fmt.Sprintf("%d.log", i), []byte(log)))
	}
	result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
	require.NoError(t, err)
	return result
}

// TestNothingEscapes holds texts that look proven, each for one reason that is
// easily overlooked: none may be judged efa. Where a row has a twin, the twin
// differs in that reason only and is efa.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	torn := func(rest string) []string {
		return []string{of(0).says(whole(0, 2)...) + of(1).says(whole(1, 2)...) +
			"node-1:101:101 [\n" + of(0).says("Connected all trees") + rest + of(1).says("Connected all trees")}
	}
	driver := func(channel string) []string {
		said := func(rank int, lines ...string) string {
			var b strings.Builder
			for _, line := range strings.SplitAfter(of(rank).says(lines...), "\n") {
				if line != "" {
					fmt.Fprintf(&b, "\x1b[36m(RayTrainWorker pid=%d)\x1b[0m %s", 100+rank, line)
				}
			}
			return b.String()
		}
		copied := said(0, whole(0, 2)...) + said(1, whole(1, 2)...)
		repeated := strings.TrimSuffix(said(1, channel), "\n") + "\x1b[32m [repeated 4x across cluster]\x1b[0m\n"
		return append(each(2, func(rank int) []string { return whole(rank, 2) }), copied+repeated)
	}
	tests := []struct {
		name    string
		logs    []string
		want    report.Verdict
		finding string
		twin    []string
	}{
		{
			name: "a second communicator of which six ranks are absent, hanging at its START",
			logs: each(2, func(rank int) []string { return all(whole(rank, 2), starts(rank, 8, "def", "Libfabric")) }),
			want: report.Inconclusive, finding: "rank-missing",
		},
		{
			name: "a second communicator that one rank alone began to join",
			logs: each(2, func(rank int) []string {
				if rank == 1 {
					return whole(rank, 2)
				}
				return all(whole(rank, 2), starts(rank, 2, "def", "Libfabric"))
			}),
			want: report.Inconclusive, finding: "rank-missing",
		},
		{
			name: "a last attempt that hangs at its START",
			logs: each(2, func(rank int) []string { return all(whole(rank, 2), starts(rank, 2, "def", "Libfabric")) }),
			twin: each(2, func(rank int) []string { return all(whole(rank, 2), joins(rank, 2, "def")) }),
			want: report.Inconclusive, finding: "init-incomplete",
		},
		{
			name: "a last attempt on sockets that joined nothing",
			logs: append(each(2, func(rank int) []string { return whole(rank, 2) }),
				speaker{"node-0", 200, 200}.says("Bootstrap: Using eth0:10.0.1.5<0>", "Using network Socket")),
			twin: append(each(2, func(rank int) []string { return whole(rank, 2) }),
				speaker{"node-0", 200, 200}.says("Bootstrap: Using eth0:10.0.1.5<0>", "Using network Libfabric")),
			want: report.Inconclusive, finding: "attempt-failed",
		},
		{
			name: "an unused communicator of ranks whose provider is tcp",
			logs: each(4, func(rank int) []string {
				if rank > 1 {
					return all(boots(rank, "tcp"), joins(rank, 4, "aaa"), joins(rank-2, 2, "ccc"))
				}
				return all(boots(rank, "efa"), joins(rank, 4, "aaa"), joins(rank, 2, "bbb"), rings(rank, 2))
			}),
			twin: each(4, func(rank int) []string {
				if rank > 1 {
					return all(boots(rank, "efa"), joins(rank, 4, "aaa"), joins(rank-2, 2, "ccc"))
				}
				return all(boots(rank, "efa"), joins(rank, 4, "aaa"), joins(rank, 2, "bbb"), rings(rank, 2))
			}),
			want: report.Inconclusive, finding: "provider-not-efa",
		},
		{
			name: "channels that were never connected, before another communicator of the same thread",
			logs: each(2, func(rank int) []string {
				return all(boots(rank, "efa"), joins(rank, 2, "abc"), opens(rank, 2), aborts(rank, 2, "abc"), joins(rank, 2, "def"), rings(rank, 2))
			}),
			twin: each(2, func(rank int) []string {
				return all(boots(rank, "efa"), joins(rank, 2, "abc"), rings(rank, 2), aborts(rank, 2, "abc"), joins(rank, 2, "def"), rings(rank, 2))
			}),
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "two ranks that are silent about the last communicator's channels",
			logs: each(4, func(rank int) []string {
				last := joins(rank, 4, "bbb")
				if rank < 2 {
					last = all(last, rings(rank, 4))
				}
				return all(boots(rank, "efa"), joins(rank, 4, "aaa"), rings(rank, 4), last)
			}),
			twin: each(4, func(rank int) []string {
				return all(boots(rank, "efa"), joins(rank, 4, "aaa"), rings(rank, 4), joins(rank, 4, "bbb"), rings(rank, 4))
			}),
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "two ranks in one process, of which one prints two kinds of Connected and the other none",
			logs: []string{interleaved(speaker{"user", 7, 7}, speaker{"user", 7, 7},
				all(boots(0, "efa"), joins(0, 2, "abc"), opens(0, 2)),
				all(boots(1, "efa"), joins(1, 2, "abc"), rings(1, 2), []string{"Connected all trees"}))},
			twin: []string{interleaved(speaker{"user", 7, 7}, speaker{"user", 7, 7}, whole(0, 2), whole(1, 2))},
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "one Connected line for two ranks, in a log that is given twice",
			logs: append(slices.Repeat([]string{speaker{"user", 7, 7}.says(all(boots(0, "efa"), joins(0, 3, "abc"), joins(1, 3, "abc"), opens(0, 3), rings(1, 3))...)}, 2), of(2).says(whole(2, 3)...)),
			twin: append(slices.Repeat([]string{speaker{"user", 7, 7}.says(all(boots(0, "efa"), joins(0, 3, "abc"), joins(1, 3, "abc"), rings(0, 3), rings(1, 3))...)}, 2), of(2).says(whole(2, 3)...)),
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "one Connected line for two ranks, in the second part of their log",
			logs: []string{
				speaker{"user", 7, 7}.says(all(boots(0, "efa"), joins(0, 3, "abc"), joins(1, 3, "abc"))...),
				speaker{"user", 7, 7}.says(all(opens(0, 3), rings(1, 3))...),
				of(2).says(whole(2, 3)...),
			},
			twin: []string{
				speaker{"user", 7, 7}.says(all(boots(0, "efa"), joins(0, 3, "abc"), joins(1, 3, "abc"))...),
				speaker{"user", 7, 7}.says(all(rings(0, 3), rings(1, 3))...),
				of(2).says(whole(2, 3)...),
			},
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "two hosts that look alike, one of them on tcp",
			logs: []string{interleaved(speaker{"user", 7, 7}, speaker{"user", 7, 7},
				all(boots(0, "tcp"), joins(0, 2, "abc"), rings(0, 2)), whole(1, 2))},
			want: report.Inconclusive, finding: "provider-not-efa",
		},
		{
			name: "two hosts of which one's name ends in the other's, one of them on tcp",
			logs: []string{interleaved(speaker{"worker-0", 7, 7}, speaker{"gpu-worker-0", 7, 7},
				all(boots(0, "tcp"), joins(0, 2, "abc"), rings(0, 2)), whole(1, 2))},
			twin: []string{interleaved(speaker{"worker-0", 7, 7}, speaker{"gpu-worker-0", 7, 7}, whole(0, 2), whole(1, 2))},
			want: report.Mixed, finding: "provider-not-efa",
		},
		{
			name: "another container's provider, of the same host name and process",
			logs: []string{speaker{"trainer", 7, 7}.says(whole(0, 2)...) +
				speaker{"trainer", 7, 7}.says(all(boots(1, ""), joins(1, 2, "abc"), rings(1, 2))...)},
			twin: []string{speaker{"trainer", 7, 7}.says(whole(0, 2)...) + speaker{"trainer", 7, 7}.says(whole(1, 2)...)},
			want: report.Inconclusive, finding: "provider-unknown",
		},
		{
			name: "a socket that only the driver's copy shows",
			logs: driver("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0"),
			twin: driver("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0"),
			want: report.Mixed, finding: "channel-off-network",
		},
		{
			name: "a socket behind a torn device",
			logs: torn("0] NCCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"),
			twin: torn("0] NCCL INFO Trees [0] -1/-1/-1->0->1\n"),
			want: report.Inconclusive, finding: "torn-lines",
		},
		{
			name: "a socket behind a torn bracket", logs: torn("] NCCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"),
			want: report.Inconclusive, finding: "torn-lines",
		},
		{
			name: "a socket behind a torn blank", logs: torn(" NCCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"),
			want: report.Inconclusive, finding: "torn-lines",
		},
		{
			name: "a socket behind a whole prefix on another line", logs: torn("NCCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"),
			want: report.Inconclusive, finding: "torn-lines",
		},
		{
			name: "a log that ends inside the word Channel",
			logs: append(each(1, func(rank int) []string { return whole(rank, 2) }),
				of(1).says(whole(1, 2)...)+strings.TrimSuffix(of(1).says("Chan"), "\n")),
			want: report.Inconclusive, finding: "torn-lines",
		},
		{
			name: "two torn channels and the rest of one over sockets",
			logs: []string{of(0).says(whole(0, 2)...) + of(1).says(whole(1, 2)...) +
				of(1).says("Channel 01/0 : 1[0] -> 0[0] [send] via NET/") + of(0).says("Channel 01/0 : 0[0] -> 1[0] [send] via NET/") +
				"Libfabric/0\nSocket/0\n" + of(0).says("Connected all trees") + of(1).says("Connected all trees")},
			want: report.Mixed, finding: "channel-off-network",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := judged(t, test.logs)
			assert.Equal(t, test.want, result.Verdict, "findings: %q", codesOf(result))
			assert.Contains(t, codesOf(result), test.finding)
			if test.twin != nil {
				twin := judged(t, test.twin)
				assert.Equal(t, report.EFA, twin.Verdict, "findings: %q", codesOf(twin))
			}
		})
	}
}
