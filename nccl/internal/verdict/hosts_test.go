package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// TestHosts judges two ranks whose log proves EFA if they are on two hosts.
func TestHosts(t *testing.T) {
	t.Parallel()
	type process struct {
		host, boot, hostID, source string
		pid                        int
	}
	log := func(rank int, p process) string {
		lines := whole(rank, 2)[1:]
		if p.boot != "" {
			lines = slices.Insert(lines, 0, "Bootstrap: Using "+p.boot)
		}
		if p.hostID != "" {
			lines = slices.Insert(lines, 1, "NCCL_HOSTID set by environment to "+p.hostID)
		}
		return speaker{p.host, p.pid, p.pid}.says(lines...)
	}
	const a, b = "eth0:10.0.1.5<0>", "eth0:10.0.1.6<0>"
	tests := []struct {
		name        string
		first, last process
		want        report.Verdict
	}{
		{"two names, two addresses", process{host: "n0", boot: a}, process{host: "n1", boot: b}, report.EFA},
		{"two names, one address", process{host: "n0", boot: a}, process{host: "n1", boot: a}, report.Inconclusive},
		{"two names, one IPv6 address", process{host: "n0", boot: "eth0:fd00::5<0>"}, process{host: "n1", boot: "eth0:fd00::5<0>"}, report.Inconclusive},
		{"two names, one address on two interfaces", process{host: "n0", boot: a}, process{host: "n1", boot: "ens5:10.0.1.5<0>"}, report.Inconclusive},
		{"two names, both on loopback", process{host: "n0", boot: "lo:127.0.0.1<0>"}, process{host: "n1", boot: "lo:127.0.0.1<0>"}, report.Inconclusive},
		{"two names, two loopback addresses", process{host: "n0", boot: "lo:127.0.0.1<0>"}, process{host: "n1", boot: "lo:127.0.1.1<0>"}, report.Inconclusive},
		{"two names, one on loopback", process{host: "n0", boot: a}, process{host: "n1", boot: "lo:::1<0>"}, report.Inconclusive},
		{"two names, one on loopback, the other unknown", process{host: "n0"}, process{host: "n1", boot: "lo:127.0.0.1<0>"}, report.Inconclusive},
		{"two names, one NCCL_HOSTID", process{host: "n0", boot: a, hostID: "h"}, process{host: "n1", boot: b, hostID: "h"}, report.Inconclusive},
		{"two names without addresses, one NCCL_HOSTID", process{host: "n0", hostID: "h"}, process{host: "n1", hostID: "h"}, report.Inconclusive},
		{"two names, two NCCL_HOSTIDs", process{host: "n0", boot: a, hostID: "h0"}, process{host: "n1", boot: b, hostID: "h1"}, report.EFA},
		{"two names, one address, two NCCL_HOSTIDs", process{host: "n0", boot: a, hostID: "h0"}, process{host: "n1", boot: a, hostID: "h1"}, report.Inconclusive},
		{"two names, one address known", process{host: "n0", boot: a}, process{host: "n1"}, report.EFA},
		{"two names without addresses", process{host: "n0"}, process{host: "n1"}, report.EFA},
		{"two names, redacted addresses", process{host: "n0", boot: "eth0:x.x.x.x<0>"}, process{host: "n1", boot: "eth0:x.x.x.x<0>"}, report.EFA},
		{"one name, two addresses", process{host: "n", boot: a}, process{host: "n", boot: b}, report.EFA},
		{"one name, two addresses of two interfaces", process{host: "n", boot: a}, process{host: "n", boot: "eth1:10.0.1.6<0>"}, report.Inconclusive},
		{"one name, one address", process{host: "n", boot: a}, process{host: "n", boot: a}, report.Inconclusive},
		{"one name, one address known", process{host: "n", boot: a}, process{host: "n"}, report.Inconclusive},
		{"one name without addresses", process{host: "n"}, process{host: "n"}, report.Inconclusive},
		{"one name, two NCCL_HOSTIDs", process{host: "n", hostID: "h0"}, process{host: "n", hostID: "h1"}, report.Inconclusive},
		{"one name, two addresses, one NCCL_HOSTID", process{host: "n", boot: a, hostID: "h"}, process{host: "n", boot: b, hostID: "h"}, report.Inconclusive},
		{"one name, two addresses from manifests", process{host: "n", source: "10.0.1.5"}, process{host: "n", source: "10.0.1.6"}, report.EFA},
		{"one name, one address from manifests", process{host: "n", source: "10.0.1.5"}, process{host: "n", source: "10.0.1.5"}, report.Inconclusive},
		{"two names, one address from manifests", process{host: "n0", source: "10.0.1.5"}, process{host: "n1", source: "10.0.1.5"}, report.Inconclusive},
		{"one address, two from manifests", process{host: "n0", boot: a, source: "10.0.1.5"}, process{host: "n1", boot: a, source: "10.0.1.6"}, report.Inconclusive},
		{"one name, an address of each kind", process{host: "n", boot: a}, process{host: "n", source: "10.0.1.6"}, report.Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.first.pid, tt.last.pid = 100, 200
			var sources []nccl.Source
			for rank, p := range []process{tt.first, tt.last} {
				src := nccl.BytesSource(fmt.Sprintf("%d.log", rank), []byte(log(rank, p)))
				src.Address = p.source
				sources = append(sources, src)
			}
			// The expected number of nodes never makes two hosts of one.
			got, err := nccl.Judge(t.Context(), sources, nccl.Options{WorldSize: 2, Nodes: 2})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Verdict, codesOf(got))
			if tt.want != report.EFA {
				assert.Equal(t, "one-host", got.Findings[0].Code)
			}
		})
	}
}

