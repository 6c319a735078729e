package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// TestFindingDetails checks what findings say beside their code: the rank, the line, the numbers, and
// that they are absent where they do not apply.
func TestFindingDetails(t *testing.T) {
	t.Parallel()
	proof := each(2, func(rank int) []string { return whole(rank, 2) })
	some := func(size int, ranks ...int) []string {
		var logs []string
		for _, rank := range ranks {
			logs = append(logs, of(rank).says(whole(rank, size)...))
		}
		return logs
	}
	more := func(lines ...string) []string { return []string{proof[0], proof[1] + of(1).says(lines...)} }
	first := func(lines ...string) []string { // before the provider of rank 1
		return []string{proof[0], of(1).says(lines...) + proof[1]}
	}
	socket := func(rank int) []string {
		return replaceAll(all(boots(rank, ""), joins(rank, 2, "abc"), rings(rank, 2)), "Libfabric", "Socket")
	}
	oneNode := func(lines []string) []string { return replaceAll(lines, "nNodes 2", "nNodes 1") }
	alone := speaker{"node-1", 300, 300}
	boot := "Bootstrap: Using eth0:10.0.1.6<0>"
	tests := []struct {
		name, code string
		logs       []string
		rank       int // -1 for none
		line       int // 0 for any
		cause      string
		absent     bool
		severity   report.Severity // "" for any
	}{
		{name: "an error beside a proof", code: "memory-registration-failed", logs: more("NET/OFI Unable to register memory (type = 2)"), rank: 1, severity: report.Warning},
		{name: "GPUDirect refused, then efa, never connected", code: "gdr-refused", rank: 0, severity: report.Warning, logs: each(2, func(r int) []string {
			return all([]string{"NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"}, without("Connected")(whole(r, 2)))
		})},
		{name: "GPUDirect refused, no provider", code: "gdr-refused", rank: 0, severity: report.Error, logs: each(2, func(r int) []string {
			return all(socket(r), []string{"NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"})
		})},
		{name: "two ranks", code: "never-connected", rank: 0, cause: "; 2 ranks", logs: each(2, func(r int) []string { return without("Connected")(whole(r, 2)) })},
		{name: "two communicators", code: "gdr-absent", rank: -1, cause: "; 2 times", logs: each(2, func(r int) []string { return all(whole(r, 2), joins(r, 2, "def"), rings(r, 2)) })},
		{name: "a stripped provider", code: "provider-not-efa", logs: []string{"[0] NCCL INFO NET/OFI Selected Provider is tcp\n"}, rank: -1, cause: "tcp"},
		{name: "a stripped provider", code: "provider-not-efa", logs: []string{"[0] NCCL INFO NET/OFI Selected Provider is efa\n"}, absent: true},
		{name: "stripped sockets without a provider", code: "provider-not-efa", logs: []string{"[0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"}, absent: true},
		{name: "stripped channels of tcp", code: "provider-not-efa", logs: []string{"[0] NCCL INFO NET/OFI Selected Provider is tcp\n[0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Libfabric/0\n"}, rank: -1, cause: "the provider is tcp"},
		{name: "one missing rank", code: "rank-missing", logs: some(3, 0, 2), rank: 1, cause: "1 of 3 ranks missing (1)"},
		{name: "two missing ranks", code: "rank-missing", logs: some(4, 1, 3), rank: -1, cause: "2 of 4 ranks missing (0, 2)"},
		{name: "eight missing ranks", code: "rank-missing", logs: some(10, 8, 9), rank: -1, cause: "(0, 1, 2, 3, 4, 5, 6, 7))"},
		{name: "nine missing ranks", code: "rank-missing", logs: some(11, 9, 10), rank: -1, cause: "6, 7, ...)"},
		{name: "a missing rank of a host in evidence", code: "node-missing", logs: []string{strings.ReplaceAll(some(3, 0)[0], "nNodes 3", "nNodes 2"), strings.ReplaceAll(some(3, 2)[0], "nNodes 3", "nNodes 2")}, absent: true},
		{name: "a proof", code: "hosts-share-name", logs: proof, absent: true},
		{name: "a proof", code: "two-nccl-versions", logs: proof, absent: true},
		{name: "a proof", code: "two-plugin-versions", logs: proof, absent: true},
		{name: "a proof", code: "fewer-devices", logs: proof, absent: true},
		{name: "a proof", code: "log-cut", logs: proof, absent: true},
		{name: "a proof", code: "init-incomplete", logs: proof, absent: true},
		{name: "one node of several hosts, over sockets", code: "other-network", logs: each(2, func(r int) []string { return oneNode(socket(r)) }), cause: "channels over NET/Socket"},
		{name: "one node of several hosts, over EFA", code: "other-network", logs: each(2, func(r int) []string { return oneNode(whole(r, 2)) }), absent: true},
		{name: "no communicator", code: "attempt-failed", logs: []string{alone.says(boot, "Failed to initialize any NET plugin")}, absent: true},
		{name: "an aborted process beside missing ranks", code: "attempt-failed", logs: append(some(2, 0), alone.says(boot, "Failed to initialize any NET plugin")), rank: -1},
		{name: "a cut process beside missing ranks", code: "attempt-failed", logs: append(some(2, 0), alone.says(boot, "Using network Socket")), absent: true},
		{name: "a process that would use sockets, with efa", code: "provider-not-efa", logs: append(proof[:2:2], alone.says(append(boots(1, "efa"), "Using network Socket")...)), absent: true},
		{name: "a process that selected tcp", code: "provider-not-efa", logs: append(proof[:2:2], alone.says(boots(1, "tcp")...)), rank: -1, cause: "the provider is tcp"},
		{name: "a run over tcp", code: "proof-channel", logs: each(2, func(r int) []string { return all(boots(r, "tcp"), joins(r, 2, "abc"), rings(r, 2)) })},
		{name: "stripped sockets", code: "torn-lines", logs: []string{"[0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"}, absent: true},
		{name: "a file without its last newline", code: "log-cut", logs: []string{proof[0], strings.TrimSuffix(proof[1], "\n")}, rank: -1, line: strings.Count(proof[1], "\n")},
		{name: "GPUDirect refused, then efa", code: "gdr-refused", logs: first("NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"), rank: 1},
		{name: "one line", code: "memory-registration-failed", logs: more("NET/OFI Unable to register memory (type = 2)"), rank: 1, cause: "FI_EFA_SET_CUDA_SYNC_MEMOPS is 0"},
		{name: "two lines", code: "memory-registration-failed", logs: more("NET/OFI Unable to register memory (type = 2)", "NET/OFI Unable to register memory (type = 2)"), rank: 1, cause: "(2 lines)"},
		{name: "channels without a communicator", code: "log-cut", logs: []string{of(0).says(opens(0, 2)...)}, rank: -1, cause: "channels without the lines of their communicator"},
		{name: "a process that only begins, beside sockets", code: "log-cut", logs: append(each(2, socket), alone.says(boot)), absent: true},
		{name: "a log that begins late", code: "log-cut", logs: each(2, func(r int) []string { return whole(r, 2)[6:] }), rank: -1, cause: "it begins after the process chose its network"},
		{name: "a communicator that hangs", code: "init-incomplete", logs: each(2, func(r int) []string { return all(boots(r, "efa"), starts(r, 2, "abc", "Libfabric")) }), rank: 0},
		{name: "an aborted communicator", code: "init-incomplete", logs: each(2, func(r int) []string {
			return all(whole(r, 2), without("COMPLETE")(joins(r, 2, "def")), aborts(r, 2, "def"))
		}), rank: 0},
		{name: "more sends than receives", code: "one-sided-channels", logs: more("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0", "Channel 02/0 : 1[0] -> 0[0] [send] via NET/Libfabric/0", "Connected all trees"), rank: -1, cause: "4 sends, 2 receives"},
		{name: "unused devices", code: "fewer-devices", logs: each(2, func(r int) []string { return replaceAll(whole(r, 2), "found 1 nics", "found 4 nics") }), rank: 0, cause: "4 found, 1 used"},
		{name: "four times the channels", code: "unbalanced-channels", logs: more(slices.Concat(slices.Repeat(opens(1, 2), 3), []string{"Connected all trees"})...), rank: -1, cause: "from 2 to 8 channel lines"},
		{name: "three times the channels", code: "unbalanced-channels", logs: more(slices.Concat(slices.Repeat(opens(1, 2), 2), []string{"Connected all trees"})...), absent: true},
		{name: "a cut log with a provider", code: "log-cut", logs: []string{of(0).says(boots(0, "efa")...)}, rank: -1, cause: "the last selected provider is efa"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.code, func(t *testing.T) {
			t.Parallel()
			got := judged(t, tt.logs)
			i := slices.IndexFunc(got.Findings, func(f report.Finding) bool { return f.Code == tt.code })
			if tt.absent {
				assert.Negative(t, i, "%q", codesOf(got))
				return
			}
			require.GreaterOrEqual(t, i, 0, "%q", codesOf(got))
			for _, f := range got.Findings {
				assert.NotContains(t, f.Cause, "()")
			}
			f := got.Findings[i]
			if tt.severity != "" {
				assert.Equal(t, tt.severity, f.Severity)
			}
			assert.Contains(t, f.Cause, tt.cause)
			assert.NotContains(t, f.Cause, "(1 lines)")
			if tt.rank < 0 {
				assert.Nil(t, f.Rank)
			} else {
				require.NotNil(t, f.Rank)
				assert.Equal(t, tt.rank, *f.Rank)
			}
			if tt.line > 0 {
				assert.Equal(t, tt.line, f.Line)
			}
		})
	}
}

