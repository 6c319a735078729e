package render

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// JSON writes the report in its contractual form, indented, with empty
// lists as [] and unknown numbers as null.
func JSON(w io.Writer, r report.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Text writes the report for people: one line of verdict, a table of
// ranks, then the findings. Names and lines come from logs that anyone may have
// written, so nothing in them drives the terminal.
func Text(w io.Writer, r report.Report) error {
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

// maxTextRows bounds the table of ranks; a terminal is no place for 4,096.
const maxTextRows = 64

func (t *textWriter) ranks(ranks []report.Rank) {
	tw := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		if t.err == nil {
			_, t.err = fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
	}
	row("RANK", "HOST", "PID", "NETWORK", "PROVIDER", "CHANNELS", "FILE")
	for _, r := range ranks[:min(len(ranks), maxTextRows)] {
		row(strconv.Itoa(r.Rank), screen.Printable(r.Host), strconv.Itoa(r.PID), dash(screen.Printable(r.Network)),
			dash(screen.Printable(r.Provider)), dash(screen.Printable(channels(r.Channels))), screen.Printable(r.File))
	}
	if t.err == nil {
		t.err = tw.Flush()
	}
	if more := len(ranks) - maxTextRows; more > 0 {
		t.printf("... and %d more ranks (--format json lists all)\n", more)
	}
}

func (t *textWriter) finding(f report.Finding) {
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
