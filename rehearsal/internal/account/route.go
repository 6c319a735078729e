package account

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// everywhere is the destination of a default route.
const everywhere = "0.0.0.0/0"

func routeTableRules(kind resource.Kind) rules[resource.RouteTable] {
	return rules[resource.RouteTable]{
		kind: kind, service: "EC2",
		createVerb: "CreateRouteTable", updateVerb: "ReplaceRoute", deleteVerb: "DeleteRouteTable",
		// Source: pulumi-aws, default delete timeout: 5 minutes.
		retry: 300,
		rows:  func(s *state) table[resource.RouteTable] { return s.RouteTables },
		create: func(o *op, in *resource.RouteTable) (string, error) {
			if _, err := o.vpc(in.VpcID); err != nil {
				return "", err
			}
			id := newID("rtb")
			in.ARN, in.OwnerID = o.arn("ec2", "route-table/"+id), o.AccountID
			return id, o.checkInlineRoutes(id, in)
		},
		update: func(o *op, id string, _, in *resource.RouteTable) error { return o.checkInlineRoutes(id, in) },
		remove: func(o *op, id string, _ *resource.RouteTable) error {
			for _, associationID := range o.Associations.sorted() {
				if o.Associations[associationID].RouteTableID == id {
					// Source: EC2 API error DependencyViolation.
					return api.Errorf("DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted. (rehearsal: association %s)", id, associationID)
				}
			}
			// Routes go with their table.
			for _, routeID := range o.Routes.sorted() {
				if o.Routes[routeID].RouteTableID == id {
					delete(o.Routes, routeID)
				}
			}
			return nil
		},
	}
}

func (o *op) checkInlineRoutes(id string, in *resource.RouteTable) error {
	for _, r := range in.Routes {
		if err := o.checkTarget(id, in.VpcID, r.GatewayID, r.NatGatewayID); err != nil {
			return err
		}
	}
	return nil
}

func routeRules(kind resource.Kind) rules[resource.Route] {
	return rules[resource.Route]{
		kind: kind, service: "EC2",
		createVerb: "CreateRoute", updateVerb: "ReplaceRoute", deleteVerb: "DeleteRoute",
		rows: func(s *state) table[resource.Route] { return s.Routes },
		create: func(o *op, in *resource.Route) (string, error) {
			rt, ok := o.RouteTables[in.RouteTableID]
			if !ok {
				return "", api.Errorf("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", in.RouteTableID)
			}
			for _, other := range o.routesOf(in.RouteTableID) {
				// Source: EC2 API error codes, RouteAlreadyExists.
				if other.DestinationCidrBlock == in.DestinationCidrBlock {
					return "", api.Errorf("RouteAlreadyExists", "The route identified by %s already exists.", in.DestinationCidrBlock)
				}
			}
			in.Origin, in.State = "CreateRoute", "active"
			// The id's form is Terraform's: "r-" + table + a hash of the destination.
			return "r-" + in.RouteTableID + dashed(in.DestinationCidrBlock), o.checkTarget(in.RouteTableID, rt.VpcID, in.GatewayID, in.NatGatewayID)
		},
		update: func(o *op, _ string, _, in *resource.Route) error {
			rt, ok := o.RouteTables[in.RouteTableID]
			if !ok {
				return api.Errorf("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", in.RouteTableID)
			}
			return o.checkTarget(in.RouteTableID, rt.VpcID, in.GatewayID, in.NatGatewayID)
		},
	}
}

// checkTarget checks the gateway of a route.
// Source: EC2 API, CreateRoute, and its error codes.
func (o *op) checkTarget(tableID, vpcID, gatewayID, natID string) error {
	switch {
	case gatewayID == "" && natID == "":
		return api.Errorf("MissingParameter", "The request must contain exactly one target of the route: a gateway, a NAT gateway, ...")
	case gatewayID != "" && natID != "":
		return api.Errorf("InvalidParameterCombination", "The request must contain exactly one target of the route.")
	case natID != "":
		nat, ok := o.NatGateways[natID]
		if !ok {
			return api.Errorf("InvalidNatGatewayID.NotFound", "The natGateway ID '%s' does not exist", natID)
		}
		if subnet, ok := o.Subnets[nat.SubnetID]; ok && subnet.VpcID != vpcID {
			return api.Errorf("InvalidParameterValue", "route table %s and nat gateway %s belong to different networks", tableID, natID)
		}
	case strings.HasPrefix(gatewayID, "igw-"):
		gateway, ok := o.InternetGateways[gatewayID]
		if !ok {
			return api.Errorf("InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist", gatewayID)
		}
		if gateway.VpcID != vpcID {
			return api.Errorf("InvalidParameterValue", "route table %s and network gateway %s belong to different networks", tableID, gatewayID)
		}
	default:
		return api.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", gatewayID)
	}
	return nil
}