// TestProofIsOfTheWorstCommunicator checks that the quoted channel is one that decided.
func TestProofIsOfTheWorstCommunicator(t *testing.T) {
	t.Parallel()
	got := judged(t, each(2, func(rank int) []string {
		return all(whole(rank, 2), replaceAll(all(joins(rank, 2, "def"), rings(rank, 2)), "Libfabric", "Socket"))
	}))
	require.Equal(t, report.Mixed, got.Verdict)
	i := slices.IndexFunc(got.Findings, func(f report.Finding) bool { return f.Code == "proof-channel" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, got.Findings[i].Text, "via NET/Socket")
}

// TestEdgesToMissingRanks checks that the picture shows a peer that is not in evidence.
func TestEdgesToMissingRanks(t *testing.T) {
	t.Parallel()
	got := judged(t, []string{of(0).says(whole(0, 2)...)})
	require.Len(t, got.Edges, 2)
	assert.Equal(t, []int{0, 1}, []int{got.Edges[0].From, got.Edges[0].To})
}

// TestUnknownNumbers checks that a number which no line shows is null, and that quoted text is
// printable.
func TestUnknownNumbers(t *testing.T) {
	t.Parallel()
	log := of(0).says(without("nNodes")(whole(0, 2))...) + of(0).says("NET/OFI Unable to register memory \x01\x7f")
	got, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource("0.log", []byte(log))}, nccl.Options{Nodes: 2, Provider: "tcp"})
	require.NoError(t, err)
	assert.Nil(t, got.Nodes)
	require.NotNil(t, got.WorldSize)
	assert.Equal(t, 2, *got.WorldSize)
	var text strings.Builder
	for _, f := range got.Findings {
		text.WriteString(f.Code + " " + f.Text + " " + f.Cause + "\n")
	}
	assert.Contains(t, text.String(), "2 nodes expected, an unknown number found")
	assert.Contains(t, text.String(), "Unable to register memory ")
	assert.NotContains(t, text.String(), "\x01")
	assert.NotContains(t, text.String(), "\x7f")
}
