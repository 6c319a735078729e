// Package screen limits messages to one terminal screen and removes terminal control sequences.
package screen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The size of a message, which leaves room for lines of the engine.
const (
	// Lines is the greatest number of lines of a message.
	Lines = 20
	// Columns is the greatest length of a line, in characters.
	Columns = 160
)

// whole returns the prefixes of lines that are never cut.
func whole() []string { return []string{"cause:", "next:", "report:"} }

// Fit returns at most one screen of lines and always keeps the ending. more says where the omitted
// lines are.
func Fit(lines, ending []string, more string) string {
	if room := Lines - len(ending); len(lines) > room {
		left := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("... %d more lines %s", left, more))
	}
	all := slices.Concat(lines, ending)
	for i, line := range all {
		all[i] = clip(Printable(line))
	}
	return strings.Join(all, "\n")
}

// ansi matches terminal control sequences.
var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

func clip(line string) string {
	runes := []rune(line)
	keep := slices.ContainsFunc(whole(), func(start string) bool { return strings.HasPrefix(line, start) })
	if len(runes) <= Columns || keep {
		return line
	}
	return string(runes[:Columns-3]) + "..."
}

// Printable returns line without colors and control characters.
func Printable(line string) string {
	line = ansi.ReplaceAllString(line, "")
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		if unicode.IsControl(r) { // the 8-bit ones from 0x80 too: some terminals obey them
			return -1
		}
		return r
	}, line)
}

// Wrap breaks a text between words into lines of at most width characters, and cuts what is beyond
// the given number of lines. A word that is longer than a line stays whole.
func Wrap(text string, width, lines int) []string {
	var wrapped []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			wrapped = append(wrapped, line)
			line = word
		}
	}
	wrapped = append(wrapped, line)
	if len(wrapped) > lines {
		wrapped = wrapped[:lines]
		wrapped[lines-1] += " ..."
	}
	return wrapped
}
