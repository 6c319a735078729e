package record

import "bytes"

// What precedes a log line that a report quotes: as text, as JSON, and as
// the package render writes it for browsers and for CI.
const (
	textQuote  = "  line:  "
	jsonQuote  = `"text": "`
	htmlQuote  = `<pre class="mono">`
	junitQuote = "&#xA;" + textQuote
)

// ownReport reports whether the record that starts at start is quoted by an earlier report, which
// is often next to the logs: quoted lines are not evidence.
func (s *Scanner) ownReport(start int) bool {
	before := s.d[max(0, start-32):start]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return string(before) == textQuote || string(bytes.TrimLeft(before, " ")) == jsonQuote ||
		string(before) == htmlQuote || bytes.HasSuffix(before, []byte(junitQuote))
}
