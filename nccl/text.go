package nccl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

// WriteJSON writes the report in its contractual form, indented, with empty
// lists as [] and unknown numbers as null.
func WriteJSON(w io.Writer, r Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes the report for people: one line of verdict, a table of
// ranks, then the findings. Names and lines come from logs that anyone may have
// written, so nothing in them drives the terminal.
func WriteText(w io.Writer, r Report) error {
	t := &textWriter{w: w}
	t.printf("verdict: %s (%s ranks in evidence of %s, %s nodes)\n", r.Verdict,
		numberOr(r.RanksSeen, "?"), numberOr(r.WorldSize, "?"), numberOr(r.Nodes, "?"))
	if len(r.Ranks) > 0 {
		t.printf("\n")
		t.ranks(r.Ranks)
	}
	for _, f := range r.Findings {
		t.finding(f)
	}
	return t.err
}

// textWriter keeps the first error of many writes.
type textWriter struct {
	w   io.Writer
	err error
}

func (t *textWriter) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// maxRows bounds the table of ranks; a terminal is no place for 4,096.
const maxRows = 64

func (t *textWriter) ranks(ranks []Rank) {
	tw := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		if t.err == nil {
			_, t.err = fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
	}
	row("RANK", "HOST", "PID", "NETWORK", "PROVIDER", "CHANNELS", "FILE")
	for _, r := range ranks[:min(len(ranks), maxRows)] {
		row(strconv.Itoa(r.Rank), screen.Printable(r.Host), strconv.Itoa(r.PID), dash(screen.Printable(r.Network)),
			dash(screen.Printable(r.Provider)), dash(screen.Printable(channels(r.Channels))), screen.Printable(r.File))
	}
	if t.err == nil {
		t.err = tw.Flush()
	}
	if more := len(ranks) - maxRows; more > 0 {
		t.printf("... and %d more ranks (--format json lists all)\n", more)
	}
}

func (t *textWriter) finding(f Finding) {
	t.printf("\n%s: %s", f.Severity, f.Code)
	if f.Rank != nil {
		t.printf(" (rank %d)", *f.Rank)
	}
	t.printf("\n")
	switch {
	case f.File != "" && f.Line > 0:
		t.printf("  at:    %s:%d\n", screen.Printable(f.File), f.Line)
	case f.File != "":
		t.printf("  in:    %s\n", screen.Printable(f.File))
	}
	if f.Text != "" {
		t.printf("  line:  %s\n", screen.Printable(f.Text))
	}
	t.printf("  cause: %s\n", screen.Printable(f.Cause))
	if f.Next != "nothing to do" {
		t.printf("  next:  %s\n", screen.Printable(f.Next))
	}
}

// channels renders {"NET/Libfabric": 4, "P2P": 2} as "NET/Libfabric 4, P2P 2".
func channels(counts map[string]int) string {
	words := make([]string, 0, len(counts))
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return strings.Join(words, ", ")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func numberOr(n *int, unknown string) string {
	if n == nil {
		return unknown
	}
	return strconv.Itoa(*n)
}

// What stands before a log line that a report quotes: as text, as JSON, and as
// the package render writes it for browsers and for CI.
const (
	textQuote  = "  line:  "
	jsonQuote  = `"text": "`
	htmlQuote  = `<pre class="mono">`
	junitQuote = "&#xA;  line: "
)

// ownReport reports whether the record that starts at start is quoted by an
// earlier report, which often lies beside the logs: a quotation out of its order
// is no evidence.
func (s *scanner) ownReport(start int) bool {
	before := s.d[max(0, start-32):start]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return string(before) == textQuote || string(bytes.TrimLeft(before, " ")) == jsonQuote ||
		string(before) == htmlQuote || bytes.HasSuffix(before, []byte(junitQuote))
}
