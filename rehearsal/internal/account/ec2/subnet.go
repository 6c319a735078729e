package ec2

import (
	"net/netip"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Subnet is aws:ec2/subnet:Subnet.
type Subnet struct {
	VpcID                               string `json:"vpcId" aws:"required,replace"`
	CidrBlock                           string `json:"cidrBlock,omitempty" aws:"replace"`
	AvailabilityZone                    string `json:"availabilityZone,omitempty" aws:"default,replace"`
	AvailabilityZoneID                  string `json:"availabilityZoneId,omitempty" aws:"default,replace"`
	MapPublicIPOnLaunch                 bool   `json:"mapPublicIpOnLaunch"`
	PrivateDNSHostnameTypeOnLaunch      string `json:"privateDnsHostnameTypeOnLaunch,omitempty" aws:"default"`
	EnableResourceNameDNSARecordOnStart bool   `json:"enableResourceNameDnsARecordOnLaunch,omitempty"`
	schema.Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
	// NextHost is the host part of the next address that EC2 hands out.
	NextHost int `json:"_nextHost,omitempty" aws:"hidden"`
}

// Subnets is the token of Subnet.
const Subnets store.Token[Subnet] = "aws:ec2/subnet:Subnet"

func subnetType() store.Type[Subnet] {
	return store.Type[Subnet]{
		Service:   "EC2",
		CreateAPI: "CreateSubnet", UpdateAPI: "ModifySubnetAttribute", DeleteAPI: "DeleteSubnet",
		// Source: pulumi-aws, default delete timeout: 20 minutes.
		RetrySeconds: 1200,
		Token:        Subnets,
		Blocks:       func(row *Subnet) string { return row.VpcID },
		Item:         store.HoldsName[Subnet],
		Create:       createSubnet,
		Delete:       deleteSubnet,
	}
}

func createSubnet(o *store.Op, in *Subnet) (string, error) {
	vpc, err := findVpc(o, in.VpcID)
	if err != nil {
		return "", err
	}
	block, err := netip.ParsePrefix(in.CidrBlock)
	// Source: VPC user guide, "Subnet CIDR blocks": between /28 and /16, and the
	// network address itself.
	if err != nil || !block.Addr().Is4() || block.Bits() < 16 || block.Bits() > 28 ||
		block != block.Masked() {
		return "", api.Errorf("InvalidParameterValue",
			"Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.",
			in.CidrBlock)
	}
	whole := netip.MustParsePrefix(vpc.CidrBlock)
	// Source: EC2 API error codes, InvalidSubnet.Range.
	if !whole.Contains(block.Addr()) || block.Bits() < whole.Bits() {
		return "", api.Errorf("InvalidSubnet.Range",
			"The CIDR '%s' is invalid. (rehearsal: it is outside the VPC's %s)", in.CidrBlock,
			vpc.CidrBlock)
	}
	for _, otherID := range Subnets.In(o).IDs() {
		other := Subnets.In(o)[otherID]
		// Source: EC2 API error codes, InvalidSubnet.Conflict.
		if other.VpcID == in.VpcID && netip.MustParsePrefix(other.CidrBlock).Overlaps(block) {
			return "", api.Errorf("InvalidSubnet.Conflict",
				"The CIDR '%s' conflicts with another subnet (rehearsal: %s has %s)", in.CidrBlock,
				otherID, other.CidrBlock)
		}
	}
	zone, err := PickZone(o, in.AvailabilityZone, in.AvailabilityZoneID)
	if err != nil {
		return "", err
	}
	in.AvailabilityZone, in.AvailabilityZoneID = zone.Name, zone.ID
	if in.PrivateDNSHostnameTypeOnLaunch == "" {
		in.PrivateDNSHostnameTypeOnLaunch = "ip-name"
	}
	id := store.NewID("subnet")
	in.ARN = o.ARN("ec2", "subnet/"+id)
	in.OwnerID = o.AccountID
	// Source: VPC user guide: the first four addresses of a subnet are AWS's own.
	in.NextHost = 4
	return id, nil
}

// deleteSubnet refuses while an interface is in the subnet.
// Source: VPC user guide, "Delete a subnet"; EC2 API error DependencyViolation.
func deleteSubnet(o *store.Op, id string, _ *Subnet) error {
	for _, interfaceID := range Interfaces.In(o).IDs() {
		if found := Interfaces.In(o)[interfaceID]; found.SubnetID == id {
			return api.Errorf("DependencyViolation",
				"The subnet '%s' has dependencies and cannot be deleted. (rehearsal: interface "+
					"%s of %s is in it)",
				id, interfaceID, found.Owner)
		}
	}
	return nil
}

// findSubnet returns a subnet or EC2's error.
func findSubnet(o *store.Op, id string) (*Subnet, error) {
	if found, ok := Subnets.In(o)[id]; ok {
		return found, nil
	}
	return nil, api.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
}

// NextAddress hands out an address of a subnet.
func NextAddress(o *store.Op, subnetID string) (string, error) {
	subnet, err := findSubnet(o, subnetID)
	if err != nil {
		return "", err
	}
	block := netip.MustParsePrefix(subnet.CidrBlock)
	raw := block.Addr().As4()
	host := subnet.NextHost
	for i, add := 3, host; i >= 0 && add > 0; i-- {
		sum := int(raw[i]) + add
		raw[i], add = byte(sum&0xff), sum>>8
	}
	address := netip.AddrFrom4(raw)
	// Source: EC2 API error codes, InsufficientFreeAddressesInSubnet.
	if !block.Contains(address.Next()) {
		return "", api.Errorf("InsufficientFreeAddressesInSubnet",
			"The specified subnet does not have enough free addresses to satisfy the request.")
	}
	subnet.NextHost = host + 1
	return address.String(), nil
}
