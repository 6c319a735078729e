package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// RouteTable is aws:ec2/routeTable:RouteTable.
type RouteTable struct {
	VpcID  string            `json:"vpcId" aws:"required,replace"`
	Routes []RouteTableRoute `json:"routes,omitempty" aws:"default"`
	schema.Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
	// Main is true for the table that AWS makes with the VPC.
	Main bool `json:"_main,omitempty" aws:"hidden"`
}

// RouteTableRoute is a route that is written inside its table.
type RouteTableRoute struct {
	CidrBlock    string `json:"cidrBlock,omitempty"`
	GatewayID    string `json:"gatewayId,omitempty"`
	NatGatewayID string `json:"natGatewayId,omitempty"`
}

// RouteTableAssociation is aws:ec2/routeTableAssociation:RouteTableAssociation.
type RouteTableAssociation struct {
	RouteTableID string `json:"routeTableId" aws:"required"`
	SubnetID     string `json:"subnetId,omitempty" aws:"replace"`
}

// RouteTables is the token of RouteTable.
const RouteTables store.Token[RouteTable] = "aws:ec2/routeTable:RouteTable"

func routeTableType() store.Type[RouteTable] {
	return store.Type[RouteTable]{
		Service:   "EC2",
		CreateAPI: "CreateRouteTable", UpdateAPI: "ReplaceRoute", DeleteAPI: "DeleteRouteTable",
		// Source: pulumi-aws, default delete timeout: 5 minutes.
		RetrySeconds: 300,
		Token:        RouteTables,
		Parent:       Vpcs.String(),
		ParentID:     func(row *RouteTable) string { return when(row.Main, row.VpcID) },
		Blocks:       func(row *RouteTable) string { return when(!row.Main, row.VpcID) },
		Item: func(_ *store.Op, row *RouteTable) api.Item {
			return api.Item{BlocksName: !row.Main}
		},
		Create: func(o *store.Op, in *RouteTable) (string, error) {
			if _, err := findVpc(o, in.VpcID); err != nil {
				return "", err
			}
			id := store.NewID("rtb")
			in.ARN, in.OwnerID = o.ARN("ec2", "route-table/"+id), o.AccountID
			return id, checkInlineRoutes(o, id, in)
		},
		Update: func(o *store.Op, id string, _, in *RouteTable) error {
			return checkInlineRoutes(o, id, in)
		},
		Delete: func(o *store.Op, id string, _ *RouteTable) error {
			// Source: EC2 API error DependencyViolation.
			association := Associations.In(o).Any(
				func(row *RouteTableAssociation) bool { return row.RouteTableID == id })
			if association != "" {
				return api.Errorf("DependencyViolation",
					"The routeTable '%s' has dependencies and cannot be deleted. (rehearsal: "+
						"association %s)",
					id, association)
			}
			return nil
		},
	}
}

func checkInlineRoutes(o *store.Op, id string, in *RouteTable) error {
	for _, r := range in.Routes {
		if err := checkTarget(o, id, in.VpcID, r.GatewayID, r.NatGatewayID); err != nil {
			return err
		}
	}
	return nil
}

// Associations is the token of RouteTableAssociation.
const Associations store.Token[RouteTableAssociation] = "aws:ec2/routeTableAssociation:RouteTableAssociation"

func associationType() store.Type[RouteTableAssociation] {
	return store.Type[RouteTableAssociation]{
		Service:   "EC2",
		CreateAPI: "AssociateRouteTable", UpdateAPI: "ReplaceRouteTableAssociation",
		DeleteAPI: "DisassociateRouteTable",
		Token:     Associations,
		Parent:    Subnets.String(),
		ParentID:  func(row *RouteTableAssociation) string { return row.SubnetID },
		Create: func(o *store.Op, in *RouteTableAssociation) (string, error) {
			if err := checkAssociation(o, in); err != nil {
				return "", err
			}
			for _, id := range Associations.In(o).IDs() {
				// Source: EC2 API error codes, Resource.AlreadyAssociated.
				if Associations.In(o)[id].SubnetID == in.SubnetID {
					return "", api.Errorf("Resource.AlreadyAssociated",
						"the specified association for route table %s conflicts with an existing "+
							"association (rehearsal: %s)",
						in.RouteTableID, id)
				}
			}
			return store.NewID("rtbassoc"), nil
		},
		Update: func(o *store.Op, _ string, _, in *RouteTableAssociation) error {
			return checkAssociation(o, in)
		},
	}
}

func checkAssociation(o *store.Op, in *RouteTableAssociation) error {
	subnet, err := findSubnet(o, in.SubnetID)
	if err != nil {
		return err
	}
	rt, ok := RouteTables.In(o)[in.RouteTableID]
	if !ok {
		return api.Errorf("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist",
			in.RouteTableID)
	}
	if rt.VpcID != subnet.VpcID {
		return api.Errorf("InvalidParameterValue",
			"Route table %s and subnet %s belong to different networks", in.RouteTableID,
			in.SubnetID)
	}
	return nil
}
