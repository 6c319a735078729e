package nccl_test

import (
	"fmt"
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
	processes := regexp.MustCompile(`(birch-\d):\d+:\d+`)
	reversed := func(s string) string {
		list := strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")
		list[len(list)-1] += "\n"
		slices.Reverse(list)
		return strings.Join(list, "")
	}
	numbered := func(s, format string) string {
		n := 0
		return regexp.MustCompile(`(?m)^`).ReplaceAllStringFunc(s, func(string) string { n++; return fmt.Sprintf(format, n) })
	}
	another := func(s string) string { // run, by other processes
		return replaced(s, "0x51c0ffee01", "0x99", "0x61", "0x71", ":41:", ":141:", ":42:", ":142:")
	}
	const moreOverSockets = "birch-2:42:61 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [receive] via NET/Socket/0\n" +
		"birch-2:42:61 [0] NCCL INFO Connected all trees\n"
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
		{"every line twice", each(efa, "$1\n$1"), report.EFA, ""},
		{"every line over sockets twice", each(socket, "$1\n$1"), report.NotEFA, "other-network"},
		{"the newest line first", reversed(efa), report.Inconclusive, "lines-out-of-order"},
		{"the newest line of sockets first", reversed(socket), report.NotEFA, "lines-out-of-order"},
		{"no-break spaces", replaced(efa, " ", "\u00a0"), report.EFA, ""},
		{"no-break spaces in a line over sockets", efa + replaced(moreOverSockets, " ", "\u00a0"), report.Mixed, "mixed-transports"},
		{"arrows of an editor", replaced(efa, "->", "→"), report.EFA, ""},
		{"sockets behind arrows of an editor", efa + replaced(moreOverSockets, "->", "→"), report.Mixed, "mixed-transports"},
		{"words that grep colored", replaced(efa, "Libfabric", "\x1b[01;31m\x1b[KLibfabric\x1b[m\x1b[K"), report.EFA, ""},
		{"sockets behind a color", efa + replaced(moreOverSockets, "Channel", "\x1b[1mChannel"), report.Mixed, "mixed-transports"},
		{"Markdown", each(efa, "- `$1`"), report.EFA, ""},
		{"sockets in Markdown", each(socket, "- `$1`"), report.NotEFA, "other-network"},
		{"one string of JSON", `{"logs": "` + replaced(efa, "\n", `\n`) + `"}`, report.EFA, ""},
		{"sockets in one string of JSON", `{"logs": "` + replaced(socket, "\n", `\n`) + `"}`, report.NotEFA, "other-network"},
		{"one line", replaced(efa, "\n", " "), report.EFA, ""},
		{"line numbers", numbered(efa, "logs/job.log:%d:"), report.EFA, ""},
		{"sockets with line numbers", numbered(socket, "%6d\t"), report.NotEFA, "other-network"},
		{"hosts in brackets", replaced(efa, "birch-1", "[REDACTED]", "birch-2", "[REDACTED]"), report.Inconclusive, "hosts-removed"},
		{"sockets of hosts in brackets", replaced(socket, "birch-1", "[REDACTED]", "birch-2", "[REDACTED]"), report.NotEFA, "other-network"},
		{"one word for all hosts", replaced(efa, "birch-1", "xxx", "birch-2", "xxx"), report.EFA, ""},
		{"one word for all hosts and addresses", replaced(efa, "birch-1", "xxx", "birch-2", "xxx", "10.7.1.11", "x.x.x.x", "10.7.1.12", "x.x.x.x"), report.Inconclusive, "one-host"},
		{"one address for all", replaced(efa, "10.7.1.11", "10.0.0.1", "10.7.1.12", "10.0.0.1"), report.Inconclusive, "one-host"},
		{"redacted processes", processes.ReplaceAllString(efa, "$1:PID:TID"), report.Inconclusive, "hosts-removed"},
		{"redacted processes over sockets", processes.ReplaceAllString(socket, "$1:PID:TID"), report.NotEFA, "other-network"},
		{"removed processes over sockets", processes.ReplaceAllString(socket, "$1"), report.NotEFA, "other-network"},
		{"redacted ids", replaced(efa, "0x51c0ffee01", "0xXXXX", "0x61a0", "0xXXXX", "0x61b0", "0xXXXX"), report.EFA, ""},
		{"first sockets, then EFA", socket + replaced(efa, "0x51c0ffee01", "0x99", "0x61", "0x71", "Bootstrap", "Setup"), report.Mixed, "mixed-transports"},
		{"EFA, then the same processes restarted over sockets", efa + replaced(socket, "0x51c0ffee01", "0x99", "0x61", "0x71"), report.NotEFA, "other-network"},
		{"EFA, then a run that hangs", efa + another(without(efa, "Connected")), report.Inconclusive, "never-connected"},
		{"EFA, then a run that does not get to its channels", efa + another(without(without(without(efa, "COMPLETE"), "via"), "Connected")), report.Inconclusive, "init-incomplete"},
		{"EFA, then a process with the provider tcp", efa + another(strings.Join(strings.SplitAfter(tcp, "\n")[:3], "")), report.Inconclusive, "provider-not-efa"},
		{"two nodes of one NCCL_HOSTID over sockets beside EFA", efa + another(replaced(socket, "nNodes 2", "nNodes 1", "birch-2", "birch-1")), report.NotEFA, "other-network"},
		{"a tail", strings.Join(strings.SplitAfter(efa, "\n")[14:], ""), report.Inconclusive, "log-cut"},
		{"a tail from the end of the initialization", strings.Join(strings.SplitAfter(efa, "\n")[12:], ""), report.Inconclusive, "log-cut"},
		{"a tail over sockets", strings.Join(strings.SplitAfter(socket, "\n")[14:], ""), report.NotEFA, "other-network"},
		{"one rank whole, a tail of the other", only(efa, "birch-1") + strings.Join(strings.SplitAfter(only(efa, "birch-2"), "\n")[7:], ""), report.Inconclusive, "log-cut"},
		{"a search for Connected", only(efa, "Connected"), report.Inconclusive, "log-cut"},
		{"a search for the end of the initialization", only(efa, "COMPLETE"), report.Inconclusive, "log-cut"},
		{"the plugin's channels for its own requests", replaced(efa, "via NET/Libfabric/0", "via NET/Libfabric_GDAKI/0"), report.NotEFA, "other-network"},
		{"a device that cannot be read", efa + replaced(moreOverSockets, "[0] NCCL", "[?] NCCL"), report.Inconclusive, "torn-lines"},
		{"an unknown spelling of sockets", efa + replaced(moreOverSockets, "NET/Socket", "net/socket"), report.Inconclusive, "unknown-transport"},
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
