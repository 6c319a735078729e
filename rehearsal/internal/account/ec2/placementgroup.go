package ec2

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// PlacementGroup is aws:ec2/placementGroup:PlacementGroup.
type PlacementGroup struct {
	Name           string `json:"name,omitempty" aws:"autoname,replace"`
	Strategy       string `json:"strategy" aws:"required,replace"`
	PartitionCount int    `json:"partitionCount,omitempty" aws:"default,replace"`
	SpreadLevel    string `json:"spreadLevel,omitempty" aws:"default,replace"`
	schema.Tagged

	ARN              string `json:"arn,omitempty" aws:"computed"`
	PlacementGroupID string `json:"placementGroupId,omitempty" aws:"computed"`
}

// PlacementGroups is the token of PlacementGroup.
const PlacementGroups store.Token[PlacementGroup] = "aws:ec2/placementGroup:PlacementGroup"

func placementGroupType() store.Type[PlacementGroup] {
	return store.Type[PlacementGroup]{
		Service:   "EC2",
		CreateAPI: "CreatePlacementGroup", UpdateAPI: "CreateTags",
		DeleteAPI:     "DeletePlacementGroup",
		CreateSeconds: 2, // Terraform provider: waits for state available
		DeleteSeconds: 2, // Terraform provider: waits for state deleted
		Token:         PlacementGroups,
		Item:          store.HoldsName[PlacementGroup],
		Create: func(o *store.Op, in *PlacementGroup) (string, error) {
			// Source: EC2 API, CreatePlacementGroup, parameter Strategy.
			if !slices.Contains([]string{"cluster", "spread", "partition"}, in.Strategy) {
				return "", api.Errorf("InvalidParameterValue",
					"Value (%s) for parameter strategy is invalid. Valid values: cluster | "+
						"spread | partition",
					in.Strategy)
			}
			// Source: EC2 API error codes, InvalidPlacementGroup.Duplicate.
			if PlacementNamed(o, in.Name) != nil {
				return "", api.Errorf("InvalidPlacementGroup.Duplicate",
					"The Placement Group '%s' already exists.", in.Name)
			}
			in.PlacementGroupID = store.NewID("pg")
			in.ARN = o.ARN("ec2", "placement-group/"+in.Name)
			return in.Name, nil
		},
		Delete: func(o *store.Op, id string, _ *PlacementGroup) error {
			for _, instanceID := range Instances.In(o).IDs() {
				// Source: EC2 API error codes, InvalidPlacementGroup.InUse.
				if Instances.In(o)[instanceID].Placement == id {
					return api.Errorf("InvalidPlacementGroup.InUse",
						"The placement group %s is in use and may not be deleted. (rehearsal: %s "+
							"runs in it)",
						id, instanceID)
				}
			}
			return nil
		},
	}
}

// PlacementNamed returns a placement group or nil.
func PlacementNamed(o *store.Op, name string) *PlacementGroup { return PlacementGroups.In(o)[name] }
