package infra

import (
	"fmt"
	"net/netip"
)

// Layout holds the CIDR blocks of the subnets.
type Layout struct {
	// Nodes is half of the VPC: with the VPC CNI every pod takes an address of the node's subnet.
	Nodes netip.Prefix
	// Public holds the NAT gateway.
	Public netip.Prefix
	// ControlPlane is the subnet of the second zone. EKS requires two zones and puts network
	// interfaces there, no nodes.
	ControlPlane netip.Prefix
}

// Plan divides the VPC: the first half is for nodes, then a sixteenth each for the public subnet
// and the second control-plane subnet.
func Plan(vpc netip.Prefix) (Layout, error) {
	if !vpc.Addr().Is4() || vpc.Bits() > 20 {
		return Layout{}, fmt.Errorf("dividing VPC %q into subnets: it must be an IPv4 block of /20 or larger", vpc)
	}
	size := uint32(1) << (32 - vpc.Bits())
	at := func(offset uint32, bits int) netip.Prefix {
		b := vpc.Masked().Addr().As4()
		start := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		start += offset
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(start >> 24), byte(start >> 16), byte(start >> 8), byte(start)}), bits)
	}
	return Layout{
		Nodes:        at(0, vpc.Bits()+1),
		Public:       at(size/2, vpc.Bits()+4),
		ControlPlane: at(size/2+size/16, vpc.Bits()+4),
	}, nil
}
