// Package faults is the table of what a rehearsal can break, what the program
// must then do, and how each fault is brought about: by what the account, the
// image, the charts or the settings hold, never by a code path of the program.
package faults

import (
	"fmt"
	"strings"
)

// Phase is where the program must refuse.
type Phase string

// The phases, in the order in which an update passes through them.
const (
	// PhasePreview refuses before anything is created.
	PhasePreview Phase = "preview"
	// PhaseNodes refuses while the node groups come up.
	PhaseNodes Phase = "nodes"
	// PhasePreflight refuses before the job is submitted.
	PhasePreflight Phase = "preflight"
	// PhaseJob refuses because the job itself failed.
	PhaseJob Phase = "job"
	// PhaseGate refuses on the evidence of a job that ran.
	PhaseGate Phase = "gate"
)

// Pin says what NCCL_NET the job runs with.
type Pin string

// A pinned NCCL_NET makes NCCL abort where it would fall back; Any means that
// the fault ends the same either way.
const (
	Pinned   Pin = "pinned"
	Unpinned Pin = "unpinned"
	Any      Pin = "-"
)

// ExitRefused is the exit status of a rehearsal whose update was refused.
const ExitRefused = 2

// Image is a fault of the training image.
type Image string

// What a rehearsed image can lack or do wrong.
const (
	ImageWhole         Image = ""
	ImageNoPlugin      Image = "no-plugin"
	ImageNoPluginOnOne Image = "no-plugin-on-one-rank"
	ImageCrash         Image = "crash"
)

// Script is the order of steps that a fault's cycle takes before destroy.
type Script string

// A fault's cycle is one refused up, unless its script says more.
const (
	ScriptUp Script = "up"
	// ScriptRefreshAfterRed refreshes the refused stack, then ups again.
	ScriptRefreshAfterRed Script = "up, refresh, up"
)

// Fault is one row of the table.
type Fault struct {
	Name        string
	Phase       Phase
	Pin         Pin
	Verdict     string
	Exit        int
	Description string

	Script Script
	Image  Image
	// NoCapacity leaves none of the GPU type in any zone.
	NoCapacity bool
	// NoQuota grants no vCPU of the G family.
	NoQuota bool
	// NoEFAPlugin serves an EFA plugin chart whose allow-list lacks the type.
	NoEFAPlugin bool
	// BrokenEFA hands out EFA devices that the provider cannot open.
	BrokenEFA bool
	// NoSelfEgress strips the self-referencing egress rules of every group.
	NoSelfEgress bool
}

// verdictNone is the verdict of an update that was refused before its job.
const verdictNone = "none"

// Table lists every fault, in the order in which --all-faults runs them.
func Table() []Fault {
	return []Fault{
		{Name: "tcp-fallback", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa", Image: ImageNoPlugin,
			Description: "the image has no plugin: the job succeeds over sockets, the gate refuses"},
		{Name: "pinned-abort", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive", Image: ImageNoPlugin,
			Description: "the image has no plugin and NCCL_NET is pinned: NCCL aborts, the job fails"},
		{Name: "efa-device-missing", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone, NoEFAPlugin: true,
			Description: "the EFA plugin has no pod on the nodes: no allocatable EFA, refused before the job"},
		{Name: "efa-device-broken", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa", BrokenEFA: true,
			Description: "EFA is allocatable but the provider cannot open it: sockets after a failed init"},
		{Name: "no-self-egress", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive", NoSelfEgress: true,
			Description: "no group on the interfaces allows egress to itself: set-up, no connection, hang until the deadline"},
		{Name: "one-rank-on-tcp", Phase: PhaseGate, Pin: Unpinned, Verdict: "mixed", Image: ImageNoPluginOnOne,
			Description: "the plugin is missing on one rank: two networks in one communicator, hang and flood until the deadline"},
		{Name: "no-capacity", Phase: PhaseNodes, Pin: Any, Verdict: verdictNone, NoCapacity: true,
			Description: "none of the GPU type in the zone: refused with the scaling activity's reason"},
		{Name: "quota", Phase: PhasePreview, Pin: Any, Verdict: verdictNone, NoQuota: true,
			Description: "96 vCPU of G instances not granted: refused with the increase command"},
		{Name: "job-crash", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive", Image: ImageCrash,
			Description: "the script exits 1: refused with its last lines"},
		{Name: "refresh-after-red", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa", Image: ImageNoPlugin,
			Script: ScriptRefreshAfterRed, Description: "tcp-fallback, then refresh, then up: still refused"},
	}
}

// Find returns the fault called name; "" is the cycle without a fault.
func Find(name string) (Fault, error) {
	if name == "" {
		return Fault{Verdict: "efa", Pin: Pinned, Script: ScriptUp}, nil
	}
	var known []string
	for _, fault := range Table() {
		if fault.Name == name {
			return fault.withDefaults(), nil
		}
		known = append(known, fault.Name)
	}
	return Fault{}, fmt.Errorf("--fault %q is not known: allowed are %s; run `raytrain rehearse --list-faults`",
		name, strings.Join(known, ", "))
}

func (f Fault) withDefaults() Fault {
	f.Exit = ExitRefused
	if f.Script == "" {
		f.Script = ScriptUp
	}
	return f
}

// Rows are the lines of --list-faults: name, phase, pin, verdict, exit,
// description, separated by tabs.
func Rows() []string {
	var rows []string
	for _, fault := range Table() {
		fault = fault.withDefaults()
		rows = append(rows, strings.Join([]string{
			fault.Name, string(fault.Phase), string(fault.Pin), fault.Verdict, fmt.Sprint(fault.Exit), fault.Description,
		}, "\t"))
	}
	return rows
}
