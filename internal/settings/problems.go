package settings

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
)

// Problem is one invalid or missing setting.
type Problem struct {
	// Key is the setting without its namespace.
	Key string
	// Value is the value that was set; empty if Missing.
	Value string
	// Missing is true for a required setting without a value.
	Missing bool
	// Cause is why the value is invalid; empty if Allowed explains it.
	Cause string
	// Allowed describes the valid values.
	Allowed string
	// Next is the command to run; empty if there is none.
	Next string
}

// String returns the problem in two lines: what is wrong, and what to do.
func (p Problem) String() string {
	text := p.summary()
	if reason := p.Reason(); reason != "" {
		separator := "; "
		if p.Cause != "" {
			separator = ": "
		}
		text += separator + reason
	}
	if p.Next != "" {
		text += "\n      next: " + p.Next
	}
	return text
}

// summary names the setting and its value.
func (p Problem) summary() string {
	if p.Missing {
		return fmt.Sprintf("%s:%s is not set", Namespace, p.Key)
	}
	return fmt.Sprintf("%s:%s is %q", Namespace, p.Key, p.Value)
}

// Reason returns the cause and what is allowed, without the setting's name.
func (p Problem) Reason() string {
	reason := p.Cause
	if p.Allowed == "" {
		return reason
	}
	if reason != "" {
		reason += "; "
	}
	return reason + "allowed: " + p.Allowed
}

// Refusal returns the problem as data.
func (p Problem) Refusal() *refusal.Refusal {
	r := &refusal.Refusal{
		Code: "setting-refused", Summary: p.summary(),
		Cause: p.Cause, Next: p.Next,
		Billing: refusal.NothingCreated,
	}
	if p.Missing {
		r.Code = "setting-missing"
	}
	if p.Allowed != "" {
		r.Context = []string{"allowed: " + p.Allowed}
	}
	return r
}

// Problems are all invalid settings of a stack, in the order of the settings' table.
type Problems []Problem

// Unwrap returns each problem as a refusal.
func (p Problems) Unwrap() []error {
	refusals := make([]error, len(p))
	for i, problem := range p {
		refusals[i] = problem.Refusal()
	}
	return refusals
}

// Error lists all problems, so that they can be fixed at once.
func (p Problems) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "checking the stack's settings: %d invalid", len(p))
	for _, problem := range p {
		fmt.Fprintf(&b, "\n  - %s", problem)
	}
	return b.String()
}
