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

// oldRing returns what a rank of NCCL 2.10 prints of a communicator: no START, its
// channels without a connection index, and the network nowhere.
func oldRing(n, rank, size int) []string {
	out := useRing(rank, size, "AWS Libfabric")
	for i := range out {
		out[i] = strings.Replace(out[i], "Channel 00/0", "Channel 00", 1)
	}
	return append(out, fmt.Sprintf("comm 0x5%d%d rank %d nranks %d cudaDev 0 busId 1b0 - Init COMPLETE", n, rank, rank, size))
}

// oldHead returns what its process prints once, whatever it joins.
func oldHead() []string {
	return []string{
		"NCCL version 2.10.3+cuda11.3",
		"NET/OFI Selected Provider is efa (found 1 nics)",
		"Using network AWS Libfabric",
	}
}

// TestConditionsOfOldReleases checks that two communicators of NCCL 2.6 to 2.12
// are each proven, though the network is named once for the process and channels
// do not say whether they are of a collective.
func TestConditionsOfOldReleases(t *testing.T) {
	t.Parallel()
	same := func(m []string) []string { return m }
	none := func([]string) []string { return nil }
	onSockets := replace("NET/AWS Libfabric", "NET/Socket")
	pair := []string{"Channel 00 : 1[1b0] -> 0[1b0] [send] via NET/AWS Libfabric/0"}
	cases := []struct {
		name string
		// edits of what rank 1 prints of its process and its communicators
		head, first, second func([]string) []string
		version             string
		opts                nccl.Options
		want                report.Verdict
		finding             string
	}{
		{name: "both on EFA", want: report.EFA},
		{name: "both on EFA in 2.8.3", version: "2.8.3", want: report.EFA},
		{name: "a release that names the network each time", version: "2.13.4", want: report.Inconclusive, finding: "network-unknown"},
		{name: "a release that is not known", version: "x", want: report.Inconclusive, finding: "network-unknown"},
		{name: "two networks of one process", head: appended("Using network Socket"), want: report.Inconclusive},
		{name: "one end on sockets", head: replace("AWS Libfabric", "Socket"), first: onSockets, second: onSockets, want: report.Mixed},
		{name: "one end on sockets, without channels", head: replace("AWS Libfabric", "Socket"), first: without("Channel"), second: without("Channel"), want: report.Inconclusive, finding: "other-network"},
		{name: "the second on sockets at one end", second: onSockets, want: report.Mixed},
		{name: "no rank 1 in the first", first: none, want: report.Inconclusive, finding: "rank-missing"},
		{name: "no rank 1 in the second", second: none, want: report.Inconclusive, finding: "rank-missing"},
		{name: "the second is not connected", second: without("Connected"), want: report.Inconclusive, finding: "never-connected"},
		{name: "the second hangs", second: both(without("Connected"), without("COMPLETE")), want: report.Inconclusive, finding: "rank-missing"},
		{name: "point to point at the end", second: appended(pair...), want: report.Inconclusive, finding: "point-to-point-unproven"},
		{name: "point to point at the end of a completed job", second: appended(pair...), opts: nccl.Options{Completed: true}, want: report.EFA},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sources []nccl.Source
			for rank := range 2 {
				var out []string
				for n, edit := range []func([]string) []string{c.head, c.first, c.second} {
					lines := oldHead()
					if n > 0 {
						lines = oldRing(n, rank, 2)
					}
					if c.version != "" {
						lines = replace("2.10.3", c.version)(lines)
					}
					if rank == 0 || edit == nil {
						edit = same
					}
					out = append(out, edit(lines)...)
				}
				sources = append(sources, nccl.BytesSource(fmt.Sprintf("rank%d.log", rank), logOf(rank, out)))
			}
			result, err := nccl.Judge(t.Context(), sources, c.opts)
			require.NoError(t, err)
			assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
			if c.finding != "" {
				assert.Contains(t, codesOf(result), c.finding)
			}
		})
	}
}

// TestConditionsOfOldProcessesWithTwoRanks holds the same for two ranks of one
// process, whose threads print one network line between them.
func TestConditionsOfOldProcessesWithTwoRanks(t *testing.T) {
	t.Parallel()
	node := func(n int, head []string, edit func([]string) []string) nccl.Source {
		out := logOf(n, head)
		for local := range 2 {
			rank := 2*n + local
			lines := oldRing(1, rank, 4)
			if local == 1 {
				lines = edit(lines)
			}
			own := fmt.Sprintf(":%d [0]", 100+n)
			out = append(out, strings.ReplaceAll(string(logOf(n, lines)), own, fmt.Sprintf(":%d [0]", 200+rank))...)
		}
		return nccl.BytesSource(fmt.Sprintf("node%d.log", n), out)
	}
	for name, c := range map[string]struct {
		head, edit func([]string) []string
		want       report.Verdict
	}{
		"all on EFA":                         {both(), both(), report.EFA},
		"a network of sockets":               {replace("AWS Libfabric", "Socket"), both(), report.Inconclusive},
		"no network at all":                  {without("Using network"), both(), report.Inconclusive},
		"one rank on sockets":                {both(), replace("NET/AWS Libfabric", "NET/Socket"), report.Mixed},
		"one rank without a Connected line":  {both(), without("Connected"), report.Inconclusive},
		"one rank without any line about it": {both(), func([]string) []string { return nil }, report.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := nccl.Judge(t.Context(), []nccl.Source{
				node(0, oldHead(), both()), node(1, c.head(oldHead()), c.edit),
			}, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
		})
	}
}
