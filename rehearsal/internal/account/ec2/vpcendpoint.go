package ec2

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// VpcEndpoint is aws:ec2/vpcEndpoint:VpcEndpoint.
type VpcEndpoint struct {
	VpcID             string          `json:"vpcId" aws:"required,replace"`
	ServiceName       string          `json:"serviceName,omitempty" aws:"replace"`
	VpcEndpointType   string          `json:"vpcEndpointType,omitempty" aws:"replace,initial=Gateway"`
	RouteTableIDs     []string        `json:"routeTableIds,omitempty" aws:"default"`
	SubnetIDs         []string        `json:"subnetIds,omitempty" aws:"default"`
	SecurityGroupIDs  []string        `json:"securityGroupIds,omitempty" aws:"default"`
	PrivateDNSEnabled bool            `json:"privateDnsEnabled,omitempty" aws:"default"`
	Policy            schema.Document `json:"policy,omitempty" aws:"default"`
	schema.Tagged

	ARN                 string   `json:"arn,omitempty" aws:"computed"`
	CidrBlocks          []string `json:"cidrBlocks,omitempty" aws:"computed"`
	NetworkInterfaceIDs []string `json:"networkInterfaceIds,omitempty" aws:"computed"`
	OwnerID             string   `json:"ownerId,omitempty" aws:"computed"`
	PrefixListID        string   `json:"prefixListId,omitempty" aws:"computed"`
	State               string   `json:"state,omitempty" aws:"computed"`
}

// VpcEndpoints is the token of VpcEndpoint.
const VpcEndpoints store.Token[VpcEndpoint] = "aws:ec2/vpcEndpoint:VpcEndpoint"

func vpcEndpointType() store.Type[VpcEndpoint] {
	return store.Type[VpcEndpoint]{
		Service:   "EC2",
		CreateAPI: "CreateVpcEndpoint", UpdateAPI: "ModifyVpcEndpoint",
		DeleteAPI:     "DeleteVpcEndpoints",
		CreateSeconds: 6, // Terraform provider: gateway endpoints are available at once
		Token:         VpcEndpoints,
		Blocks:        func(row *VpcEndpoint) string { return row.VpcID },
		Item: func(_ *store.Op, row *VpcEndpoint) api.Item {
			if row.VpcEndpointType == "Gateway" {
				return api.Item{BlocksName: true}
			}
			return store.Bills(priceEndpoint*float64(len(row.NetworkInterfaceIDs)), row.ServiceName)
		},
		Create: createVpcEndpoint,
		Update: func(o *store.Op, id string, _, in *VpcEndpoint) error {
			return checkEndpoint(o, id, in)
		},
		Delete: func(o *store.Op, _ string, gone *VpcEndpoint) error {
			for _, interfaceID := range gone.NetworkInterfaceIDs {
				delete(Interfaces.In(o), interfaceID)
			}
			return nil
		},
	}
}

func createVpcEndpoint(o *store.Op, in *VpcEndpoint) (string, error) {
	if _, err := findVpc(o, in.VpcID); err != nil {
		return "", err
	}
	if in.VpcEndpointType == "" {
		in.VpcEndpointType = "Gateway"
	}
	id := store.NewID("vpce")
	if err := checkEndpoint(o, id, in); err != nil {
		return "", err
	}
	in.ARN, in.OwnerID, in.State = o.ARN("ec2", "vpc-endpoint/"+id), o.AccountID, "available"
	if in.VpcEndpointType == "Gateway" {
		in.PrefixListID = store.NewID("pl")
		return id, nil
	}
	for _, subnetID := range in.SubnetIDs {
		address, err := NextAddress(o, subnetID)
		if err != nil {
			return "", err
		}
		interfaceID := store.NewID("eni")
		Interfaces.In(o)[interfaceID] = &NetworkInterface{
			SubnetID: subnetID, SecurityGroups: in.SecurityGroupIDs, Owner: id,
			InterfaceType: "vpc_endpoint", PrivateIP: address,
		}
		in.NetworkInterfaceIDs = append(in.NetworkInterfaceIDs, interfaceID)
	}
	return id, nil
}

// checkEndpoint checks service, type and what they may carry.
// Sources: EC2 API error codes, InvalidServiceName; PrivateLink guide, "Gateway
// endpoints": only S3 and DynamoDB have them, and they sit in route tables.
func checkEndpoint(o *store.Op, id string, in *VpcEndpoint) error {
	prefix := "com.amazonaws." + o.Region + "."
	service, ok := strings.CutPrefix(in.ServiceName, prefix)
	if !ok {
		return api.Errorf("InvalidServiceName", "The Vpc Endpoint Service '%s' does not exist",
			in.ServiceName)
	}
	if in.VpcEndpointType != "Gateway" {
		for _, subnetID := range in.SubnetIDs {
			if _, err := findSubnet(o, subnetID); err != nil {
				return err
			}
		}
		return nil
	}
	if service != "s3" && service != "dynamodb" {
		return api.Errorf("InvalidParameter",
			"Endpoint type (Gateway) does not match available service types ([Interface]).")
	}
	if len(in.SubnetIDs)+len(in.SecurityGroupIDs) > 0 {
		return api.Errorf("InvalidParameter",
			"Subnets and security groups are not supported on Gateway endpoints.")
	}
	for _, tableID := range in.RouteTableIDs {
		if _, ok := RouteTables.In(o)[tableID]; !ok {
			return api.Errorf("InvalidRouteTableId.NotFound",
				"The routeTable ID '%s' does not exist", tableID)
		}
		if other := endpointIn(o, tableID, in.ServiceName, id); other != "" {
			return api.Errorf("RouteAlreadyExists",
				"route table %s already has a route with destination-prefix-list-id of %s "+
					"(rehearsal: %s)",
				tableID, in.ServiceName, other)
		}
	}
	return nil
}

// endpointIn returns another gateway endpoint for the same service in a route table.
func endpointIn(o *store.Op, tableID, service, except string) string {
	for _, id := range VpcEndpoints.In(o).IDs() {
		other := VpcEndpoints.In(o)[id]
		if id == except || other.ServiceName != service {
			continue
		}
		for _, used := range other.RouteTableIDs {
			if used == tableID {
				return id
			}
		}
	}
	return ""
}

// priceEndpoint is what an interface endpoint costs per hour and zone, in USD of us-east-1.
// Source: AWS PrivateLink pricing.
const priceEndpoint = 0.01
