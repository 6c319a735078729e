// Package faults defines the faults of a rehearsal and their expected results. A fault changes the
// account, the nodes, the charts, the connection to Ray or the settings, not the program. A mistake
// in the program is a break (package breaks).
package faults

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// Phase is the phase in which the program must refuse.
type Phase string

// The phases, in the order in which an update passes through them.
const (
	// PhasePreview means a refusal before anything is created.
	PhasePreview Phase = "preview"
	// PhaseNodes means a refusal during the creation of the node groups.
	PhaseNodes Phase = "nodes"
	// PhasePreflight means a refusal before the job is submitted.
	PhasePreflight Phase = "preflight"
	// PhaseJob means a refusal because the job failed.
	PhaseJob Phase = "job"
	// PhaseGate means a refusal based on the evidence of a finished job.
	PhaseGate Phase = "gate"
	// PhaseNone means that the program must not refuse.
	PhaseNone Phase = "-"
)

// Pin is the NCCL_NET that the job runs with. With a pinned NCCL_NET, NCCL aborts where it would
// otherwise fall back.
type Pin string

const (
	// Pinned sets NCCL_NET to the plugin's name.
	Pinned Pin = "pinned"
	// Unpinned leaves NCCL_NET unset.
	Unpinned Pin = "unpinned"
	// Any is for a fault with the same result either way. It runs pinned.
	Any Pin = "-"
)

// Action is what a fault does once, while the update waits in a phase.
type Action string

// The actions.
const (
	NoAction Action = ""
	// Interrupt interrupts the update, as Ctrl-C does, and runs it again.
	Interrupt Action = "interrupt"
	// Kill kills the engine and its plugins, and runs the update again.
	Kill Action = "kill"
	// SecondUp runs the same update a second time, at once.
	SecondUp Action = "second-up"
	// KillHead and KillWorker delete a pod of the RayCluster without a grace period.
	KillHead   Action = "kill-head"
	KillWorker Action = "kill-worker"
	// LoseNode ends everything on a GPU node, which starts again later.
	LoseNode Action = "lose-node"
	// FreezeAPIServer makes the API server unresponsive for 20 s.
	FreezeAPIServer Action = "freeze-api-server"
	// DeleteRecord deletes the record of the attempt.
	DeleteRecord Action = "delete-record"
	// StopJob stops the job through Ray's own API.
	StopJob Action = "stop-job"
	// SwapImage gives one worker pod another image, before the update.
	SwapImage Action = "swap-image"
)

// Fault is one row of the table: the expected result, and the injected changes. The zero values of
// the changes inject nothing.
type Fault struct {
	Name        string
	Phase       Phase
	Pin         Pin
	Verdict     string
	Description string
	// Cause is the code of the first error finding; "" is not compared.
	Cause string

	// Image is the build of the training image that the stack runs.
	Image images.Variant
	// Account holds the faults of the emulated AWS account.
	Account api.Faults
	// Charts replaces the repository of a chart.
	Charts map[charts.Chart]string
	// Settings are settings of the stack.
	Settings map[string]string
	// Defect is shown by the stand-in for NCCL.
	Defect standin.Defect
	// Plan disturbs the connection to Ray. Plan.Hold is the phase in which Action is done.
	Plan disturb.Plan
	// Action is done once.
	Action Action
	// RefreshAfterRed refreshes the refused stack, then runs up again.
	RefreshAfterRed bool
	// Fast marks the faults that the tests run.
	Fast bool
}

// exitRefused is the exit status of a rehearsal whose update was refused.
const exitRefused = 2

// verdictNone is the verdict of an update that was refused before its job; verdictEFA is the only
// one that passes.
const (
	verdictNone = "none"
	verdictEFA  = "efa"
)

// Shared reports whether the fault needs no infrastructure of its own, so that it runs on a
// standing
// stack with others.
func (f Fault) Shared() bool {
	return len(f.Charts) == 0 && reflect.DeepEqual(f.Account, api.Faults{})
}

// NeedsNewPods reports whether the fault leaves pods, or a job that Ray cannot stop, in the way of the
// next update.
func (f Fault) NeedsNewPods() bool {
	switch f.Action {
	case KillHead, KillWorker, LoseNode, SwapImage:
		return true
	}
	return f.Plan.Effect == disturb.Starve
}

// Find returns the fault called name; "" is the cycle without a fault.
func Find(name string) (Fault, error) {
	if name == "" {
		return Healthy(), nil
	}
	var known []string
	for _, fault := range Table() {
		if fault.Name == name {
			return fault, nil
		}
		known = append(known, fault.Name)
	}
	return Fault{}, fmt.Errorf(
		"--fault %q is not known: allowed are %s; run `raytrain rehearse --list-faults`",
		name,
		strings.Join(known, ", "),
	)
}

// Healthy returns the row of an update without a fault.
func Healthy() Fault {
	return Fault{Verdict: verdictEFA, Pin: Pinned, Phase: PhaseNone, Image: images.Complete}
}

// Match returns the faults whose names match one of several shell patterns, such as
// "log-*,two-ups".
func Match(patterns string) ([]Fault, error) {
	var found []Fault
	for _, fault := range Table() {
		for pattern := range strings.SplitSeq(patterns, ",") {
			matches, err := path.Match(pattern, fault.Name)
			if err != nil {
				return nil, fmt.Errorf("--all-faults=%q: %w; use shell patterns such as \"log-*\"",
					patterns, err)
			}
			if matches {
				found = append(found, fault)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf(
			"--all-faults=%q: no fault matches; run `raytrain rehearse --list-faults`",
			patterns,
		)
	}
	return found, nil
}

// Exit returns the exit status of the fault's cycle.
func (f Fault) Exit() int {
	if f.Phase == PhaseNone {
		return 0
	}
	return exitRefused
}

// ChartRepository returns the repository that serves the chart.
func (f Fault) ChartRepository(chart charts.Chart) string {
	if repository, ok := f.Charts[chart]; ok {
		return repository
	}
	return chart.Repository()
}

// Rows returns the lines of --list-faults: name, phase, pin, verdict, exit, description, separated
// by tabs.
func Rows() []string {
	var rows []string
	for _, f := range Table() {
		rows = append(rows, strings.Join([]string{
			f.Name, string(f.Phase), string(f.Pin), f.Verdict, fmt.Sprint(f.Exit()), f.Description,
		}, "\t"))
	}
	return rows
}
