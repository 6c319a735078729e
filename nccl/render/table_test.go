package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/width"

	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// names returns host names that must not break a table.
func names() map[string]string {
	return map[string]string{
		"plain": "ip-10-0-0-10", "empty": "", "blank": "  ", "wide": "节点-八", "combining": "nœud-e\u0301",
		"long": strings.Repeat("ip-10-0-0-10.us-east-2.compute.internal.", 20), "pipe": "a|b\\|c", "html": "<td>&amp;",
		"markup": "*a* _b_ `c` [d](e) ~~f~~ @team #1", "control": "a\tb\nc\x00\x1b[2Jd\u202ee", "invalid": "a\xffb",
	}
}

// named returns a report in which a name is everywhere that a log can put one.
func named(name string) report.Report {
	r := ring(2, 1)
	r.Communicators = append(r.Communicators, report.Communicator{ID: name, Network: name, Provider: name, Run: 2})
	k := &r.Ranks[0]
	k.Host, k.Network, k.Provider, k.Communicator = name, name, name, name
	k.Channels = map[string]int{name: 1}
	return r
}

// columns returns the width of a line on a terminal.
func columns(line string) int {
	n := 0
	for _, c := range line {
		switch width.LookupRune(c).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			if c != '\u0301' {
				n++
			}
		}
	}
	return n
}

// TestTextTablesStayAligned checks that the last column begins at the same place in every row.
func TestTextTablesStayAligned(t *testing.T) {
	t.Parallel()
	for what, name := range names() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			require.NoError(t, render.Text(&b, named(name), render.Options{}))
			_, table, found := strings.Cut(b.String(), "Ranks of run 1, which decided the verdict\n")
			require.True(t, found)
			lines := strings.Split(strings.TrimSpace(table), "\n")
			require.Len(t, lines, 3, "a heading and two ranks")
			heading, _, _ := strings.Cut(lines[0], "FILE")
			for i, line := range lines[1:] {
				before, _, found := strings.Cut(line, fmt.Sprintf("rank%d.", i))
				require.True(t, found, line)
				assert.Equal(t, columns(heading), columns(before), line)
				assert.Less(t, columns(before), 250)
			}
		})
	}
}

// TestMarkdownTablesKeepTheirCells checks that no name adds a cell, a row or markup.
func TestMarkdownTablesKeepTheirCells(t *testing.T) {
	t.Parallel()
	for what, name := range names() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, render.Markdown(&b, named(name), render.Options{}))
			rows := 0
			for line := range strings.Lines(b.String()) {
				if !strings.HasPrefix(line, "|") {
					continue
				}
				rows++
				plain := strings.ReplaceAll(line, `\\`, "") // what is left escapes what follows
				bars := strings.Count(plain, "|") - strings.Count(plain, `\|`)
				assert.Equal(t, 10, bars, line)
			}
			assert.Equal(t, 8, rows, "headings and two rows of two tables")
			for _, markup := range []string{"<td>", "@team", "#1", " *a*", "[d](", "\x1b", "\u202e"} {
				assert.NotContains(t, b.String(), markup)
			}
		})
	}
}

func TestTextHasColorsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	text := func(color bool) string {
		var b strings.Builder
		require.NoError(t, render.Text(&b, broken(2, 4), render.Options{Color: color}))
		return b.String()
	}
	assert.NotContains(t, text(false), "\x1b")
	colored := text(true)
	assert.Contains(t, colored, "verdict: \x1b[31mmixed\x1b[0m")
	assert.Contains(t, colored, "\x1b[31merror\x1b[0m: rank-missing")
	assert.Contains(t, colored, "\n\x1b[31m3 ", "a rank off EFA")
	assert.Equal(t, text(false), strings.NewReplacer(
		"\x1b[31m", "", "\x1b[33m", "", "\x1b[32m", "", "\x1b[1m", "", "\x1b[0m", "").Replace(colored))
}

// TestCodeInProse checks that commands in a finding are code, and that nothing else is.
func TestCodeInProse(t *testing.T) {
	t.Parallel()
	for next, want := range map[string][2]string{
		"run `fi_info -p <efa>` now": {"run <code>fi_info -p &lt;efa&gt;</code> now", "run `fi_info -p <efa>` now"},
		"an odd ` <b>":               {"an odd ` &lt;b&gt;", "an odd \\` &lt;b&gt;"},
	} {
		r := report.Report{Verdict: report.NotEFA, Findings: []report.Finding{{Severity: report.Error, Next: next}}}
		var page, markdown strings.Builder
		require.NoError(t, render.HTML(&page, r, render.Options{}))
		require.NoError(t, render.Markdown(&markdown, r, render.Options{}))
		assert.Contains(t, page.String(), "<p>"+want[0]+"</p>")
		assert.Contains(t, markdown.String(), "**Next:** "+want[1]+"\n")
	}
}

// TestCountsAgree checks that the counts above the findings are those of the findings below.
func TestCountsAgree(t *testing.T) {
	t.Parallel()
	r := broken(2, 4)
	r.Findings = append(r.Findings,
		report.Finding{Code: "proof-channel", Severity: report.Note, Text: "via NET/Libfabric"},
		report.Finding{Code: "stale-run", Severity: report.Warning})
	for _, proof := range []bool{false, true} {
		var text, page strings.Builder
		require.NoError(t, render.Text(&text, r, render.Options{Proof: proof}))
		require.NoError(t, render.HTML(&page, r, render.Options{Proof: proof}))
		const counts = "2 errors, 1 warning, 1 note, 1 proof line"
		assert.Contains(t, text.String(), "findings: "+counts+"\n")
		assert.Contains(t, page.String(), "<b>"+counts+"</b>")
		for severity, n := range map[string]int{"error": 2, "warning": 1} {
			assert.Equal(t, n, strings.Count(text.String(), "\n"+severity+": "))
			assert.Equal(t, n, strings.Count(page.String(), `class="finding `+severity+`"`))
		}
		assert.Equal(t, proof, strings.Contains(text.String(), "via NET/Libfabric"))
		assert.Equal(t, proof, strings.Contains(page.String(), `<details open><summary>Lines that`))
	}
}
