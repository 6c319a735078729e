// Package refusal defines the reason why an update was refused, as data and as text.
//
// The program, the provider, the CLI and the rehearsal all use this one type. A caller that needs a
// field reads the field; nothing parses the text.
package refusal

import (
	"errors"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

// NothingCreated is the Billing of a refusal that comes before the program creates anything.
const NothingCreated = "this run created nothing; " +
	"resources of earlier runs cost money until `pulumi destroy`"

// Refusal is the reason why an update was refused. It is an error.
type Refusal struct {
	// Code is stable and kebab-case, such as "no-capacity".
	Code string `json:"code" pulumi:"code"`
	// Summary is one line that names what was refused or failed.
	Summary string `json:"summary" pulumi:"summary"`
	// Context holds further lines about what was refused, such as the status of the job.
	Context []string `json:"context,omitempty" pulumi:"context,optional"`
	// Cause says why. Evidence quotes the log line, reply or value that shows it.
	Cause    string `json:"cause" pulumi:"cause"`
	Evidence string `json:"evidence" pulumi:"evidence"`
	// Output holds the last lines that a failed job printed.
	Output []string `json:"output,omitempty" pulumi:"output,optional"`
	// Next is the command to run, or what to do. It is never empty.
	Next string `json:"next" pulumi:"next"`
	// Also lists other findings, one per line.
	Also []string `json:"also,omitempty" pulumi:"also,optional"`
	// ReportPath is the local file with the whole report; empty when there is none.
	ReportPath string `json:"reportPath,omitempty" pulumi:"reportPath,optional"`
	// Billing says what costs money until the cause is fixed, HourlyUSD how much per hour; nil when unknown.
	Billing   string   `json:"billing" pulumi:"billing"`
	HourlyUSD *float64 `json:"hourlyUsd,omitempty" pulumi:"hourlyUsd,optional"`
}

var _ error = (*Refusal)(nil)

// evidenceLines is the greatest number of lines of evidence in the text.
const evidenceLines = 4

// Error returns the refusal as text of at most one screen, without a final newline. Cause, next
// command and billing are never cut.
func (r *Refusal) Error() string {
	lines := append([]string{r.Summary}, r.Context...)
	if r.Cause != "" {
		lines = append(lines, "cause:    "+r.Cause)
	}
	if r.Evidence != "" {
		label := "evidence: "
		for _, line := range screen.Wrap(screen.Printable(r.Evidence), screen.Columns-len(label), evidenceLines) {
			lines = append(lines, label+line)
			label = strings.Repeat(" ", len(label))
		}
	}
	if len(r.Output) > 0 {
		lines = append(lines, "last lines of the job's output:")
		for _, line := range r.Output {
			lines = append(lines, "  | "+line)
		}
	}
	lines = append(lines, "next:     "+r.Next)
	for _, other := range r.Also {
		lines = append(lines, "also:     "+other)
	}
	var ending []string
	if r.ReportPath != "" {
		ending = append(ending, "report:   "+r.ReportPath)
	}
	if r.Billing != "" {
		ending = append(ending, "billing:  "+r.Billing)
	}
	return screen.Fit(lines, ending, "in the report")
}

// All returns all refusals in the error tree of err, in order.
func All(err error) []*Refusal {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case nil:
		return nil
	case *Refusal:
		return []*Refusal{e}
	case interface{ Unwrap() []error }:
		var all []*Refusal
		for _, branch := range e.Unwrap() {
			all = slices.Concat(all, All(branch))
		}
		return all
	default:
		return All(errors.Unwrap(err))
	}
}
