package stack

import (
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
)

// nodeZone is the zone of the nodes for code that cannot wait for an output. It is the planned zone
// until the zone of the nodes' subnet is known.
type nodeZone struct {
	mu   sync.Mutex
	zone string
}

// follow takes over the zone of the subnet, which is known before anything in it can fail.
func (z *nodeZone) follow(zone pulumi.StringOutput) {
	zone.ApplyT(func(zone string) string {
		z.set(zone)
		return zone
	})
}

func (z *nodeZone) set(zone string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.zone = zone
}

// correct returns the planned stack with the zone that the nodes really have.
func (z *nodeZone) correct(planned diagnosis.Stack) diagnosis.Stack {
	z.mu.Lock()
	defer z.mu.Unlock()
	corrected := planned
	others := append([]string{planned.Zone}, planned.OtherZones...)
	corrected.OtherZones = slices.DeleteFunc(others, func(zone string) bool { return zone == z.zone })
	slices.Sort(corrected.OtherZones)
	corrected.Zone = z.zone
	return corrected
}
