package verdict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
)

// splitsOff returns what a rank prints of a split of communicator abc, up to START.
func splitsOff(rank int, address string) []string {
	return []string{
		"Using network Libfabric",
		fmt.Sprintf("ncclCommSplit comm 0x%s%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 parent 0xabc%d color 0 key %d commId 0xbeef - Init START", address, rank, rank, rank, rank),
	}
}

// splitUsed returns a split's whole life.
func splitUsed(rank int, address string) []string {
	return all(splitsOff(rank, address), []string{
		fmt.Sprintf("comm 0x%s%d rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", address, rank, rank),
		fmt.Sprintf("ncclCommSplit comm 0x%s%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 60 parent 0xabc%d color 0 key %d commId 0xbeef - Init COMPLETE", address, rank, rank, rank, rank),
	}, rings(rank, 2), []string{fmt.Sprintf("comm 0x%s%d rank %d nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE", address, rank, rank)})
}

// TestNothingEscapesBesideAProof adds to evidence that proves EFA what shows
// another attempt or communicator, which does not.
func TestNothingEscapesBesideAProof(t *testing.T) {
	t.Parallel()
	proof := each(2, func(rank int) []string { return whole(rank, 2) })
	beside := func(host string, pid int, lines ...string) []string {
		return append(each(2, func(rank int) []string { return whole(rank, 2) }), speaker{host, pid, pid}.says(lines...))
	}
	boot := "Bootstrap: Using eth0:10.0.1.5<0>"
	user := speaker{"user", 7, 7}
	local := func(id string) []string {
		return []string{
			"Using network Libfabric",
			fmt.Sprintf("[Rank 0] ncclCommInitRankConfig comm 0x%s rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 60 commId 0x%s - Init START", id, id),
			fmt.Sprintf("comm 0x%s rank 0 nRanks 1 nNodes 1 localRanks 1 localRank 0 MNNVL 0", id),
			fmt.Sprintf("ncclCommInitRankConfig comm 0x%s rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 60 commId 0x%s - Init COMPLETE", id, id),
		}
	}
	pair := func(host string, first int, lines ...[]string) string {
		log := speaker{host, 7, 7}.says(all(boots(first, "efa"), joins(first, 4, "abc"), joins(first+1, 4, "abc"), all(lines...))...)
		return strings.ReplaceAll(log, "nNodes 4", "nNodes 2")
	}
	short := pair("node-0", 0, opens(0, 4), rings(1, 4))
	tests := []struct {
		name string
		logs []string
	}{
		{"one Connected line of two ranks on a host of their own, in a log that is given twice", []string{
			short, short, pair("node-1", 2, rings(2, 4), rings(3, 4)),
		}},
		{"a restart in another file, of the same process number, that found no network", beside("node-0", 100, boot, "Failed to initialize any NET plugin")},
		{"a restart in another file, of the same process number, on sockets", beside("node-0", 100, boot, "Using network Socket")},
		{"a failure later in the same process", []string{proof[0], proof[1] + of(1).says("Failed to initialize any NET plugin")}},
		{"sockets for a communicator that is never named", []string{proof[0], proof[1] + of(1).says("Using network Socket")}},
		{"a process that selected tcp and joined nothing", beside("node-0", 200, boots(1, "tcp")...)},
		{"another attempt's provider, beside one that names none", []string{
			proof[0], of(1).says(all(boots(1, ""), joins(1, 2, "abc"), rings(1, 2))...), of(1).says(boots(1, "efa")...),
		}},
		{"a second split at the first one's address, with its id, that hangs", each(2, func(rank int) []string {
			return all(whole(rank, 2), splitUsed(rank, "70"), splitsOff(rank, "70"))
		})},
		{"a communicator that hangs at its START beside another's late channels", each(2, func(rank int) []string {
			return all(whole(rank, 2), starts(rank, 2, "def", "Libfabric"), opens(rank, 2), []string{"Connected all trees"})
		})},
		{"two hosts that look alike, each in a communicator of its own first", []string{interleaved(user, user,
			all(boots(0, "tcp"), local("aa"), joins(0, 2, "abc"), rings(0, 2)), all(boots(1, "efa"), local("bb"), joins(1, 2, "abc"), rings(1, 2)))}},
		{"two of three hosts that look alike, without a node count", []string{
			interleaved(user, user, without("nNodes")(all(boots(0, "tcp"), joins(0, 3, "abc"), rings(0, 3))), without("nNodes")(all(boots(1, "efa"), joins(1, 3, "abc"), rings(1, 3)))),
			speaker{"w2", 9, 9}.says(without("nNodes")(all(boots(2, "efa"), joins(2, 3, "abc"), rings(2, 3)))...),
		}},
		{"one communicator's Connected lines for another's ranks", []string{interleaved(user, user,
			all(whole(0, 2), joins(0, 2, "def"), opens(0, 2)), all(whole(1, 2), joins(1, 2, "def"), opens(1, 2))) + user.says("Connected all rings")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.NotEqual(t, report.EFA, verdictOf(t, test.logs...))
		})
	}
	assert.Equal(t, report.EFA, verdictOf(t, proof...))
	assert.Equal(t, report.EFA, verdictOf(t, pair("node-0", 0, rings(0, 4), rings(1, 4)), pair("node-1", 2, rings(2, 4), rings(3, 4))))
	// A communicator inside each host, over the network because P2P is off, beside one that joins the hosts.
	inside := func(first int) []string {
		return all(joins(0, 2, fmt.Sprint("d", first)), joins(1, 2, fmt.Sprint("d", first)), rings(0, 2), rings(1, 2))
	}
	assert.Equal(t, report.EFA, verdictOf(t,
		pair("node-0", 0, rings(0, 4), rings(1, 4), inside(0)), pair("node-1", 2, rings(2, 4), rings(3, 4), inside(2))))
	assert.Equal(t, report.Inconclusive, verdictOf(t,
		pair("node-0", 0, inside(0)), pair("node-1", 2, inside(2))), "traffic inside the hosts alone")
	reused := each(2, func(rank int) []string {
		return all(whole(rank, 2), splitUsed(rank, "70"), splitUsed(rank, []string{"70", "71"}[rank]))
	})
	assert.Equal(t, report.EFA, verdictOf(t, reused...), "a second split, whole, at the first one's address in one process only")
}

func verdictOf(t *testing.T, logs ...string) report.Verdict {
	t.Helper()
	return judged(t, logs).Verdict
}

// TestNoCutHidesASocket cuts a channel line over sockets at every byte, puts
// another process's line into the cut, as a shared pipe does, and gives each line
// a launcher's prefix: wherever the cut is, the socket must not be lost.
func TestNoCutHidesASocket(t *testing.T) {
	t.Parallel()
	proof := of(0).says(whole(0, 2)...) + of(1).says(whole(1, 2)...)
	line := strings.TrimSuffix(of(1).says("Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0"), "\n")
	for _, launcher := range []string{"", "2026-05-16T16:39:55.215Z ", "2026-05-16T16:39:55.215Z stdout F ", "[pod/w-0/c] ", "[1,3]<stdout>:"} {
		for cut := 1; cut < len(line); cut++ {
			text := proof + line[:cut] + of(0).says("Connected all trees") + line[cut:] + "\n" + of(1).says("Connected all trees")
			text = launcher + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n"+launcher), launcher)
			assert.NotEqual(t, report.EFA, verdictOf(t, text), "launcher %q, cut %q", launcher, line[:cut])
		}
	}
}
