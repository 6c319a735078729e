package diagnosis

import (
	"regexp"
	"strings"
)

// The beginnings of the lines that Parse reads.
const (
	causeLine = "cause:    "
	nextLine  = "next:     "
)

// Parsed is what a reader of messages gets back out of one.
type Parsed struct{ Code, Cause, Next string }

// headline is a message's first line; the code stands at its end.
var headline = regexp.MustCompile(`refused: could not \S+ \S+ ".*" \(([a-z-]+)\)$`)

// Parse reads a message that Render wrote; false for any other text.
func Parse(message string) (Parsed, bool) {
	lines := strings.Split(message, "\n")
	match := headline.FindStringSubmatch(lines[0])
	if match == nil {
		return Parsed{}, false
	}
	parsed := Parsed{Code: match[1]}
	for _, line := range lines[1:] {
		if text, ok := strings.CutPrefix(line, causeLine); ok {
			parsed.Cause = text
		}
		if text, ok := strings.CutPrefix(line, nextLine); ok {
			parsed.Next = text
		}
	}
	return parsed, true
}
