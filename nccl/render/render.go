// Package render writes a report: as text for terminals, as Markdown for pull requests and job
// summaries, as one self-contained HTML page, as JUnit XML and as JSON.
package render

import (
	"encoding/json"
	"io"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Options holds how a report is written and what it was made from. The zero value suits a file.
type Options struct {
	// Made is when the report was made; the zero time leaves it out.
	Made time.Time
	// Inputs are the paths that were judged, as the user gave them.
	Inputs []string
	// Proof lists the lines that the verdict is based on.
	Proof bool
	// Color marks text with terminal colors.
	Color bool
	// Run is what is known about the run beside its logs, and Charts what it measured. HTML and
	// Markdown show them.
	Run    []Fact
	Charts []chart.Chart
}

// Fact is a named value of a run.
type Fact struct{ Name, Value string }

// Format is one output form.
type Format struct {
	Name  string
	Write func(io.Writer, report.Report, Options) error
}

// Formats lists the output forms, the default first.
func Formats() []Format {
	return []Format{
		{"text", Text}, {"json", JSON}, {"html", HTML}, {"markdown", Markdown}, {"junit", JUnit},
	}
}

// JSON writes the report as the contract says, indented, with empty lists as [] and unknown numbers
// as null. It has every finding, whatever the options say.
func JSON(w io.Writer, r report.Report, _ Options) error {
	r.Communicators, r.Ranks, r.Findings = list(r.Communicators), list(r.Ranks), list(r.Findings)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// list makes a missing list an empty one.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
