package infra

import (
	"fmt"
	"net/netip"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Layout holds the CIDR blocks of the subnets.
type Layout struct {
	// Nodes is half of the VPC: with the VPC CNI every pod takes an address of the node's subnet. It is
	// in the zone in which the stack was created.
	Nodes netip.Prefix
	// Public holds the NAT gateway.
	Public netip.Prefix
	// ControlPlane is the subnet of the second zone. EKS requires two zones and puts network
	// interfaces there, no nodes.
	ControlPlane netip.Prefix
	// zones are the blocks of the subnets for nodes in another zone, by the letter of the zone.
	zones [zoneBlocks]netip.Prefix
}

// zoneBlocks is the number of zones that can have a subnet: a to f. No region has more zones.
const zoneBlocks = 6

// Plan divides the VPC: the first half is for nodes, then follow sixteenths: one for the public
// subnet, one for the second control-plane subnet, and one for each zone. A zone's block depends
// only on its letter, so that a new zone changes no other subnet.
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
	layout := Layout{
		Nodes:        at(0, vpc.Bits()+1),
		Public:       at(size/2, vpc.Bits()+4),
		ControlPlane: at(size/2+size/16, vpc.Bits()+4),
	}
	for i := range layout.zones {
		layout.zones[i] = at(size/2+uint32(2+i)*size/16, vpc.Bits()+4)
	}
	return layout, nil
}

// Zone returns the block of a zone's subnet, and false for a zone after the letter f.
func (l Layout) Zone(zone region.Zone) (netip.Prefix, bool) {
	if zone == "" {
		return netip.Prefix{}, false
	}
	index := int(zone[len(zone)-1]) - 'a'
	if index < 0 || index >= len(l.zones) {
		return netip.Prefix{}, false
	}
	return l.zones[index], true
}
