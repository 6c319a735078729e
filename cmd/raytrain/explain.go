package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
	"github.com/ray-train-efa/ray-train-efa/provider/explain"
)

// explainFinding writes the meaning of a finding, why it happens, the next step and the sources.
func explainFinding(w io.Writer, code string) error {
	e, ok := explain.Find(code)
	if !ok {
		return fmt.Errorf("flag --explain %q: no such finding: must be one of\n%s",
			code, indent(strings.Join(explain.Codes(), " ")))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", e.Code, e.Severity)
	for _, part := range []struct{ title, text string }{
		{"Meaning", e.Meaning}, {"Why it happens", e.How}, {"Next", e.Next},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", part.title, indent(strings.ToUpper(part.text[:1])+part.text[1:]))
		}
	}
	if len(e.Sources) > 0 {
		fmt.Fprintf(&b, "\nSources:\n  %s\n", strings.Join(e.Sources, "\n  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// indent wraps a text for a terminal.
func indent(text string) string {
	const columns, lines = 78, 100
	return "  " + strings.Join(screen.Wrap(text, columns, lines), "\n  ")
}
