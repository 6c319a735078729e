package record

import "strings"

// EFAProvider is libfabric's name of the provider for EFA; the later
// `efa-direct` is a fabric of the same provider.
const EFAProvider = "efa"

// IsEFANetwork reports whether a network is the aws-ofi-nccl plugin, under any of
// the names that it has had. The name says nothing about the fabric below.
func IsEFANetwork(name string) bool {
	switch name {
	case "AWS Libfabric", "Libfabric", "OFI":
		return true
	}
	return false
}

// NetworkOf cuts a channel label down to the network's name.
func NetworkOf(label string) string {
	if name, ok := strings.CutPrefix(label, "NET/"); ok {
		return name
	}
	return strings.TrimPrefix(label, "COLLNET/")
}
