package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// InternetGateway is aws:ec2/internetGateway:InternetGateway.
type InternetGateway struct {
	VpcID string `json:"vpcId,omitempty" aws:"default"`
	schema.Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
}

// InternetGateways is the token of InternetGateway.
const InternetGateways store.Token[InternetGateway] = "aws:ec2/internetGateway:InternetGateway"

func internetGatewayType() store.Type[InternetGateway] {
	return store.Type[InternetGateway]{
		Service:   "EC2",
		CreateAPI: "CreateInternetGateway", UpdateAPI: "AttachInternetGateway",
		DeleteAPI:     "DetachInternetGateway",
		CreateSeconds: 1, // Terraform provider: attach waiter
		// Source: pulumi-aws, default delete timeout: 20 minutes.
		RetrySeconds: 1200,
		Token:        InternetGateways,
		Blocks:       func(row *InternetGateway) string { return row.VpcID },
		Item:         store.HoldsName[InternetGateway],
		Create: func(o *store.Op, in *InternetGateway) (string, error) {
			if err := checkAttach(o, in.VpcID); err != nil {
				return "", err
			}
			id := store.NewID("igw")
			in.ARN, in.OwnerID = o.ARN("ec2", "internet-gateway/"+id), o.AccountID
			return id, nil
		},
		Update: func(o *store.Op, id string, old, in *InternetGateway) error {
			if old.VpcID == in.VpcID {
				return nil
			}
			if err := checkDetach(o, id, old.VpcID); err != nil {
				return err
			}
			return checkAttach(o, in.VpcID)
		},
		Delete: func(o *store.Op, id string, gone *InternetGateway) error {
			return checkDetach(o, id, gone.VpcID)
		},
	}
}

// checkAttach enforces one internet gateway per VPC.
// Source: VPC user guide, "Internet gateways"; EC2 returns InvalidParameterValue.
func checkAttach(o *store.Op, vpcID string) error {
	if vpcID == "" {
		return nil
	}
	if _, err := findVpc(o, vpcID); err != nil {
		return err
	}
	if internetGatewayOf(o, vpcID) != "" {
		return api.Errorf("InvalidParameterValue",
			"Network %s already has an internet gateway attached", vpcID)
	}
	return nil
}

// checkDetach refuses while public addresses are mapped in the VPC.
// Source: EC2's DependencyViolation on DetachInternetGateway.
func checkDetach(o *store.Op, id, vpcID string) error {
	if vpcID == "" {
		return nil
	}
	for _, interfaceID := range Interfaces.In(o).IDs() {
		found := Interfaces.In(o)[interfaceID]
		subnet, ok := Subnets.In(o)[found.SubnetID]
		if ok && subnet.VpcID == vpcID && found.PublicIP != "" {
			return api.Errorf("DependencyViolation",
				"Network %s has some mapped public address(es). Please unmap those public "+
					"address(es) before detaching the gateway. (rehearsal: %s of %s; gateway %s)",
				vpcID, found.PublicIP, found.Owner, id)
		}
	}
	return nil
}

// internetGatewayOf returns the internet gateway of a VPC, or "".
func internetGatewayOf(o *store.Op, vpcID string) string {
	for _, id := range InternetGateways.In(o).IDs() {
		if InternetGateways.In(o)[id].VpcID == vpcID {
			return id
		}
	}
	return ""
}
