package engine

import (
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// StepState is the state of one resource's step.
type StepState string

// The states of a step.
const (
	Running StepState = "running"
	Done    StepState = "done"
	Failed  StepState = "failed"
	// Unfinished is a step that did not complete because the update failed.
	Unfinished StepState = "unfinished"
)

// Step is one resource's part in an update.
type Step struct {
	URN, Type, Name, Parent string
	Op                      apitype.OpType
	State                   StepState
	Start, End              time.Time
}

// Update is the result of one run of the engine.
type Update struct {
	Title      string
	Start, End time.Time
	// Err is the engine's error; nil if it succeeded.
	Err error
	// Steps are in the order in which they started.
	Steps []Step
	// Errors, Warnings and Info are the messages of the program, the engine and its plugins, in
	// order and without colors.
	Errors, Warnings, Info []string
	// Changes counts the resources by operation. Same and read are left out.
	Changes map[apitype.OpType]int
}

// Failed returns the step that failed first.
func (u *Update) Failed() (Step, bool) {
	for _, step := range u.Steps {
		if step.State == Failed {
			return step, true
		}
	}
	return Step{}, false
}

// Seconds returns how long the engine ran.
func (u *Update) Seconds() float64 { return u.End.Sub(u.Start).Seconds() }
