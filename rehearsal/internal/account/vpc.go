package account

import (
	"net/netip"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func vpcRules(kind resource.Kind) rules[resource.Vpc] {
	return rules[resource.Vpc]{
		kind: kind, service: "EC2",
		createVerb: "CreateVpc", updateVerb: "ModifyVpcAttribute", deleteVerb: "DeleteVpc",
		// Source: pulumi-aws, default delete timeout: 5 minutes.
		retry:  300,
		rows:   func(s *state) table[resource.Vpc] { return s.Vpcs },
		create: (*op).createVpc,
		remove: (*op).removeVpc,
	}
}

func (o *op) createVpc(in *resource.Vpc) (string, error) {
	block, err := netip.ParsePrefix(in.CidrBlock)
	// Source: VPC user guide, "VPC CIDR blocks": between /28 and /16.
	if err != nil || !block.Addr().Is4() || block.Bits() < 16 || block.Bits() > 28 {
		return "", api.Errorf("InvalidVpc.Range", "The CIDR '%s' is invalid.", in.CidrBlock)
	}
	// Source: VPC user guide, "Amazon VPC quotas".
	if limit := o.quota(quotaVpcs); float64(len(o.Vpcs)) >= limit {
		return "", api.Errorf("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	}
	// EC2 clears the host bits of a block: CreateVpc, parameter CidrBlock.
	in.CidrBlock = block.Masked().String()
	id := newID("vpc")
	in.ARN = o.arn("ec2", "vpc/"+id)
	in.OwnerID = o.AccountID
	in.DefaultNetworkACLID = newID("acl")
	in.DHCPOptionsID = newID("dopt")
	if in.InstanceTenancy == "" {
		in.InstanceTenancy = "default"
	}
	if in.EnableDNSSupport == nil {
		on := true
		in.EnableDNSSupport = &on
	}
	in.DefaultSecurityGroupID = o.createDefaultGroup(id)
	in.MainRouteTableID = newID("rtb")
	in.DefaultRouteTableID = in.MainRouteTableID
	o.RouteTables[in.MainRouteTableID] = &resource.RouteTable{
		VpcID: id, Main: true, OwnerID: o.AccountID, ARN: o.arn("ec2", "route-table/"+in.MainRouteTableID),
	}
	return id, nil
}

// createDefaultGroup makes the security group that every VPC has.
// Source: VPC user guide, "Default security groups": ingress from itself, all egress.
func (o *op) createDefaultGroup(vpcID string) string {
	id := newID("sg")
	o.SecurityGroups[id] = &resource.SecurityGroup{
		Name: "default", Description: "default VPC security group", VpcID: vpcID, MadeBy: "vpc",
		OwnerID: o.AccountID, ARN: o.arn("ec2", "security-group/"+id),
		Ingress: []resource.GroupRule{{Protocol: "-1", Self: true}},
		Egress:  []resource.GroupRule{{Protocol: "-1", CidrBlocks: []string{"0.0.0.0/0"}}},
	}
	return id
}

// removeVpc refuses while anything but the default group and table is left.
// Source: VPC user guide, "Delete your VPC", and EC2 API error DependencyViolation.
func (o *op) removeVpc(id string, gone *resource.Vpc) error {
	dependent := ""
	for _, subnetID := range o.Subnets.sorted() {
		if o.Subnets[subnetID].VpcID == id {
			dependent = subnetID
		}
	}
	for _, groupID := range o.SecurityGroups.sorted() {
		if group := o.SecurityGroups[groupID]; group.VpcID == id && group.MadeBy != "vpc" {
			dependent = groupID
		}
	}
	for _, gatewayID := range o.InternetGateways.sorted() {
		if o.InternetGateways[gatewayID].VpcID == id {
			dependent = gatewayID
		}
	}
	for _, tableID := range o.RouteTables.sorted() {
		if rt := o.RouteTables[tableID]; rt.VpcID == id && !rt.Main {
			dependent = tableID
		}
	}
	for _, endpointID := range o.VpcEndpoints.sorted() {
		if o.VpcEndpoints[endpointID].VpcID == id {
			dependent = endpointID
		}
	}
	if dependent != "" {
		return api.Errorf("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted. (rehearsal: %s is one)", id, dependent)
	}
	delete(o.SecurityGroups, gone.DefaultSecurityGroupID)
	delete(o.RouteTables, gone.MainRouteTableID)
	return nil
}

// vpc returns a VPC or EC2's error.
func (o *op) vpc(id string) (*resource.Vpc, error) {
	if found, ok := o.Vpcs[id]; ok {
		return found, nil
	}
	return nil, api.Errorf("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
}
