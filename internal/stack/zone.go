package stack

import (
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// nodeZone is the zone of the nodes for code that cannot wait for an output. It is the planned zone
// until the zone of the nodes' subnet is known.
type nodeZone struct {
	mu   sync.Mutex
	zone region.Zone
}

// follow sets the zone once the zone of the subnet is known.
func (z *nodeZone) follow(zone pulumi.StringOutput) {
	zone.ApplyT(func(zone string) string {
		z.set(region.Zone(zone))
		return zone
	})
}

func (z *nodeZone) set(zone region.Zone) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.zone = zone
}

// correct returns the planned stack with the actual zone of the nodes.
func (z *nodeZone) correct(planned diagnosis.Stack) diagnosis.Stack {
	z.mu.Lock()
	defer z.mu.Unlock()
	corrected := planned
	others := append([]region.Zone{planned.Zone}, planned.OtherZones...)
	corrected.OtherZones = slices.DeleteFunc(others, func(zone region.Zone) bool { return zone == z.zone })
	slices.Sort(corrected.OtherZones)
	corrected.Zone = z.zone
	return corrected
}
