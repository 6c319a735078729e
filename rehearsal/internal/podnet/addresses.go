package podnet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// blockBits is the prefix length of the block of each node's pod addresses. Its 254 addresses are
// more than any rehearsed instance type allows.
const blockBits = 24

// addressPlan divides a VPC's range. Nodes get the addresses of their instances. Pods get addresses
// from blocks in the upper half of the range, where the account places no instance.
type addressPlan struct {
	vpc  netip.Prefix
	used map[netip.Addr]bool
	next int // index of the next unused block
}

func newAddressPlan(vpc netip.Prefix) (*addressPlan, error) {
	if !vpc.IsValid() || !vpc.Addr().Is4() || vpc.Bits() > 20 {
		return nil, fmt.Errorf("VPC range %q: must be an IPv4 prefix of /20 or larger, such as 10.0.0.0/16", vpc)
	}
	return &addressPlan{vpc: vpc.Masked(), used: map[netip.Addr]bool{}}, nil
}

// gateway returns the bridge's own address: the first of the range, as in a VPC subnet.
func (p *addressPlan) gateway() netip.Addr { return p.vpc.Addr().Next() }

// claim reserves one given address.
func (p *addressPlan) claim(address netip.Addr) error {
	switch {
	case !p.vpc.Contains(address):
		return fmt.Errorf("address %q is outside the VPC range %q", address, p.vpc)
	case address == p.gateway() || p.used[address]:
		return fmt.Errorf("address %q is in use in VPC range %q", address, p.vpc)
	}
	p.used[address] = true
	return nil
}

// block returns the block of pod addresses of the next node.
func (p *addressPlan) block() (netip.Prefix, error) {
	half := 1 << (31 - p.vpc.Bits()) // addresses in the upper half
	if p.next >= half>>(32-blockBits) {
		return netip.Prefix{}, fmt.Errorf("VPC range %q has no free /%d block for one more node's pods", p.vpc, blockBits)
	}
	base := addToAddr(p.vpc.Addr(), half+p.next<<(32-blockBits))
	p.next++
	return netip.PrefixFrom(base, blockBits), nil
}

// take reserves the lowest free address of a block. The network and broadcast addresses stay
// unused.
func (p *addressPlan) take(block netip.Prefix) (netip.Addr, error) {
	size := 1 << (32 - block.Bits())
	for i := 1; i < size-1; i++ {
		address := addToAddr(block.Addr(), i)
		if !p.used[address] {
			p.used[address] = true
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no free pod address in block %q", block)
}

func (p *addressPlan) release(address netip.Addr) { delete(p.used, address) }

func addToAddr(address netip.Addr, n int) netip.Addr {
	bytes := address.As4()
	binary.BigEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(bytes[:])+uint32(n))
	return netip.AddrFrom4(bytes)
}
