package settings

import (
	"fmt"
	"regexp"
	"strings"
)

// Capacity is where the GPU nodes get their capacity from.
type Capacity string

const (
	// OfferedCapacity is what AWS has left when the nodes start.
	OfferedCapacity Capacity = "offered"
	// ReservedCapacity is an On-Demand Capacity Reservation of the stack, made before the cluster.
	ReservedCapacity Capacity = "reserve"
	// ExistingCapacity is a reservation, or a resource group of reservations, that exists.
	ExistingCapacity Capacity = "existing"
	// BlockCapacity is a Capacity Block, which was paid for in advance.
	BlockCapacity Capacity = "block"
)

// Sources: EC2 API reference, CapacityReservation; Resource Groups user guide.
var (
	reservationForm = regexp.MustCompile(`^cr-[0-9a-f]{8,17}$`)
	groupForm       = regexp.MustCompile(`^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+$`)
)

// Reservation is the id of a capacity reservation or the ARN of a resource group. The zero value is
// none.
type Reservation string

// IsGroup reports whether the reservation is a resource group.
func (r Reservation) IsGroup() bool { return strings.HasPrefix(string(r), "arn:") }

func parseReservation(text string) (Reservation, error) {
	if text != "" && !reservationForm.MatchString(text) && !groupForm.MatchString(text) {
		return "", errForm
	}
	return Reservation(text), nil
}

func capacityFields() []Field {
	return []Field{
		{
			Key: "gpu.capacity", Type: String, Default: string(OfferedCapacity),
			Description: "Capacity of the GPU nodes. offered: what AWS has left when they start. reserve: an " +
				"On-Demand Capacity Reservation of the stack, made before the cluster; it costs as much as " +
				"the nodes from then on. existing: the reservation in gpu.reservation. block: the " +
				"Capacity Block in gpu.reservation.",
			Allowed: "offered, reserve, existing or block",
			set: oneOf([]Capacity{OfferedCapacity, ReservedCapacity, ExistingCapacity, BlockCapacity},
				func(s *Settings) *Capacity { return &s.GPU.Capacity }),
		},
		{
			Key: "gpu.reservation", Type: String, Default: "", Example: "cr-0123456789abcdef0",
			Description: "Id of the capacity reservation (cr-...) of the GPU nodes, or the ARN of a resource " +
				"group of reservations. Only for gpu.capacity existing and block.",
			Allowed: "the id of a capacity reservation, the ARN of a resource group, or empty",
			set:     parsed(parseReservation, func(s *Settings) *Reservation { return &s.GPU.Reservation }),
		},
	}
}

// capacityProblems reports a reservation that is missing or not used, or that the other settings do not
// fit.
func capacityProblems(s Settings) Problems {
	var problems Problems
	add := func(key, value, cause, next string) {
		problems = append(problems, Problem{Key: key, Value: value, Cause: cause, Next: next})
	}
	named, capacity := s.GPU.Reservation != "", s.GPU.Capacity
	if capacity != ExistingCapacity && capacity != BlockCapacity {
		if named {
			add("gpu.reservation", string(s.GPU.Reservation), fmt.Sprintf("gpu.capacity is %s, which does not use it", capacity),
				"pulumi config set --path gpu.capacity existing, or pulumi config rm --path gpu.reservation")
		}
		return problems
	}
	switch {
	case !named:
		add("gpu.capacity", string(capacity), "gpu.reservation is not set",
			"pulumi config set --path gpu.reservation cr-... (aws ec2 describe-capacity-reservations)")
	case capacity == BlockCapacity && s.GPU.Reservation.IsGroup():
		add("gpu.reservation", string(s.GPU.Reservation), "a Capacity Block has an id of its own",
			"pulumi config set --path gpu.reservation cr-...")
	}
	if s.AvailabilityZone == "" {
		add("availabilityZone", "", "a reservation is in one zone, and it is not named",
			"pulumi config set availabilityZone ZONE (aws ec2 describe-capacity-reservations)")
	}
	// Source: https://github.com/eksctl-io/eksctl/issues/7949: of a reservation of 16
	// outside a placement group, 11 could be used in one.
	if s.GPU.Placement == ClusterPlacement {
		add("gpu.placement", string(s.GPU.Placement), "a reservation that exists is not in the placement group that the stack makes",
			"pulumi config set --path gpu.placement none, or the name of the group that the reservation was made in")
	}
	return problems
}
