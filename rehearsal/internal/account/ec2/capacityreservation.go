package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// unusedReserved counts the unused places of a zone's reservations for a type.
func unusedReserved(o *store.Op, name, zone string) int {
	free := 0
	for _, reservation := range CapacityReservations.In(o) {
		if reservation.InstanceType == name && reservation.AvailabilityZone == zone {
			free += reservation.InstanceCount
		}
	}
	for _, found := range Instances.In(o) {
		if found.Type == name && found.Zone == zone {
			free--
		}
	}
	return max(free, 0)
}

// CapacityReservation is aws:ec2/capacityReservation:CapacityReservation.
type CapacityReservation struct {
	AvailabilityZone      string `json:"availabilityZone" aws:"required,replace"`
	EBSOptimized          bool   `json:"ebsOptimized,omitempty" aws:"replace"`
	EndDate               string `json:"endDate,omitempty"`
	EndDateType           string `json:"endDateType,omitempty" aws:"initial=unlimited"`
	InstanceCount         int    `json:"instanceCount" aws:"required"`
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty" aws:"replace,initial=open"`
	InstancePlatform      string `json:"instancePlatform" aws:"required,replace"`
	InstanceType          string `json:"instanceType" aws:"required,replace"`
	PlacementGroupARN     string `json:"placementGroupArn,omitempty" aws:"replace"`
	Tenancy               string `json:"tenancy,omitempty" aws:"replace,initial=default"`
	schema.Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
}

// CapacityReservations is the token of CapacityReservation.
const CapacityReservations store.Token[CapacityReservation] = "aws:ec2/capacityReservation:CapacityReservation"

func capacityReservationType() store.Type[CapacityReservation] {
	return store.Type[CapacityReservation]{
		Service:   "EC2",
		CreateAPI: "CreateCapacityReservation", UpdateAPI: "ModifyCapacityReservation",
		DeleteAPI:     "CancelCapacityReservation",
		CreateSeconds: 5, // Terraform provider: waits for state active
		Token:         CapacityReservations,
		Item: func(o *store.Op, row *CapacityReservation) api.Item {
			// Instances that use the reservation are priced as instances.
			unused := float64(unusedReserved(o, row.InstanceType, row.AvailabilityZone))
			return store.Bills(capacity.InstancePrices()[row.InstanceType]*unused,
				"bills at the On-Demand rate even when idle")
		},
		Create: func(o *store.Op, in *CapacityReservation) (string, error) {
			if _, err := PickZone(o, in.AvailabilityZone, ""); err != nil {
				return "", err
			}
			err := checkCapacity(o, in.InstanceType, in.AvailabilityZone, in.InstanceCount, false)
			if err != nil {
				return "", err
			}
			if in.EndDateType == "limited" && in.EndDate == "" {
				// Source: EC2 API, CreateCapacityReservation, parameter EndDate.
				return "", api.Errorf("MissingParameter",
					"EndDate is required when EndDateType is limited.")
			}
			id := store.NewID("cr")
			in.ARN, in.OwnerID = o.ARN("ec2", "capacity-reservation/"+id), o.AccountID
			return id, nil
		},
	}
}
