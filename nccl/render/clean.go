package render

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// clean copies a report with every text made printable: logs can hold control
// characters and bytes that are no UTF-8, which XML cannot hold and terminals
// obey.
func clean(r report.Report) report.Report {
	r.Communicators = slices.Clone(r.Communicators)
	for i := range r.Communicators {
		c := &r.Communicators[i]
		c.ID, c.Network, c.Provider = printable(c.ID), printable(c.Network), printable(c.Provider)
		c.Channels = cleanKeys(c.Channels)
	}
	r.Ranks = slices.Clone(r.Ranks)
	for i := range r.Ranks {
		k := &r.Ranks[i]
		k.Host, k.File = printable(k.Host), printable(k.File)
		k.Network, k.Provider, k.Channels = printable(k.Network), printable(k.Provider), cleanKeys(k.Channels)
	}
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Code, f.File, f.Text = printable(f.Code), printable(f.File), printable(f.Text)
		f.Cause, f.Next = printable(f.Cause), printable(f.Next)
	}
	r.Edges = slices.Clone(r.Edges)
	for i := range r.Edges {
		r.Edges[i].Transport = printable(r.Edges[i].Transport)
	}
	return r
}

func cleanKeys(m map[string]int) map[string]int {
	for k := range m {
		if printable(k) != k {
			out := make(map[string]int, len(m))
			for k, n := range m {
				out[printable(k)] += n
			}
			return out
		}
	}
	return m
}

// printable replaces control characters and bytes that are no UTF-8.
func printable(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool { return c < ' ' || (c >= 0x7f && c < 0xa0) || c == '\uFFFD' }) < 0
	if plain {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || (c >= 0x7f && c < 0xa0) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
