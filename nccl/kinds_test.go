package nccl_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// TestKindsOfCases varies a proof of EFA and a log over sockets as users' logs vary: names, prefixes,
// remarks, escapes, excerpts.
func TestKindsOfCases(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile("testdata/cases/" + name + ".log")
		require.NoError(t, err)
		return string(b)
	}
	efa := strings.ReplaceAll(read("04-efa-note-after-network"), "        # the plugin, good", "")
	redactedSocket := read("07-socket-host-in-angle-brackets")
	strippedSocket := read("09-socket-device-only-prefix")
	socket := strings.NewReplacer("<cluster>:41", "birch-1:41", "<cluster>:42", "birch-2:42").Replace(redactedSocket)
	old := read("03-eager-efa-no-version-line")
	replaced := func(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }
	lines := func(s string, keep func(line string) bool) string {
		return strings.Join(slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(l string) bool { return !keep(l) }), "")
	}
	each := func(s, with string) string { return regexp.MustCompile(`(?m)^(.+)$`).ReplaceAllString(s, with) }
	without := func(s, word string) string {
		return lines(s, func(l string) bool { return !strings.Contains(l, word) })
	}
	only := func(s, word string) string {
		return lines(s, func(l string) bool { return strings.Contains(l, word) })
	}
	stripped := func(s string) string { return regexp.MustCompile(`(?m)^\S+:\d+:\d+ `).ReplaceAllString(s, "") }
	tcp := replaced(efa, "provider is efa, fabric is efa", "provider is tcp, fabric is 172.31.0.0/20")
	cxi := replaced(efa, "Selected provider is efa, fabric is efa", "Selected Provider is cxi")
	escaped := replaced(efa, "<", "&lt;", ">", "&gt;")
	tests := []struct {
		name, log string
		want      report.Verdict
		first     string // finding
	}{
		{"a proof", efa, report.EFA, ""},
		{"one name, two addresses", replaced(efa, "birch-2", "birch-1"), report.EFA, ""},
		{"one name, one address", replaced(efa, "birch-2", "birch-1", "10.7.1.12", "10.7.1.11"), report.Inconclusive, "one-host"},
		{"one name, no address", without(replaced(efa, "birch-2", "birch-1"), "Bootstrap"), report.Inconclusive, "one-host"},
		{"one name over sockets", replaced(socket, "birch-2", "birch-1", "10.7.1.12", "10.7.1.11"), report.NotEFA, "other-network"},
		{"a redacted proof", replaced(efa, "birch-1", "<node-a>", "birch-2", "<node-b>"), report.Inconclusive, "hosts-removed"},
		{"a stripped proof", stripped(efa), report.Inconclusive, "hosts-removed"},
		{"redacted InfiniBand", replaced(redactedSocket, "Socket", "IB"), report.NotEFA, "other-network"},
		{"redacted tcp", replaced(tcp, "birch-1", "<c>", "birch-2", "<c>"), report.NotEFA, "provider-not-efa"},
		{"stripped tcp", stripped(tcp), report.NotEFA, "provider-not-efa"},
		{"stripped cxi", stripped(cxi), report.NotEFA, "provider-not-efa"},
		{"sockets without any prefix", replaced(strippedSocket, "[0] ", ""), report.NotEFA, "other-network"},
		{"stripped sockets with timestamps", each(strippedSocket, "2026-05-16T16:39:55.215Z $1"), report.NotEFA, "other-network"},
		{"stripped sockets with a launcher", each(strippedSocket, "[rank0]: $1"), report.NotEFA, "other-network"},
		{"escaped and redacted sockets", replaced(redactedSocket, "<", "&lt;", ">", "&gt;"), report.NotEFA, "other-network"},
		{"box drawing", each(efa, "│ $1 │"), report.EFA, ""},
		{"box drawing without blanks", each(efa, "│$1│"), report.EFA, ""},
		{"HTML escapes", escaped, report.EFA, ""},
		{"HTML escapes, one name, two addresses", replaced(escaped, "birch-2", "birch-1"), report.EFA, ""},
		{"HTML elements", each(efa, `<span class="x">$1</span><br/>`), report.EFA, ""},
		{"padding", each(efa, "$1          "), report.EFA, ""},
		{"a remark behind two blanks", replaced(efa, "Using network Libfabric", "Using network Libfabric  <-- good"), report.EFA, ""},
		{"a remark in brackets", replaced(efa, "Using network Libfabric", "Using network Libfabric (the plugin)"), report.EFA, ""},
		{"START only", without(without(without(without(efa, "COMPLETE"), "nNodes"), "via"), "Connected"), report.Inconclusive, "init-incomplete"},
		{"a search for channels", only(efa, "via NET"), report.Inconclusive, "log-cut"},
		{"a search for NET", only(efa, "NET/"), report.Inconclusive, "log-cut"},
		{"a search for channels over sockets", only(socket, "via NET"), report.NotEFA, "other-network"},
		{"the first lines", strings.Join(strings.SplitAfter(efa, "\n")[:3], ""), report.Inconclusive, "log-cut"},
		{"first EFA, then sockets", efa + replaced(socket, "0x51c0ffee01", "0x99", "0x61", "0x71", "Bootstrap", "Setup"), report.Mixed, "mixed-transports"},
		{"channels of NCCL 2.7", replaced(old, "Ring 00", "Channel 00"), report.EFA, ""},
		{"an old release that hangs", without(old, "COMPLETE"), report.Inconclusive, "log-cut"},
		{"an old release over tcp", replaced(old, "is efa", "is tcp"), report.NotEFA, "provider-not-efa"},
		{"a newer release without its version, one rank connected", old + "amber-1:31:40 [0] NCCL INFO Connected all rings\n", report.Inconclusive, "never-connected"},
		{"no device", "fir-1:82:92 [0] nccl_net_ofi_init:155 NCCL WARN NET/OFI fi_getinfo() call failed: No data available\n", report.Inconclusive, "fi-getinfo-failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource("job.log", []byte(tt.log))}, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Verdict, "%+v", got.Findings)
			if tt.first != "" {
				require.NotEmpty(t, got.Findings)
				assert.Equal(t, tt.first, got.Findings[0].Code)
			}
		})
	}
}
