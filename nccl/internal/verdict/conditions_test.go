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

// provenRank returns all that a rank of two must print to be proven, as the pinned
// image prints it.
func provenRank(rank int) []string {
	return []string{
		"NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
		"Using network Libfabric",
		fmt.Sprintf("[Rank %d] ncclCommInitRankConfig comm 0x5%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xabc - Init START", rank, rank, rank),
		fmt.Sprintf("comm 0x5%d rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", rank, rank),
		fmt.Sprintf("ncclCommInitRankConfig comm 0x5%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xabc - Init COMPLETE", rank, rank),
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [receive] via NET/Libfabric/0", 1-rank, rank),
		fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Libfabric/0", rank, 1-rank),
		"Connected all rings, use ring PXN 0 GDR 0",
	}
}

// logOf gives the lines of one process NCCL's prefix.
func logOf(rank int, messages []string) []byte {
	var b strings.Builder
	for _, m := range messages {
		pid := 100 + rank
		fmt.Fprintf(&b, "host-%d:%d:%d [0] NCCL INFO %s\n", rank, pid, pid, m)
	}
	return []byte(b.String())
}

// edits of the second rank's messages.
func replace(old, with string) func([]string) []string {
	return func(m []string) []string {
		out := make([]string, len(m))
		for i := range m {
			out[i] = strings.ReplaceAll(m[i], old, with)
		}
		return out
	}
}

func without(part string) func([]string) []string {
	return func(m []string) []string {
		var out []string
		for _, l := range m {
			if !strings.Contains(l, part) {
				out = append(out, l)
			}
		}
		return out
	}
}

func appended(more ...string) func([]string) []string {
	return func(m []string) []string { return append(m, more...) }
}

// after puts messages behind the first one that holds part.
func after(part string, more ...string) func([]string) []string {
	return func(m []string) []string {
		var out []string
		done := false
		for _, l := range m {
			if out = append(out, l); !done && strings.Contains(l, part) {
				out, done = append(out, more...), true
			}
		}
		return out
	}
}

func both(edits ...func([]string) []string) func([]string) []string {
	return func(m []string) []string {
		for _, e := range edits {
			m = e(m)
		}
		return m
	}
}

