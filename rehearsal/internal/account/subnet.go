package account

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func subnetRules(kind resource.Kind) rules[resource.Subnet] {
	return rules[resource.Subnet]{
		kind: kind, service: "EC2",
		createVerb: "CreateSubnet", updateVerb: "ModifySubnetAttribute", deleteVerb: "DeleteSubnet",
		// Source: pulumi-aws, default delete timeout: 20 minutes.
		retry:  1200,
		rows:   func(s *state) table[resource.Subnet] { return s.Subnets },
		create: (*op).createSubnet,
		remove: (*op).removeSubnet,
	}
}

func (o *op) createSubnet(in *resource.Subnet) (string, error) {
	vpc, err := o.vpc(in.VpcID)
	if err != nil {
		return "", err
	}
	block, err := netip.ParsePrefix(in.CidrBlock)
	// Source: VPC user guide, "Subnet CIDR blocks": between /28 and /16, and the
	// network address itself.
	if err != nil || !block.Addr().Is4() || block.Bits() < 16 || block.Bits() > 28 || block != block.Masked() {
		return "", api.Errorf("InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", in.CidrBlock)
	}
	whole := netip.MustParsePrefix(vpc.CidrBlock)
	// Source: EC2 API error codes, InvalidSubnet.Range.
	if !whole.Contains(block.Addr()) || block.Bits() < whole.Bits() {
		return "", api.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid. (rehearsal: it is outside the VPC's %s)", in.CidrBlock, vpc.CidrBlock)
	}
	for _, otherID := range o.Subnets.sorted() {
		other := o.Subnets[otherID]
		// Source: EC2 API error codes, InvalidSubnet.Conflict.
		if other.VpcID == in.VpcID && netip.MustParsePrefix(other.CidrBlock).Overlaps(block) {
			return "", api.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet (rehearsal: %s has %s)", in.CidrBlock, otherID, other.CidrBlock)
		}
	}
	zone, err := o.pickZone(in.AvailabilityZone, in.AvailabilityZoneID)
	if err != nil {
		return "", err
	}
	in.AvailabilityZone, in.AvailabilityZoneID = zone.Name, zone.ID
	if in.PrivateDNSHostnameTypeOnLaunch == "" {
		in.PrivateDNSHostnameTypeOnLaunch = "ip-name"
	}
	id := newID("subnet")
	in.ARN = o.arn("ec2", "subnet/"+id)
	in.OwnerID = o.AccountID
	// Source: VPC user guide: the first four addresses of a subnet are AWS's own.
	in.NextHost = 4
	return id, nil
}

// removeSubnet refuses while an interface is in the subnet.
// Source: VPC user guide, "Delete a subnet"; EC2 API error DependencyViolation.
func (o *op) removeSubnet(id string, _ *resource.Subnet) error {
	for _, interfaceID := range o.Interfaces.sorted() {
		if found := o.Interfaces[interfaceID]; found.SubnetID == id {
			return api.Errorf("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted. (rehearsal: interface %s of %s is in it)", id, interfaceID, found.Owner)
		}
	}
	for _, associationID := range o.Associations.sorted() {
		// EC2 drops the association with the subnet.
		if o.Associations[associationID].SubnetID == id {
			delete(o.Associations, associationID)
		}
	}
	return nil
}

// subnet returns a subnet or EC2's error.
func (o *op) subnet(id string) (*resource.Subnet, error) {
	if found, ok := o.Subnets[id]; ok {
		return found, nil
	}
	return nil, api.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
}

// nextAddress hands out an address of a subnet.
func (o *op) nextAddress(subnetID string) (string, error) {
	subnet, err := o.subnet(subnetID)
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
		return "", api.Errorf("InsufficientFreeAddressesInSubnet", "The specified subnet does not have enough free addresses to satisfy the request.")
	}
	subnet.NextHost = host + 1
	return address.String(), nil
}

// zone is one availability zone.
type zone struct {
	Name string
	ID   string
}

// zones returns the region's zones. The ids of us-east-2 are AWS's; which name stands
// for which id differs from account to account on AWS, and does not here.
func (s *state) zones() []zone {
	prefix := strings.NewReplacer("us-east-", "use", "us-west-", "usw", "eu-west-", "euw", "eu-central-", "euc", "ap-northeast-", "apne").Replace(s.Region)
	var all []zone
	for i, letter := range []string{"a", "b", "c"} {
		all = append(all, zone{Name: s.Region + letter, ID: prefix + "-az" + string(rune('1'+i))})
	}
	return all
}

func (o *op) pickZone(name, id string) (zone, error) {
	all := o.zones()
	if name == "" && id == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(z zone) bool { return (name == "" || z.Name == name) && (id == "" || z.ID == id) })
	if i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, z := range all {
		names = append(names, z.Name)
	}
	// Source: EC2's answer to CreateSubnet with a zone that does not exist.
	return zone{}, api.Errorf("InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid. Subnets can currently only be created in the following availability zones: %s.", name+id, strings.Join(names, ", "))
}
