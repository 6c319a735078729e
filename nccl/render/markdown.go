package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// The most entries of the lists in Markdown: GitHub cuts a comment at 64 KiB.
const (
	markdownRanks    = 64
	markdownFindings = 20
)

// Markdown writes the report for a pull request or a job summary, in GitHub's dialect.
func Markdown(w io.Writer, r report.Report, opts Options) error {
	r = plain(r)
	s := summarize(r)
	m := &strings.Builder{}
	if r.Rehearsed {
		fmt.Fprintf(m, "> **%s**\n\n", rehearsedNotice)
	}
	fmt.Fprintf(m, "### NCCL verdict: `%s`\n\n%s\n\n", r.Verdict, escape(s.Headline))
	fmt.Fprintf(m, "**Next:** %s\n\n", escapeProse(s.Next))
	fmt.Fprintf(m, "%s. Findings: %s.\n\n", extent(r), s.Counts)
	for _, f := range s.Findings[:min(len(s.Findings), markdownFindings)] {
		markdownFinding(m, f)
	}
	if more := len(s.Findings) - markdownFindings; more > 0 {
		fmt.Fprintf(m, "%s more; `--format json` lists all.\n\n", plural(more, "finding"))
	}
	foldRun(m, opts)
	foldTable(m, rankTable(r, markdownRanks))
	if len(r.Communicators) > 1 {
		foldTable(m, communicatorTable(r, markdownRanks))
	}
	foldFindings(m, "Notes", s.Notes)
	if opts.Proof {
		foldFindings(m, "Lines that the verdict is based on", s.Proof)
	}
	if text := origin(opts); text != "" {
		fmt.Fprintf(m, "<sub>%s</sub>\n", escape(text))
	}
	_, err := io.WriteString(w, strings.TrimRight(m.String(), "\n")+"\n")
	return err
}

// markdownFinding quotes the evidence in a block in which Markdown has no meaning. A quoted line
// cannot end the block, because details indents it and puts its name first.
func markdownFinding(m *strings.Builder, f report.Finding) {
	fmt.Fprintf(m, "**%s: %s**\n\n", f.Severity, escape(title(f)))
	fmt.Fprintf(m, "```text\n%s\n```\n\n", strings.Join(details(f), "\n"))
}

// foldRun writes what is known about the run, and its charts as text.
func foldRun(m *strings.Builder, opts Options) {
	var rows strings.Builder
	for i, f := range opts.Run {
		if i == 0 {
			rows.WriteString("| | |\n|---|---|\n")
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", escape(printable(f.Name)), escape(printable(f.Value)))
	}
	fold(m, "The run", rows.String())
	for _, c := range opts.Charts {
		fold(m, escape(c.Title), fmt.Sprintf("%s\n\n```text\n%s```", escape(c.About), c.Text()))
	}
}

func foldFindings(m *strings.Builder, summary string, list []report.Finding) {
	var body strings.Builder
	for _, f := range list[:min(len(list), markdownFindings)] {
		markdownFinding(&body, f)
	}
	fold(m, fmt.Sprintf("%s (%d)", summary, len(list)), body.String())
}

// fold writes a part that opens on a click; GitHub needs the empty lines around it.
func fold(m *strings.Builder, summary, body string) {
	if body != "" {
		body = strings.TrimSpace(body)
		fmt.Fprintf(m, "<details><summary>%s</summary>\n\n%s\n\n</details>\n\n", summary, body)
	}
}

func foldTable(m *strings.Builder, t table) {
	if len(t.Rows) == 0 {
		return
	}
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + escape(cell) + " |")
		}
		b.WriteString("\n")
	}
	line(t.Header)
	b.WriteString(strings.Repeat("|---", len(t.Header)) + "|\n")
	for _, r := range t.Rows {
		line(r.Cells)
	}
	if more := t.Total - len(t.Rows); more > 0 {
		fmt.Fprintf(&b, "\n%d more; `--format json` lists all.\n", more)
	}
	fold(m, t.Title, b.String())
}

// escape makes a text mean itself in Markdown, in a table's cell and in HTML. The comments keep
// GitHub from turning @name and #1 into a mention and a link; entities would not.
func escape(s string) string {
	return strings.NewReplacer(
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@<!-- -->", "#", "#<!-- -->",
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`,
		"|", `\|`, "~", `\~`,
	).Replace(s)
}

// escapeProse escapes a text and leaves what is between backticks as code.
func escapeProse(s string) string {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // one without its partner
		return escape(s)
	}
	for i := 0; i < len(parts); i += 2 {
		parts[i] = escape(parts[i])
	}
	return strings.Join(parts, "`")
}
