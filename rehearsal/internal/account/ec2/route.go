package ec2

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Route is aws:ec2/route:Route.
type Route struct {
	RouteTableID         string `json:"routeTableId" aws:"required,replace"`
	DestinationCidrBlock string `json:"destinationCidrBlock,omitempty" aws:"replace"`
	GatewayID            string `json:"gatewayId,omitempty"`
	NatGatewayID         string `json:"natGatewayId,omitempty"`

	Origin string `json:"origin,omitempty" aws:"computed"`
	State  string `json:"state,omitempty" aws:"computed"`
}

// AnyIPv4 is the destination of a default route.
const AnyIPv4 = "0.0.0.0/0"

// Routes is the token of Route.
const Routes store.Token[Route] = "aws:ec2/route:Route"

func routeType() store.Type[Route] {
	return store.Type[Route]{
		Service:   "EC2",
		CreateAPI: "CreateRoute", UpdateAPI: "ReplaceRoute", DeleteAPI: "DeleteRoute",
		Token:    Routes,
		Parent:   RouteTables.String(),
		ParentID: func(row *Route) string { return row.RouteTableID },
		Create: func(o *store.Op, in *Route) (string, error) {
			rt, ok := RouteTables.In(o)[in.RouteTableID]
			if !ok {
				return "", api.Errorf("InvalidRouteTableID.NotFound",
					"The routeTable ID '%s' does not exist", in.RouteTableID)
			}
			for _, other := range routesOf(o, in.RouteTableID) {
				// Source: EC2 API error codes, RouteAlreadyExists.
				if other.DestinationCidrBlock == in.DestinationCidrBlock {
					return "", api.Errorf("RouteAlreadyExists",
						"The route identified by %s already exists.", in.DestinationCidrBlock)
				}
			}
			in.Origin, in.State = "CreateRoute", "active"
			// The id's form is Terraform's: "r-" + table + a hash of the destination.
			return "r-" + in.RouteTableID + store.Dashed(
				in.DestinationCidrBlock), checkTarget(o, in.RouteTableID, rt.VpcID, in.GatewayID, in.NatGatewayID)
		},
		Update: func(o *store.Op, _ string, _, in *Route) error {
			rt, ok := RouteTables.In(o)[in.RouteTableID]
			if !ok {
				return api.Errorf("InvalidRouteTableID.NotFound",
					"The routeTable ID '%s' does not exist", in.RouteTableID)
			}
			return checkTarget(o, in.RouteTableID, rt.VpcID, in.GatewayID, in.NatGatewayID)
		},
	}
}

// checkTarget checks the gateway of a route.
// Source: EC2 API, CreateRoute, and its error codes.
func checkTarget(o *store.Op, tableID, vpcID, gatewayID, natID string) error {
	switch {
	case gatewayID == "" && natID == "":
		return api.Errorf("MissingParameter",
			"The request must contain exactly one target of the route: a gateway, a NAT gateway, "+
				"...")
	case gatewayID != "" && natID != "":
		return api.Errorf("InvalidParameterCombination",
			"The request must contain exactly one target of the route.")
	case natID != "":
		nat, ok := NatGateways.In(o)[natID]
		if !ok {
			return api.Errorf("InvalidNatGatewayID.NotFound",
				"The natGateway ID '%s' does not exist", natID)
		}
		if subnet, ok := Subnets.In(o)[nat.SubnetID]; ok && subnet.VpcID != vpcID {
			return api.Errorf("InvalidParameterValue",
				"route table %s and nat gateway %s belong to different networks", tableID, natID)
		}
	case strings.HasPrefix(gatewayID, "igw-"):
		gateway, ok := InternetGateways.In(o)[gatewayID]
		if !ok {
			return api.Errorf("InvalidInternetGatewayID.NotFound",
				"The internetGateway ID '%s' does not exist", gatewayID)
		}
		if gateway.VpcID != vpcID {
			return api.Errorf("InvalidParameterValue",
				"route table %s and network gateway %s belong to different networks", tableID,
				gatewayID)
		}
	default:
		return api.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist",
			gatewayID)
	}
	return nil
}

// routesOf returns a table's routes, written inside it or on their own.
func routesOf(o *store.Op, tableID string) []Route {
	var all []Route
	if rt, ok := RouteTables.In(o)[tableID]; ok {
		for _, r := range rt.Routes {
			all = append(
				all,
				Route{
					RouteTableID:         tableID,
					DestinationCidrBlock: r.CidrBlock,
					GatewayID:            r.GatewayID,
					NatGatewayID:         r.NatGatewayID,
				},
			)
		}
	}
	for _, id := range Routes.In(o).IDs() {
		if Routes.In(o)[id].RouteTableID == tableID {
			all = append(all, *Routes.In(o)[id])
		}
	}
	return all
}

// InternetRoute returns the gateway through which a subnet reaches the internet: "igw-...",
// "nat-..." or "".
func InternetRoute(o *store.Op, subnetID string) string {
	for _, r := range routesOf(o, routeTableOf(o, subnetID)) {
		if r.DestinationCidrBlock != AnyIPv4 {
			continue
		}
		if strings.HasPrefix(r.GatewayID, "igw-") {
			if _, ok := InternetGateways.In(o)[r.GatewayID]; ok {
				return r.GatewayID
			}
		}
		// A NAT gateway works only where its own subnet reaches the internet.
		// Source: VPC user guide, "NAT gateways": in a public subnet.
		nat, ok := NatGateways.In(o)[r.NatGatewayID]
		if ok && nat.ConnectivityType == "public" &&
			strings.HasPrefix(publicRoute(o, nat.SubnetID), "igw-") {
			return r.NatGatewayID
		}
	}
	return ""
}

// publicRoute returns the internet gateway that a subnet routes to, or "".
func publicRoute(o *store.Op, subnetID string) string {
	for _, r := range routesOf(o, routeTableOf(o, subnetID)) {
		if r.DestinationCidrBlock == AnyIPv4 && strings.HasPrefix(r.GatewayID, "igw-") {
			return r.GatewayID
		}
	}
	return ""
}

// routeTableOf returns the route table of a subnet: its own, or the VPC's main one.
func routeTableOf(o *store.Op, subnetID string) string {
	for _, id := range Associations.In(o).IDs() {
		if Associations.In(o)[id].SubnetID == subnetID {
			return Associations.In(o)[id].RouteTableID
		}
	}
	if subnet, ok := Subnets.In(o)[subnetID]; ok {
		if vpc, ok := Vpcs.In(o)[subnet.VpcID]; ok {
			return vpc.MainRouteTableID
		}
	}
	return ""
}
