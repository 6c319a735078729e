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
	var b strings.Builder
	if p.Missing {
		fmt.Fprintf(&b, "%s:%s is not set", Namespace, p.Key)
	} else {
		fmt.Fprintf(&b, "%s:%s is %q", Namespace, p.Key, p.Value)
	}
	if p.Cause != "" {
		fmt.Fprintf(&b, ": %s", p.Cause)
	}
	if p.Allowed != "" {
		fmt.Fprintf(&b, "; allowed: %s", p.Allowed)
	}
	if p.Next != "" {
		fmt.Fprintf(&b, "\n      next: %s", p.Next)
	}
	return b.String()
}

// Refusal returns the problem as data.
func (p Problem) Refusal() *refusal.Refusal {
	r := &refusal.Refusal{
		Code: "setting-refused", Summary: fmt.Sprintf("%s:%s is %q", Namespace, p.Key, p.Value),
		Cause: p.Cause, Next: p.Next,
		Billing: refusal.NothingCreated,
	}
	if p.Missing {
		r.Code, r.Summary = "setting-missing", fmt.Sprintf("%s:%s is not set", Namespace, p.Key)
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
