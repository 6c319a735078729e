package synth

import (
	"fmt"
	"strings"
)

// dedup drops repeated lines as Ray's driver does: the key of a line is its
// words without digits; a second source with a known key is dropped, and only
// the last instance is printed, with a count above 1.
func dedup(lines []printed) []printed {
	type state struct {
		first   *process
		last    printed
		swallow int
	}
	seen := map[string]*state{}
	var order []string
	var out []printed
	for _, l := range lines {
		k := dedupKey(l.text)
		s, ok := seen[k]
		switch {
		case !ok:
			seen[k] = &state{first: l.from}
			order = append(order, k)
			out = append(out, l)
		case s.first == l.from && s.swallow == 0:
			out = append(out, l)
		default:
			s.last = l
			s.swallow++
		}
	}
	hinted := false
	for _, k := range order {
		s := seen[k]
		if s.swallow == 0 {
			continue
		}
		l := s.last
		if s.swallow > 1 {
			hint := ""
			if !hinted {
				hint, hinted = " (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication)", true
			}
			l.text += fmt.Sprintf("\x1b[32m [repeated %dx across cluster]%s\x1b[0m", s.swallow, hint)
		}
		out = append(out, l)
	}
	return out
}

func dedupKey(text string) string {
	words := strings.Fields(text)
	kept := words[:0]
	for _, word := range words {
		if !strings.ContainsAny(word, "0123456789") {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}
