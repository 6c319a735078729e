package cluster

import (
	"errors"
	"fmt"
)

// InterfaceType is EC2's type of a network interface.
type InterfaceType string

// The interface types that a GPU node can have.
const (
	// EFA carries both EFA and IP traffic.
	EFA InterfaceType = "efa"
	// EFAOnly carries no IP traffic and so needs no address; the VPC CNI ignores it from version
	// 1.18.5 on.
	EFAOnly InterfaceType = "efa-only"
	// ENA carries IP traffic only.
	ENA InterfaceType = "interface"
)

// NIC is one network interface of the launch template.
type NIC struct {
	// NetworkCard is the card's index.
	NetworkCard int
	// Device is the interface's index on its card.
	Device int
	// Type is the interface type.
	Type InterfaceType
}

// ErrLayout means that the interface layout of an instance type is unknown.
var ErrLayout = errors.New("no known layout of EFA interfaces")

// NICs returns the network interfaces of a node: one EFA interface per network card, up to
// efaMaximumInterfaces, with IP traffic on card 0. The first cannot be efa-only, because an
// instance needs an address. If one card does not support EFA, it is card 0 (p6-b300).
// Source: EC2 user guide, "Elastic Fabric Adapter for AI/ML and HPC workloads on Amazon EC2", and
// the templates of eksctl.
func NICs(efaInterfaces, networkCards int) ([]NIC, error) {
	first := EFA
	switch {
	case efaInterfaces < 1 || networkCards < 1:
		return nil, fmt.Errorf("laying out %d EFA interfaces on %d network cards: %w; next: choose another gpu.instanceType",
			efaInterfaces, networkCards, ErrLayout)
	case efaInterfaces == networkCards:
	case efaInterfaces == networkCards-1:
		first = ENA
	default:
		return nil, fmt.Errorf("laying out %d EFA interfaces on %d network cards: %w; next: choose another gpu.instanceType",
			efaInterfaces, networkCards, ErrLayout)
	}
	nics := []NIC{{NetworkCard: 0, Device: 0, Type: first}}
	for card := 1; card < networkCards; card++ {
		nics = append(nics, NIC{NetworkCard: card, Device: 1, Type: EFAOnly})
	}
	return nics, nil
}
