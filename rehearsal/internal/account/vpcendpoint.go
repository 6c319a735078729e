package account

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func vpcEndpointRules(kind resource.Kind) rules[resource.VpcEndpoint] {
	return rules[resource.VpcEndpoint]{
		kind: kind, service: "EC2",
		createVerb: "CreateVpcEndpoint", updateVerb: "ModifyVpcEndpoint", deleteVerb: "DeleteVpcEndpoints",
		rows:   func(s *state) table[resource.VpcEndpoint] { return s.VpcEndpoints },
		create: (*op).createVpcEndpoint,
		update: func(o *op, id string, _, in *resource.VpcEndpoint) error { return o.checkEndpoint(id, in) },
		remove: func(o *op, _ string, gone *resource.VpcEndpoint) error {
			for _, interfaceID := range gone.NetworkInterfaceIDs {
				delete(o.Interfaces, interfaceID)
			}
			return nil
		},
	}
}

func (o *op) createVpcEndpoint(in *resource.VpcEndpoint) (string, error) {
	if _, err := o.vpc(in.VpcID); err != nil {
		return "", err
	}
	if in.VpcEndpointType == "" {
		in.VpcEndpointType = "Gateway"
	}
	id := newID("vpce")
	if err := o.checkEndpoint(id, in); err != nil {
		return "", err
	}
	in.ARN, in.OwnerID, in.State = o.arn("ec2", "vpc-endpoint/"+id), o.AccountID, "available"
	if in.VpcEndpointType == "Gateway" {
		in.PrefixListID = newID("pl")
		return id, nil
	}
	for _, subnetID := range in.SubnetIDs {
		address, err := o.nextAddress(subnetID)
		if err != nil {
			return "", err
		}
		interfaceID := newID("eni")
		o.Interfaces[interfaceID] = &networkInterface{
			SubnetID: subnetID, SecurityGroups: in.SecurityGroupIDs, Owner: id, InterfaceType: "vpc_endpoint", PrivateIP: address,
		}
		in.NetworkInterfaceIDs = append(in.NetworkInterfaceIDs, interfaceID)
	}
	return id, nil
}

// checkEndpoint checks service, type and what they may carry.
// Sources: EC2 API error codes, InvalidServiceName; PrivateLink guide, "Gateway
// endpoints": only S3 and DynamoDB have them, and they sit in route tables.
func (o *op) checkEndpoint(id string, in *resource.VpcEndpoint) error {
	prefix := "com.amazonaws." + o.Region + "."
	service, ok := strings.CutPrefix(in.ServiceName, prefix)
	if !ok {
		return api.Errorf("InvalidServiceName", "The Vpc Endpoint Service '%s' does not exist", in.ServiceName)
	}
	if in.VpcEndpointType != "Gateway" {
		for _, subnetID := range in.SubnetIDs {
			if _, err := o.subnet(subnetID); err != nil {
				return err
			}
		}
		return nil
	}
	if service != "s3" && service != "dynamodb" {
		return api.Errorf("InvalidParameter", "Endpoint type (Gateway) does not match available service types ([Interface]).")
	}
	if len(in.SubnetIDs)+len(in.SecurityGroupIDs) > 0 {
		return api.Errorf("InvalidParameter", "Subnets and security groups are not supported on Gateway endpoints.")
	}
	for _, tableID := range in.RouteTableIDs {
		if _, ok := o.RouteTables[tableID]; !ok {
			return api.Errorf("InvalidRouteTableId.NotFound", "The routeTable ID '%s' does not exist", tableID)
		}
		if other := o.endpointIn(tableID, in.ServiceName, id); other != "" {
			return api.Errorf("RouteAlreadyExists", "route table %s already has a route with destination-prefix-list-id of %s (rehearsal: %s)", tableID, in.ServiceName, other)
		}
	}
	return nil
}

// endpointIn returns another gateway endpoint for the same service in a route table.
func (o *op) endpointIn(tableID, service, except string) string {
	for _, id := range o.VpcEndpoints.sorted() {
		other := o.VpcEndpoints[id]
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
