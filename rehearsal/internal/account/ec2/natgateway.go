package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// NatGateway is aws:ec2/natGateway:NatGateway.
type NatGateway struct {
	AllocationID     string `json:"allocationId,omitempty" aws:"replace"`
	ConnectivityType string `json:"connectivityType,omitempty" aws:"replace,initial=public"`
	PrivateIP        string `json:"privateIp,omitempty" aws:"default,replace"`
	SubnetID         string `json:"subnetId" aws:"required,replace"`
	schema.Tagged

	AssociationID      string `json:"associationId,omitempty" aws:"computed"`
	NetworkInterfaceID string `json:"networkInterfaceId,omitempty" aws:"computed"`
	PublicIP           string `json:"publicIp,omitempty" aws:"computed"`
}

// NatGateways is the token of NatGateway.
const NatGateways store.Token[NatGateway] = "aws:ec2/natGateway:NatGateway"

func natGatewayType() store.Type[NatGateway] {
	return store.Type[NatGateway]{
		Service:   "EC2",
		CreateAPI: "CreateNatGateway", UpdateAPI: "CreateTags", DeleteAPI: "DeleteNatGateway",
		CreateSeconds: 100, // Terraform provider: usually 1.5 to 2 minutes
		DeleteSeconds: 60,  // Terraform provider: usually about a minute
		Token:         NatGateways,
		Item: func(*store.Op, *NatGateway) api.Item {
			return store.Bills(capacity.NATGatewayUSD, "")
		},
		Create: createNatGateway,
		Delete: func(o *store.Op, _ string, gone *NatGateway) error {
			delete(Interfaces.In(o), gone.NetworkInterfaceID)
			if eip, ok := Eips.In(o)[gone.AllocationID]; ok {
				eip.AssociationID = ""
			}
			return nil
		},
	}
}

func createNatGateway(o *store.Op, in *NatGateway) (string, error) {
	subnet, err := findSubnet(o, in.SubnetID)
	if err != nil {
		return "", err
	}
	if in.ConnectivityType == "" {
		in.ConnectivityType = "public"
	}
	eip, ok := Eips.In(o)[in.AllocationID]
	switch {
	case in.ConnectivityType == "private" && in.AllocationID != "":
		return "", api.Errorf("InvalidParameterCombination",
			"You cannot specify an allocation ID for a private NAT gateway.")
	case in.ConnectivityType == "private":
	case in.AllocationID == "":
		// Source: EC2 API, CreateNatGateway: AllocationId is required for public ones.
		return "", api.Errorf("MissingParameter",
			"The request must include the AllocationId parameter. Add the required parameter and "+
				"retry the request.")
	case !ok:
		return "", api.Errorf("InvalidAllocationID.NotFound",
			"The allocation ID '%s' does not exist", in.AllocationID)
	case eip.AssociationID != "":
		// Source: VPC user guide, "Troubleshoot NAT gateways", Resource.AlreadyAssociated.
		return "", api.Errorf("Resource.AlreadyAssociated",
			"Elastic IP address [%s] is already associated", in.AllocationID)
	case internetGatewayOf(o, subnet.VpcID) == "":
		// Source: VPC user guide, "Troubleshoot NAT gateways", Gateway.NotAttached.
		return "", api.Errorf("Gateway.NotAttached", "Network %s has no Internet gateway attached",
			subnet.VpcID)
	}
	address, err := NextAddress(o, in.SubnetID)
	if err != nil {
		return "", err
	}
	id := store.NewID("nat")
	in.NetworkInterfaceID = store.NewID("eni")
	in.PrivateIP = address
	nic := &NetworkInterface{
		SubnetID:      in.SubnetID,
		Owner:         id,
		InterfaceType: "nat_gateway",
		PrivateIP:     address,
	}
	if eip != nil {
		eip.AssociationID = store.NewID("eipassoc")
		in.AssociationID, in.PublicIP, nic.PublicIP = eip.AssociationID, eip.PublicIP, eip.PublicIP
	}
	Interfaces.In(o)[in.NetworkInterfaceID] = nic
	return id, nil
}
