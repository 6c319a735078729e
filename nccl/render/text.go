package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// The most rows of the tables in text: a terminal cannot show 4,096 ranks.
const (
	textRanks         = 64
	textCommunicators = 16
)

// rehearsedNotice is on everything that is made from a rehearsal's logs.
const rehearsedNotice = "REHEARSED: no AWS, no GPU, no EFA. A stand-in for NCCL wrote these logs."

// Text writes the report for a terminal: the verdict with what it means and what to do, the ranks,
// then the findings. Names and lines come from logs that anyone may have written, so nothing in
// them can control the terminal.
func Text(w io.Writer, r report.Report, opts Options) error {
	r = plain(r)
	s := summarize(r)
	t := &textWriter{color: opts.Color}
	if r.Rehearsed {
		t.println(t.paint(bold, rehearsedNotice))
	}
	t.printf("verdict: %s (%s)\n", t.paint(verdictColor(r.Verdict), string(r.Verdict)), extent(r))
	t.println(s.Headline)
	t.printf("next: %s\n", s.Next)
	t.printf("findings: %s\n", s.Counts)
	if len(r.Communicators) > 1 {
		t.table(communicatorTable(r, textCommunicators))
	}
	t.table(rankTable(r, textRanks))
	t.findings(s.Findings)
	t.findings(s.Notes)
	if opts.Proof {
		t.findings(s.Proof)
	} else if len(s.Proof) > 0 {
		t.printf("\nproof: %s, listed by --proof\n", plural(len(s.Proof), "line"))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// Terminal colors, as the parameters of ANSI's "select graphic rendition".
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

type textWriter struct {
	strings.Builder
	color bool
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(t, format, args...) }

func (t *textWriter) println(line string) { t.WriteString(line + "\n") }

func (t *textWriter) paint(code, text string) string {
	if !t.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *textWriter) table(list table) {
	if len(list.Rows) == 0 {
		return
	}
	t.println("\n" + list.Title)
	for _, line := range list.lines(t.paintRow) {
		t.println(line)
	}
	if more := list.Total - len(list.Rows); more > 0 {
		t.printf("... and %d more (--format json lists all)\n", more)
	}
}

func (t *textWriter) findings(list []report.Finding) {
	for _, f := range list {
		t.println("")
		t.printf("%s: %s\n", t.paint(severityColor(f.Severity), string(f.Severity)), title(f))
		for _, line := range details(f) {
			t.println(line)
		}
	}
}

// title names a finding, such as "other-network (rank 3)".
func title(f report.Finding) string {
	if f.Rank == nil {
		return f.Code
	}
	return fmt.Sprintf("%s (rank %d)", f.Code, *f.Rank)
}

// details returns the lines below a finding's title. Package nccl recognizes the start of the
// quoted line, so that a report among the logs is not taken for a log.
func details(f report.Finding) []string {
	var lines []string
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("  %-6s %s", name+":", text))
		}
	}
	if f.File != "" && f.Line > 0 {
		add("at", fmt.Sprintf("%s:%d", f.File, f.Line))
	} else {
		add("in", f.File)
	}
	add("line", f.Text)
	add("cause", f.Cause)
	add("next", nextOf(f))
	return lines
}

// nextOf returns what to do about a finding; "" for nothing.
func nextOf(f report.Finding) string {
	if f.Next == "nothing to do" {
		return ""
	}
	return f.Next
}

func verdictColor(v report.Verdict) string {
	switch v {
	case report.EFA:
		return green
	case report.Inconclusive:
		return yellow
	default:
		return red
	}
}

func severityColor(s report.Severity) string {
	switch s {
	case report.Error:
		return red
	case report.Warning:
		return yellow
	default:
		return ""
	}
}

func (t *textWriter) paintRow(traffic report.Traffic, line string) string {
	switch traffic {
	case report.TrafficOther:
		return t.paint(red, line)
	case report.TrafficUnknown, missing:
		return t.paint(yellow, line)
	default:
		return line
	}
}
