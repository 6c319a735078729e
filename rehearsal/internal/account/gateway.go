package account

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func internetGatewayRules(kind resource.Kind) rules[resource.InternetGateway] {
	return rules[resource.InternetGateway]{
		kind: kind, service: "EC2",
		createVerb: "CreateInternetGateway", updateVerb: "AttachInternetGateway", deleteVerb: "DetachInternetGateway",
		// Source: pulumi-aws, default delete timeout: 20 minutes.
		retry: 1200,
		rows:  func(s *state) table[resource.InternetGateway] { return s.InternetGateways },
		create: func(o *op, in *resource.InternetGateway) (string, error) {
			if err := o.checkAttach(in.VpcID); err != nil {
				return "", err
			}
			id := newID("igw")
			in.ARN, in.OwnerID = o.arn("ec2", "internet-gateway/"+id), o.AccountID
			return id, nil
		},
		update: func(o *op, id string, old, in *resource.InternetGateway) error {
			if old.VpcID == in.VpcID {
				return nil
			}
			if err := o.checkDetach(id, old.VpcID); err != nil {
				return err
			}
			return o.checkAttach(in.VpcID)
		},
		remove: func(o *op, id string, gone *resource.InternetGateway) error {
			return o.checkDetach(id, gone.VpcID)
		},
	}
}

// checkAttach enforces one internet gateway per VPC.
// Source: VPC user guide, "Internet gateways"; EC2 answers InvalidParameterValue.
func (o *op) checkAttach(vpcID string) error {
	if vpcID == "" {
		return nil
	}
	if _, err := o.vpc(vpcID); err != nil {
		return err
	}
	if o.gatewayOf(vpcID) != "" {
		return api.Errorf("InvalidParameterValue", "Network %s already has an internet gateway attached", vpcID)
	}
	return nil
}

// checkDetach refuses while public addresses are mapped in the VPC.
// Source: EC2's DependencyViolation on DetachInternetGateway.
func (o *op) checkDetach(id, vpcID string) error {
	if vpcID == "" {
		return nil
	}
	for _, interfaceID := range o.Interfaces.sorted() {
		found := o.Interfaces[interfaceID]
		subnet, ok := o.Subnets[found.SubnetID]
		if ok && subnet.VpcID == vpcID && found.PublicIP != "" {
			return api.Errorf("DependencyViolation", "Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway. (rehearsal: %s of %s; gateway %s)", vpcID, found.PublicIP, found.Owner, id)
		}
	}
	return nil
}

// gatewayOf returns the internet gateway of a VPC, or "".
func (o *op) gatewayOf(vpcID string) string {
	for _, id := range o.InternetGateways.sorted() {
		if o.InternetGateways[id].VpcID == vpcID {
			return id
		}
	}
	return ""
}

func eipRules(kind resource.Kind) rules[resource.Eip] {
	return rules[resource.Eip]{
		kind: kind, service: "EC2",
		createVerb: "AllocateAddress", updateVerb: "CreateTags", deleteVerb: "ReleaseAddress",
		rows: func(s *state) table[resource.Eip] { return s.Eips },
		create: func(o *op, in *resource.Eip) (string, error) {
			// Source: EC2 API error codes, AddressLimitExceeded; quota L-0263D0A3.
			if float64(len(o.Eips)) >= o.quota(quotaElasticIPs) {
				return "", api.Errorf("AddressLimitExceeded", "The maximum number of addresses has been reached.")
			}
			id := newID("eipalloc")
			in.Domain, in.AllocationID = "vpc", id
			in.ARN = o.arn("ec2", "elastic-ip/"+id)
			// 203.0.113.0/24 is reserved for documentation (RFC 5737).
			in.PublicIP = fmt.Sprintf("203.0.113.%d", o.freeHost())
			in.PublicDNS = "ec2-" + dashed(in.PublicIP) + "." + o.Region + ".compute.amazonaws.com"
			return id, nil
		},
		remove: func(_ *op, id string, gone *resource.Eip) error {
			// Source: EC2 API error codes, InvalidIPAddress.InUse.
			if gone.AssociationID != "" {
				return api.Errorf("InvalidIPAddress.InUse", "The specified IP address is already in use. If you are trying to release an address, you must first disassociate it from the instance. (rehearsal: %s is associated as %s)", id, gone.AssociationID)
			}
			return nil
		},
	}
}

// freeHost returns the lowest last byte that no elastic address has.
func (o *op) freeHost() int {
	used := map[string]bool{}
	for _, eip := range o.Eips {
		used[eip.PublicIP] = true
	}
	host := 10
	for used[fmt.Sprintf("203.0.113.%d", host)] {
		host++
	}
	return host
}

func natGatewayRules(kind resource.Kind) rules[resource.NatGateway] {
	return rules[resource.NatGateway]{
		kind: kind, service: "EC2",
		createVerb: "CreateNatGateway", updateVerb: "CreateTags", deleteVerb: "DeleteNatGateway",
		rows:   func(s *state) table[resource.NatGateway] { return s.NatGateways },
		create: (*op).createNatGateway,
		remove: func(o *op, _ string, gone *resource.NatGateway) error {
			delete(o.Interfaces, gone.NetworkInterfaceID)
			if eip, ok := o.Eips[gone.AllocationID]; ok {
				eip.AssociationID = ""
			}
			return nil
		},
	}
}

func (o *op) createNatGateway(in *resource.NatGateway) (string, error) {
	subnet, err := o.subnet(in.SubnetID)
	if err != nil {
		return "", err
	}
	if in.ConnectivityType == "" {
		in.ConnectivityType = "public"
	}
	eip, ok := o.Eips[in.AllocationID]
	switch {
	case in.ConnectivityType == "private" && in.AllocationID != "":
		return "", api.Errorf("InvalidParameterCombination", "You cannot specify an allocation ID for a private NAT gateway.")
	case in.ConnectivityType == "private":
	case in.AllocationID == "":
		// Source: EC2 API, CreateNatGateway: AllocationId is required for public ones.
		return "", api.Errorf("MissingParameter", "The request must include the AllocationId parameter. Add the required parameter and retry the request.")
	case !ok:
		return "", api.Errorf("InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist", in.AllocationID)
	case eip.AssociationID != "":
		// Source: VPC user guide, "Troubleshoot NAT gateways", Resource.AlreadyAssociated.
		return "", api.Errorf("Resource.AlreadyAssociated", "Elastic IP address [%s] is already associated", in.AllocationID)
	case o.gatewayOf(subnet.VpcID) == "":
		// Source: VPC user guide, "Troubleshoot NAT gateways", Gateway.NotAttached.
		return "", api.Errorf("Gateway.NotAttached", "Network %s has no Internet gateway attached", subnet.VpcID)
	}
	address, err := o.nextAddress(in.SubnetID)
	if err != nil {
		return "", err
	}
	id := newID("nat")
	in.NetworkInterfaceID = newID("eni")
	in.PrivateIP = address
	nic := &networkInterface{SubnetID: in.SubnetID, Owner: id, InterfaceType: "nat_gateway", PrivateIP: address}
	if eip != nil {
		eip.AssociationID = newID("eipassoc")
		in.AssociationID, in.PublicIP, nic.PublicIP = eip.AssociationID, eip.PublicIP, eip.PublicIP
	}
	o.Interfaces[in.NetworkInterfaceID] = nic
	return id, nil
}
