package nccl

import "strings"

// efaProvider is libfabric's name of the provider for EFA; the later
// `efa-direct` is a fabric of the same provider.
const efaProvider = "efa"

// efaNetwork reports whether a network is the aws-ofi-nccl plugin, under any of
// the names that it has had. The name says nothing about the fabric below.
func efaNetwork(name string) bool {
	switch name {
	case "AWS Libfabric", "Libfabric", "OFI":
		return true
	}
	return false
}

// networkOf cuts a channel label down to the network's name.
func networkOf(label string) string {
	if name, ok := strings.CutPrefix(label, "NET/"); ok {
		return name
	}
	return strings.TrimPrefix(label, "COLLNET/")
}

// class says what a channel proves about inter-node traffic.
type class uint8

const (
	classLocal   class = iota // stays inside a node
	classEFA                  // on EFA
	classOther                // between nodes, on something else
	classUnknown              // between nodes, and the evidence does not say on what
)

// classify judges one tally of a communicator that spans nodes. final is the
// provider that the process ended up with, for channels that were printed
// before any selection was (collectors may reorder lines).
func classify(t *tally, final string, mnnvl class) class {
	switch t.medium {
	case mediumLocal:
		return classLocal
	case mediumMNNVL:
		return mnnvl
	case mediumOdd:
		return classUnknown
	}
	if !efaNetwork(networkOf(t.label)) {
		return classOther
	}
	provider := t.provider
	if provider == "" {
		provider = final
	}
	switch provider {
	case "":
		return classUnknown
	case efaProvider:
		return classEFA
	default:
		return classOther
	}
}
