package verdict_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrapping is a way in which collectors and terminals store a line, with text
// behind the message that is no part of it.
type wrapping struct {
	name string
	wrap func(line string) string
}

func wrappings() []wrapping {
	around := func(before, behind string) func(string) string {
		return func(line string) string { return before + line + behind + "\n" }
	}
	return []wrapping{
		{"CloudWatch's events.json", func(line string) string {
			quoted, _ := json.Marshal(line)
			return "        {\n            \"timestamp\": 1778949595215,\n            \"message\": " + string(quoted) + ",\n            \"ingestionTime\": 1778949600000\n        },\n"
		}},
		{"journalctl's JSON", around("{\n\t\"MESSAGE\" : \"", "\"\n}")},
		{"logfmt", around(`time=2026-05-16T16:39:55Z level=info msg="`, `"`)},
		{"CSV with quotes", around(`"2026-05-16 16:39:03.215","`, `"`)},
		{"CSV without quotes", around("2026-05-16 16:39:03.215,", ",stdout")},
		{"a list of Python", around("['", `\n']`)},
		{"syslog's escapes", around("Nov 30 11:01:00 node train: ", "#015")},
		{"a terminal's erasures", around("\x1b[K", "\x1b[K")},
		{"a page", around("<td>", "</td>")},
		{"a page's text", around("<td>&quot;", "&quot;</td>")},
		{"a table", around("| ", " |")},
	}
}

// TestConditionsOfWrappedLines checks that text behind a message is taken neither
// into the network's name nor into the provider's, and that a name is no
// shorter for it: a provider that only begins like efa stays another.
func TestConditionsOfWrappedLines(t *testing.T) {
	t.Parallel()
	old := replace("provider is efa, fabric is efa (found 1 nics)", "Provider is efa")
	cases := []struct {
		name string
		edit func([]string) []string
		want report.Verdict
	}{
		{"on EFA", func(m []string) []string { return m }, report.EFA},
		{"a stacked provider", replace("Provider is efa", "Provider is efa;ofi_rxr"), report.EFA},
		{"another provider", replace("Provider is efa", "Provider is tcp"), report.Mixed},
		{"a provider that only begins like efa", replace("Provider is efa", "Provider is efa_x"), report.Mixed},
		{"one with a dash", replace("Provider is efa", "Provider is efa-direct"), report.Mixed},
		{"one with a plus", replace("Provider is efa", "Provider is efa+tcp"), report.Mixed},
		{"one with a hash", replace("Provider is efa", "Provider is efa#2"), report.Mixed},
		{"a network that only begins like the plugin", replace("network Libfabric", "network Libfabric_v2"), report.Inconclusive},
		{"a network that only ends like the plugin", replace("network Libfabric", "network X Libfabric"), report.Inconclusive},
		{"a channel on sockets", replace("[send] via NET/Libfabric", "[send] via NET/Socket"), report.Mixed},
		{"no Connected line", without("Connected all"), report.Inconclusive},
	}
	for _, w := range wrappings() {
		for _, c := range cases {
			t.Run(w.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				var b strings.Builder
				for rank, messages := range [][]string{old(provenRank(0)), c.edit(old(provenRank(1)))} {
					for _, line := range strings.SplitAfter(string(logOf(rank, messages)), "\n") {
						if line = strings.TrimSuffix(line, "\n"); line != "" {
							b.WriteString(w.wrap(line))
						}
					}
				}
				result, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource("job.log", []byte(b.String()))}, nccl.Options{})
				require.NoError(t, err)
				assert.Equal(t, c.want, result.Verdict, "findings: %q", codesOf(result))
			})
		}
	}
}

// TestConditionsOfHostNames checks that a host is taken whole, whatever is glued
// to it, so that each process stays one.
func TestConditionsOfHostNames(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]func(rank, line int) string{
		"docker's twelve digits":      func(rank, _ int) string { return fmt.Sprintf("12345678901%d", rank) },
		"behind seconds since 1970":   func(rank, line int) string { return fmt.Sprintf("17000000%d.254host-%d", 10+line, rank) },
		"behind a clock's fraction":   func(rank, line int) string { return fmt.Sprintf("16:39:%d,215host-%d", 10+line, rank) },
		"behind a column of CSV":      func(rank, line int) string { return fmt.Sprintf("16:39:%d.215,host-%d", 10+line, rank) },
		"some behind a column of CSV": func(rank, line int) string { return strings.Repeat("stdout,", 1-line%2) + fmt.Sprintf("host-%d", rank) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sources []nccl.Source
			for rank := range 2 {
				lines := strings.SplitAfter(string(logOf(rank, provenRank(rank))), "\n")
				for i := range lines {
					lines[i] = strings.Replace(lines[i], fmt.Sprintf("host-%d", rank), host(rank, i), 1)
				}
				sources = append(sources, nccl.BytesSource(fmt.Sprintf("rank%d.log", rank), []byte(strings.Join(lines, ""))))
			}
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, report.EFA, result.Verdict, "findings: %q", codesOf(result))
			for _, r := range result.Ranks {
				assert.NotContains(t, r.Host, ",")
			}
		})
	}
}
