package render

import (
	"slices"
	"strings"
	"unicode"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// plain copies a report with every text made printable. Logs can hold control characters and bytes
// that are not UTF-8, which XML cannot hold and terminals obey.
func plain(r report.Report) report.Report {
	r.Communicators = slices.Clone(r.Communicators)
	for i := range r.Communicators {
		c := &r.Communicators[i]
		printableAll(&c.ID, &c.Network, &c.Provider)
		c.Channels = printableKeys(c.Channels)
	}
	r.Ranks = slices.Clone(r.Ranks)
	for i := range r.Ranks {
		k := &r.Ranks[i]
		printableAll(&k.Host, &k.Node, &k.File, &k.Network, &k.Provider, &k.Communicator)
		k.Channels = printableKeys(k.Channels)
	}
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		printableAll(&f.Code, &f.File, &f.Text, &f.Cause, &f.Next)
	}
	r.Edges = slices.Clone(r.Edges)
	for i := range r.Edges {
		printableAll(&r.Edges[i].Transport)
	}
	return r
}

func printableAll(texts ...*string) {
	for _, s := range texts {
		*s = printable(*s)
	}
}

func printableKeys(m map[string]int) map[string]int {
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

// printable removes terminal commands, control characters and those that change the direction of
// what follows, and replaces bytes that are not UTF-8.
func printable(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, screen.Printable(strings.ToValidUTF8(s, "\uFFFD")))
}

// isASCII reports whether s is printable ASCII, as nearly everything is.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