func associationRules(kind resource.Kind) rules[resource.RouteTableAssociation] {
	return rules[resource.RouteTableAssociation]{
		kind: kind, service: "EC2",
		createVerb: "AssociateRouteTable", updateVerb: "ReplaceRouteTableAssociation", deleteVerb: "DisassociateRouteTable",
		rows: func(s *state) table[resource.RouteTableAssociation] { return s.Associations },
		create: func(o *op, in *resource.RouteTableAssociation) (string, error) {
			if err := o.checkAssociation(in); err != nil {
				return "", err
			}
			for _, id := range o.Associations.sorted() {
				// Source: EC2 API error codes, Resource.AlreadyAssociated.
				if o.Associations[id].SubnetID == in.SubnetID {
					return "", api.Errorf("Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association (rehearsal: %s)", in.RouteTableID, id)
				}
			}
			return newID("rtbassoc"), nil
		},
		update: func(o *op, _ string, _, in *resource.RouteTableAssociation) error { return o.checkAssociation(in) },
	}
}

func (o *op) checkAssociation(in *resource.RouteTableAssociation) error {
	subnet, err := o.subnet(in.SubnetID)
	if err != nil {
		return err
	}
	rt, ok := o.RouteTables[in.RouteTableID]
	if !ok {
		return api.Errorf("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", in.RouteTableID)
	}
	if rt.VpcID != subnet.VpcID {
		return api.Errorf("InvalidParameterValue", "Route table %s and subnet %s belong to different networks", in.RouteTableID, in.SubnetID)
	}
	return nil
}

// routesOf returns a table's routes, written inside it or on their own.
func (o *op) routesOf(tableID string) []resource.Route {
	var all []resource.Route
	if rt, ok := o.RouteTables[tableID]; ok {
		for _, r := range rt.Routes {
			all = append(all, resource.Route{RouteTableID: tableID, DestinationCidrBlock: r.CidrBlock, GatewayID: r.GatewayID, NatGatewayID: r.NatGatewayID})
		}
	}
	for _, id := range o.Routes.sorted() {
		if o.Routes[id].RouteTableID == tableID {
			all = append(all, *o.Routes[id])
		}
	}
	return all
}

// wayOut says how a subnet reaches the internet: "igw-...", "nat-..." or "".
func (o *op) wayOut(subnetID string) string {
	for _, r := range o.routesOf(o.tableOf(subnetID)) {
		if r.DestinationCidrBlock != everywhere {
			continue
		}
		if strings.HasPrefix(r.GatewayID, "igw-") {
			if _, ok := o.InternetGateways[r.GatewayID]; ok {
				return r.GatewayID
			}
		}
		// A NAT gateway works only where its own subnet reaches the internet.
		// Source: VPC user guide, "NAT gateways": in a public subnet.
		nat, ok := o.NatGateways[r.NatGatewayID]
		if ok && nat.ConnectivityType == "public" && strings.HasPrefix(o.wayOutOfPublic(nat.SubnetID), "igw-") {
			return r.NatGatewayID
		}
	}
	return ""
}

// wayOutOfPublic returns the internet gateway that a subnet routes to, or "".
func (o *op) wayOutOfPublic(subnetID string) string {
	for _, r := range o.routesOf(o.tableOf(subnetID)) {
		if r.DestinationCidrBlock == everywhere && strings.HasPrefix(r.GatewayID, "igw-") {
			return r.GatewayID
		}
	}
	return ""
}

// tableOf returns the route table of a subnet: its own, or the VPC's main one.
func (o *op) tableOf(subnetID string) string {
	for _, id := range o.Associations.sorted() {
		if o.Associations[id].SubnetID == subnetID {
			return o.Associations[id].RouteTableID
		}
	}
	if subnet, ok := o.Subnets[subnetID]; ok {
		if vpc, ok := o.Vpcs[subnet.VpcID]; ok {
			return vpc.MainRouteTableID
		}
	}
	return ""
}

// dashed writes an address or a block the way AWS puts it into names.
func dashed(address string) string {
	return strings.NewReplacer(".", "-", "/", "-").Replace(address)
}