// TestHostsOfFourRanks judges four ranks: what shows two hosts of some must not prove the channels of
// the others.
func TestHostsOfFourRanks(t *testing.T) {
	t.Parallel()
	ring := func(hosts, boots [4]string) []string {
		logs := make([]string, 4)
		for rank := range logs {
			lines := whole(rank, 4)[1:]
			if boots[rank] != "" {
				lines = slices.Insert(lines, 0, "Bootstrap: Using eth0:"+boots[rank]+"<0>")
			}
			logs[rank] = speaker{hosts[rank], 100 + rank, 100 + rank}.says(lines...)
		}
		return logs
	}
	pairs := func(hosts, boots [4]string) []string { // channels 0-1 and 2-3 only
		logs := ring(hosts, boots)
		for rank, peer := range []int{1, 0, 3, 2} {
			logs[rank] = replaceLine(logs[rank], "[send]", fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Libfabric/0", rank, peer))
			logs[rank] = replaceLine(logs[rank], "[receive]", fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [receive] via NET/Libfabric/0", peer, rank))
		}
		return logs
	}
	four := [4]string{"n0", "n1", "n2", "n3"}
	tests := []struct {
		name string
		logs []string
		want report.Verdict
	}{
		{"four names, two addresses", ring(four, [4]string{"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"}), report.EFA},
		{"four names, two addresses, channels inside each", pairs(four, [4]string{"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"}), report.Inconclusive},
		{"four names, one address", ring(four, [4]string{"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"}), report.Inconclusive},
		{"four names, of which two have one address and one none", ring(four, [4]string{"10.0.0.1", "10.0.0.1", "", "10.0.0.2"}), report.Inconclusive},
		{"four names, of which two have no address", ring(four, [4]string{"10.0.0.1", "10.0.0.2", "", ""}), report.EFA},
		{"two names, two addresses each", ring([4]string{"n0", "n0", "n1", "n1"}, [4]string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"}), report.EFA},
		{"two names, channels inside each", pairs([4]string{"n0", "n0", "n1", "n1"}, [4]string{}), report.Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := judged(t, tt.logs)
			assert.Equal(t, tt.want, got.Verdict, codesOf(got))
		})
	}
}

// TestExpectedNodesNeedAsManyHosts judges four ranks on two hosts of which NCCL counts four nodes.
func TestExpectedNodesNeedAsManyHosts(t *testing.T) {
	t.Parallel()
	var sources []nccl.Source
	for rank, host := range []string{"n0", "n0", "n1", "n1"} {
		log := speaker{host, 100 + rank, 100 + rank}.says(whole(rank, 4)[1:]...)
		sources = append(sources, nccl.BytesSource(fmt.Sprint(rank), []byte(log)))
	}
	for nodes, want := range map[int]report.Verdict{0: report.EFA, 2: report.EFA, 4: report.Inconclusive} {
		got, err := nccl.Judge(t.Context(), sources, nccl.Options{Nodes: nodes})
		require.NoError(t, err)
		assert.Equal(t, want, got.Verdict, "--nodes %d: %q", nodes, codesOf(got))
	}
}

// replaceLine replaces the message of the lines that hold a word.
func replaceLine(log, word, message string) string {
	lines := strings.SplitAfter(log, "\n")
	for i, line := range lines {
		if at := strings.Index(line, "NCCL INFO "); at >= 0 && strings.Contains(line, word) {
			lines[i] = line[:at] + "NCCL INFO " + message + "\n"
		}
	}
	return strings.Join(lines, "")
}