// TestConditions changes one thing about a proof that holds. Every row is for a condition of the
// verdict; make mutation changes the conditions one at a time and expects a row to fail.
func TestConditions(t *testing.T) {
	t.Parallel()
	second := func(rank int, net string) []string {
		return []string{
			"Using network " + net,
			fmt.Sprintf("ncclCommInitRankConfig comm 0x6%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xdef - Init START", rank, rank),
			fmt.Sprintf("comm 0x6%d rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", rank, rank),
			fmt.Sprintf("ncclCommInitRankConfig comm 0x6%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xdef - Init COMPLETE", rank, rank),
		}
	}
	cases := []struct {
		name    string
		first   func([]string) []string // edit of rank 0; nil for none
		edit    func([]string) []string // edit of rank 1; nil for none
		opts    nccl.Options
		want    report.Verdict
		finding string // a code that must be reported
	}{
		{name: "nothing changed", want: report.EFA, finding: "proof-connected"},
		{name: "what was expected is there", opts: nccl.Options{WorldSize: 2, Nodes: 2, Provider: "efa"}, want: report.EFA},
		{name: "a channel on sockets", edit: replace("[send] via NET/Libfabric", "[send] via NET/Socket"), want: report.Mixed, finding: "channel-off-network"},
		{name: "another provider", edit: replace("provider is efa", "provider is tcp"), want: report.Mixed, finding: "provider-not-efa"},
		{name: "a stacked provider", edit: replace("provider is efa", "provider is efa;ofi_rxr"), want: report.EFA},
		{name: "a provider that only begins like efa", edit: replace("provider is efa", "provider is efa2"), want: report.Mixed},
		{name: "no provider line", edit: without("Selected provider"), want: report.Inconclusive, finding: "provider-unknown"},
		{name: "a failure after the selection", edit: after("Selected provider", "NET/OFI aws-ofi-nccl initialization failed"), want: report.Inconclusive, finding: "provider-failed-later"},
		{name: "a selection after a failure", edit: both(after("Selected provider", "NET/OFI aws-ofi-nccl initialization failed", "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)")), want: report.EFA},
		{name: "a later selection of tcp", edit: after("Selected provider", "NET/OFI Selected provider is tcp, fabric is x (found 1 nics)"), want: report.Mixed},
		{name: "a later selection of efa", edit: both(replace("provider is efa", "provider is tcp"), after("Selected provider", "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)")), want: report.EFA},
		{name: "no network line", edit: without("Using network"), want: report.Inconclusive, finding: "network-unknown"},
		{
			name: "network line of sockets, channels on the plugin", edit: replace("Using network Libfabric", "Using network Socket"),
			want: report.Inconclusive, finding: "two-networks-in-communicator",
		},
		{
			name: "network line of sockets, named", edit: replace("Using network Libfabric", "Using network Socket"),
			want: report.Inconclusive, finding: "other-network",
		},
		{
			name: "no provider line of a rank without a channel of its own", edit: both(without("Selected provider"), without("Channel")),
			want: report.Inconclusive, finding: "provider-unknown",
		},
		{
			name: "another provider of a rank without a channel of its own", edit: both(replace("provider is efa", "provider is tcp"), without("Channel")),
			want: report.Inconclusive, finding: "provider-not-efa",
		},
		{name: "a rank without a channel of its own", edit: without("Channel"), want: report.EFA},
		{
			name: "a rank beyond the size", edit: both(replace("rank 1 n", "rank 3 n"), without("Channel")),
			want: report.Inconclusive, finding: "size-conflict",
		},
		{name: "two names of the plugin", edit: replace("Libfabric", "AWS Libfabric"), want: report.Inconclusive, finding: "two-networks-in-communicator"},
		{name: "a network that is not known", first: replace("Libfabric", "Warp"), edit: replace("Libfabric", "Warp"), want: report.NotEFA, finding: "other-network"},
		{name: "a channel off the rank's network", edit: replace("via NET/Libfabric", "via NET/OFI"), want: report.Inconclusive, finding: "channel-off-network"},
		{name: "no Connected line", edit: without("Connected all"), want: report.Inconclusive, finding: "never-connected"},
		{
			name: "a channel after the last Connected line", edit: appended("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0"),
			want: report.Inconclusive, finding: "never-connected",
		},
		{
			name: "a point-to-point channel", edit: appended("Channel 00/1 : 1[0] -> 0[0] [send] via NET/Libfabric/0"),
			want: report.Inconclusive, finding: "point-to-point-unproven",
		},
		{
			name: "a point-to-point channel of a completed job", edit: appended("Channel 00/1 : 1[0] -> 0[0] [send] via NET/Libfabric/0"),
			opts: nccl.Options{Completed: true}, want: report.EFA,
		},
		{name: "a ring order of the GRAPH subsystem", edit: appended("Ring 00 : 0 -> 1 -> 0"), want: report.EFA},
		{
			name: "a reduction in another network", edit: appended("CollNet 00/0 : 1 [send] via COLLNET/SHARP/0", "Connected all trees"),
			want: report.Mixed, finding: "other-network",
		},
		{
			name: "a reduction in another network before 2.9", edit: appended("Coll 00 : 1 [send] via COLLNET/SHARP/0", "Connected all trees"),
			want: report.Mixed, finding: "other-network",
		},
		{name: "a proxy that is connected", edit: replace("Connected all rings, use ring PXN 0 GDR 0", "Connected to proxy tpRank 1 -> connection 0x7f"), want: report.Inconclusive, finding: "never-connected"},
		{name: "a torn channel line", edit: appended("Channel 00/0 : 1[0] -> 0[0] [se"), want: report.Inconclusive, finding: "torn-lines"},
		{name: "a transport that is not known", edit: appended("Channel 00/0 : 1[0] -> 0[0] via WARP/3", "Connected all rings"), want: report.Inconclusive, finding: "unknown-transport"},
		{name: "an unknown provider beside sockets", first: replace("Libfabric", "Socket"), edit: without("Selected provider"), want: report.Inconclusive},
		{name: "two ranks more than are there", first: replace("anks 2", "anks 4"), edit: replace("anks 2", "anks 4"), want: report.Inconclusive, finding: "rank-missing"},
		{name: "sizes that contradict each other", edit: replace("nRanks 2", "nRanks 3"), want: report.Inconclusive},
		{name: "one node", first: replace("nNodes 2", "nNodes 1"), edit: replace("nNodes 2", "nNodes 1"), want: report.Inconclusive, finding: "no-inter-node-communicator"},
		{name: "no node count in an older release", first: without("nNodes"), edit: without("nNodes"), want: report.EFA},
		{name: "no channel at all", first: without("Channel"), edit: without("Channel"), want: report.Inconclusive, finding: "no-traffic"},
		{
			name: "a second communicator that is not used", first: appended(second(0, "Libfabric")...), edit: appended(second(1, "Libfabric")...),
			want: report.EFA, finding: "unused-communicator",
		},
		{
			name: "a second communicator that would use sockets", first: appended(second(0, "Socket")...), edit: appended(second(1, "Socket")...),
			want: report.Inconclusive, finding: "other-network",
		},
		{
			name: "a second communicator of which one rank is there", first: appended(second(0, "Libfabric")...),
			want: report.Inconclusive, finding: "rank-missing",
		},
		{name: "a larger world was expected", opts: nccl.Options{WorldSize: 4}, want: report.Inconclusive, finding: "world-size-mismatch"},
		{name: "a smaller world was expected", opts: nccl.Options{WorldSize: 1}, want: report.Inconclusive, finding: "world-size-mismatch"},
		{name: "more nodes were expected", opts: nccl.Options{Nodes: 3}, want: report.Inconclusive, finding: "nodes-mismatch"},
		{name: "another provider was expected", opts: nccl.Options{Provider: "tcp"}, want: report.Inconclusive, finding: "provider-unexpected"},
		{name: "too old a release", edit: appended("NCCL version 2.6.3+cuda10.2"), want: report.Inconclusive, finding: "nccl-too-old"},
		{name: "the oldest release that can be proven", edit: appended("NCCL version 2.6.4+cuda10.2"), want: report.EFA},
		{
			name: "Ray dropped repeated lines", edit: replace("Connected all rings", "Connected all rings [repeated 3x across cluster]"),
			want: report.Inconclusive, finding: "ray-deduplicated",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ranks := [][]string{provenRank(0), provenRank(1)}
			for i, edit := range []func([]string) []string{c.first, c.edit} {
				if edit != nil {
					ranks[i] = edit(ranks[i])
				}
			}
			result, err := nccl.Judge(t.Context(), []nccl.Source{
				nccl.BytesSource("rank0.log", logOf(0, ranks[0])), nccl.BytesSource("rank1.log", logOf(1, ranks[1])),
			}, c.opts)
			require.NoError(t, err)
			assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
			if c.finding != "" {
				assert.Contains(t, codesOf(result), c.finding)
			}
		})
	}
}

// TestConditionsOfOneProcessWithSeveralRanks checks that each rank needs its own
// Connected line when one process prints for several.
func TestConditionsOfOneProcessWithSeveralRanks(t *testing.T) {
	t.Parallel()
	// Two hosts that look alike: the addresses distinguish them.
	boots := []string{"Bootstrap: Using eth0:10.0.0.1<0>", "Bootstrap: Using eth0:10.0.0.2<0>"}
	whole := logOf(0, slices.Concat(boots, provenRank(0), provenRank(1)))
	cases := []struct {
		name string
		log  []byte
		want report.Verdict
	}{
		{"both connected", whole, report.EFA},
		{"one Connected line for two", logOf(0, append(without("Connected")(provenRank(0)), provenRank(1)...)), report.Inconclusive},
		{"the last is not connected", whole[:strings.LastIndex(string(whole), "host-0")], report.Inconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource("job.log", c.log)}, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
		})
	}
}

// codesOf lists the codes of the findings.
func codesOf(r report.Report) []string {
	codes := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		codes[i] = f.Code
	}
	return codes
}
