// Package faults defines the faults of a rehearsal and their expected results. A fault changes the
// account, the image, the charts or the settings, not the program. A mistake in the program is a
// break (package breaks).
package faults

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
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

// Fault is one row of the table: the expected result, and the injected changes. The zero values of
// the changes inject nothing.
type Fault struct {
	Name        string
	Phase       Phase
	Pin         Pin
	Verdict     string
	Description string

	// Image is the build of the training image that the stack runs.
	Image images.Variant
	// Account holds the faults of the emulated AWS account.
	Account api.Faults
	// Charts replaces the repository of a chart.
	Charts map[charts.Chart]string
	// Settings are settings of the stack.
	Settings map[string]string
	// RefreshAfterRed refreshes the refused stack, then runs up again.
	RefreshAfterRed bool
}

// exitRefused is the exit status of a rehearsal whose update was refused.
const exitRefused = 2

// verdictNone is the verdict of an update that was refused before its job.
const verdictNone = "none"

// gpuType and gpuQuota are the default GPU type and its quota of On-Demand vCPUs.
const (
	gpuType  = "g6.12xlarge"
	gpuQuota = "L-DB2E81BA"
)

// Table lists every fault, in the order in which --all-faults runs them.
func Table() []Fault {
	// A hanging job has written all its lines long before this deadline.
	hang := map[string]string{"job.deadlineSeconds": "90"}
	return []Fault{
		{Name: "tcp-fallback", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa",
			Image:       images.WithoutPlugin,
			Description: "the image has no plugin: the job succeeds over sockets, the gate refuses"},
		{Name: "pinned-abort", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Image:       images.WithoutPlugin,
			Description: "the image has no plugin and NCCL_NET is pinned: NCCL aborts, the job fails"},
		{Name: "efa-device-missing", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Charts:      map[charts.Chart]string{charts.EFADevicePlugin: charts.StaleEFARepository},
			Description: "the EFA plugin has no pod on the nodes: no allocatable EFA, refused before the job"},
		{Name: "efa-device-broken", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa",
			Account:     api.Faults{EFADeviceBroken: true},
			Description: "EFA is allocatable but the provider cannot open it: sockets after a failed init"},
		{Name: "no-self-egress", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Settings:    hang,
			Account:     api.Faults{StripSelfEgress: true},
			Description: "no group on the interfaces allows egress to itself: set-up, no connection, hang until the deadline"},
		{Name: "one-rank-on-tcp", Phase: PhaseGate, Pin: Unpinned, Verdict: "mixed", Settings: hang,
			Image:       images.OneRankWithoutPlugin,
			Description: "the plugin is missing on one rank: two networks in one communicator, hang and flood until the deadline"},
		{Name: "no-capacity", Phase: PhaseNodes, Pin: Any, Verdict: verdictNone,
			Account:     api.Faults{NoCapacity: []api.TypeInZone{{Type: gpuType}}},
			Description: "none of the GPU type in the zone: refused with the scaling activity's reason"},
		{Name: "quota", Phase: PhasePreview, Pin: Any, Verdict: verdictNone,
			Account:     api.Faults{Quota: map[string]float64{gpuQuota: 0}},
			Description: "96 vCPU of G instances not granted: refused with the increase command"},
		{Name: "job-crash", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Image:       images.Crashing,
			Description: "the script exits 1: refused with its last lines"},
		{Name: "refresh-after-red", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa",
			Image:           images.WithoutPlugin,
			RefreshAfterRed: true, Description: "tcp-fallback, then refresh, then up: still refused"},
	}
}

// Find returns the fault called name; "" is the cycle without a fault.
func Find(name string) (Fault, error) {
	if name == "" {
		return Fault{Verdict: "efa", Pin: Pinned, Image: images.Complete}, nil
	}
	var known []string
	for _, fault := range Table() {
		if fault.Name == name {
			if fault.Image == "" {
				fault.Image = images.Complete
			}
			return fault, nil
		}
		known = append(known, fault.Name)
	}
	return Fault{}, fmt.Errorf("--fault %q is not known: allowed are %s; run `raytrain rehearse --list-faults`",
		name, strings.Join(known, ", "))
}

// Exit returns the exit status of the fault's cycle.
func (f Fault) Exit() int {
	if f.Name == "" {
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
