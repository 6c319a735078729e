package stack

import (
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
)

// whereabouts is the zone of the nodes for whom no output can be waited: as planned, until the network says where it stands.
type whereabouts struct {
	mu   sync.Mutex
	zone string
}

// follow takes the zone over once it is known, which is before anything in it can fail.
func (w *whereabouts) follow(zone pulumi.StringOutput) {
	zone.ApplyT(func(zone string) string {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.zone = zone
		return zone
	})
}

// within places a stack that was described by its plan.
func (w *whereabouts) within(planned diagnosis.Stack) diagnosis.Stack {
	w.mu.Lock()
	defer w.mu.Unlock()
	placed := planned
	others := append([]string{planned.Zone}, planned.OtherZones...)
	placed.OtherZones = slices.DeleteFunc(others, func(zone string) bool { return zone == w.zone })
	slices.Sort(placed.OtherZones)
	placed.Zone = w.zone
	return placed
}
