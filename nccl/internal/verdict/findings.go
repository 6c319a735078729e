package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// findings collects one entry per code, with the first line and a count.
type findings struct {
	byCode map[finding.Code]*entry
}

type entry struct {
	rank   int32 // -1 for the run
	ref    model.Ref
	detail string
	count  int
	// variant is the common variant of all occurrences, or Plain.
	variant finding.Variant
	ranks   map[int32]bool
}

func newFindings() *findings { return &findings{byCode: map[finding.Code]*entry{}} }

// noRank in a finding means the run as a whole.
const noRank int32 = -1

// add records one occurrence.
func (f *findings) add(c finding.Code, rank int32, r model.Ref, detail string) {
	f.addVariant(finding.Plain, c, rank, r, detail)
}

// addVariant records one occurrence with a variant. Plain replaces other variants.
func (f *findings) addVariant(v finding.Variant, c finding.Code, rank int32, r model.Ref, detail string) {
	e := f.byCode[c]
	if e == nil {
		e = &entry{rank: rank, ref: r, detail: detail, variant: v, ranks: map[int32]bool{}}
		f.byCode[c] = e
	}
	if e.variant != finding.Plain && v == finding.Plain {
		e.rank, e.ref, e.detail, e.variant = rank, r, detail, v
	}
	e.count++
	if rank >= 0 {
		e.ranks[rank] = true
	}
	if e.ref.Line == 0 && r.Line > 0 {
		e.rank, e.ref, e.detail = rank, r, detail
	}
}

// proof adds the first proof line of a code whose text was kept.
func (f *findings) proof(c finding.Code, rank int32, r model.Ref) {
	if r.Text != "" && !f.has(c) {
		f.add(c, rank, r, "")
	}
}

func (f *findings) has(c finding.Code) bool { return f.byCode[c] != nil }

// list returns the findings, errors first, then in the order of the codes. If the verdict is efa,
// errors become notes.
func (f *findings) list(v report.Verdict) []report.Finding {
	out := make([]report.Finding, 0, len(f.byCode))
	for _, c := range finding.Codes() {
		e := f.byCode[c]
		if e == nil {
			continue
		}
		severity, cause, next := c.Describe(e.variant)
		if v == report.EFA && severity == report.Error {
			severity = report.Warning
		}
		fd := report.Finding{
			Code: c.String(), Severity: severity, Line: e.ref.Line, Text: Clean(e.ref.Text),
			Cause: cause + e.suffix(), Next: next,
		}
		if e.ref.File != nil {
			fd.File = e.ref.File.Name
		}
		if e.rank >= 0 {
			rank := int(e.rank)
			fd.Rank = &rank
		}
		out = append(out, fd)
	}
	weight := map[report.Severity]int{report.Error: 0, report.Warning: 1, report.Note: 2}
	slices.SortStableFunc(out, func(a, b report.Finding) int { return cmp.Compare(weight[a.Severity], weight[b.Severity]) })
	return out
}

func (e *entry) suffix() string {
	var b strings.Builder
	if e.detail != "" {
		b.WriteString(" (" + e.detail + ")")
	}
	switch {
	case len(e.ranks) > 1:
		fmt.Fprintf(&b, "; %d ranks", len(e.ranks))
	case e.count > 1:
		fmt.Fprintf(&b, "; %d times", e.count)
	}
	return b.String()
}

// Clean makes log text safe for a report: valid UTF-8 without control characters.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
