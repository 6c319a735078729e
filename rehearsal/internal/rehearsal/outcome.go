package rehearsal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// Outcome is what one step did.
type Outcome struct {
	*engine.Update
	// Refusals holds the refusals of the program, in order.
	Refusals []*refusal.Refusal
	// HourlyUSD is the price of the running stack; nil if the program did not compute it.
	HourlyUSD *float64
	// Unjudged means that the update failed before the gate stored a state: what is stored is an
	// earlier update's.
	Unjudged bool
}

// eventsFile is the file in which the program reports refusals and the price during a step.
func eventsFile(dir string) string { return filepath.Join(dir, "events.jsonl") }

// removeEvents removes the events of the previous step.
func removeEvents(dir string) error {
	if err := os.Remove(eventsFile(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the events of the previous step: %w", err)
	}
	return nil
}

// newOutcome adds the program's events to an update.
func newOutcome(dir string, update *engine.Update) (*Outcome, error) {
	events, err := eventlog.Read(eventsFile(dir))
	if err != nil {
		return nil, err
	}
	outcome := &Outcome{Update: update}
	for _, event := range events {
		if event.Refusal != nil {
			outcome.Refusals = append(outcome.Refusals, event.Refusal)
		}
		if event.HourlyUSD != nil {
			outcome.HourlyUSD = event.HourlyUSD
		}
	}
	return outcome, nil
}

// Findings returns the refusals as findings. If there are none, it returns the errors of the engine
// or of a provider.
func (o *Outcome) Findings() []report.Finding {
	var findings []report.Finding
	for _, r := range o.Refusals {
		findings = append(findings, report.Finding{
			Code: r.Code, Severity: report.Error, Text: r.Error(), Cause: r.Cause, Next: r.Next,
		})
	}
	if len(findings) > 0 {
		return findings
	}
	for _, message := range o.Errors {
		findings = append(findings, report.Finding{Code: "update-refused", Severity: report.Error,
			Text: message})
	}
	return findings
}

// rehearsedMark is the prefix of errors in a rehearsal. The gate marks its own refusals; the
// program does not know that it runs in a rehearsal.
const rehearsedMark = "[rehearsed] "

// messages returns the refusals and the engine's own errors, marked as rehearsed.
func (o *Outcome) messages() []string {
	var messages []string
	for _, r := range o.Refusals {
		marked := *r
		if !strings.HasPrefix(r.Summary, rehearsedMark) {
			marked.Summary = rehearsedMark + r.Summary
			if r.Billing != "" {
				marked.Billing = "nothing in a rehearsal; on AWS: " + r.Billing
			}
		}
		messages = append(messages, marked.Error())
	}
	for _, message := range o.Errors {
		switch {
		case o.reported(message):
		case strings.Contains(message, rehearsedMark):
			messages = append(messages, message)
		default:
			messages = append(messages, rehearsedMark+message)
		}
	}
	return messages
}

// reported reports whether message repeats one of Refusals.
func (o *Outcome) reported(message string) bool {
	if strings.Contains(message, stack.ErrReported.Error()) {
		return true
	}
	for _, r := range o.Refusals {
		if strings.Contains(message, r.Summary) {
			return true
		}
	}
	return false
}
