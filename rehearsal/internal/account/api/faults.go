package api

// Faults are the failures of AWS that a rehearsal injects. The zero value injects none. They are
// stored with the account and set by POST /faults.
type Faults struct {
	// NoCapacity lists instance types without capacity in a zone.
	NoCapacity []TypeInZone `json:"noCapacity,omitempty"`
	// NotOffered lists types that a zone does not offer.
	NotOffered []TypeInZone `json:"notOffered,omitempty"`
	// Quota overrides applied quotas, by code: L-DB2E81BA is G and VT On-Demand, in vCPU.
	Quota map[string]float64 `json:"quota,omitempty"`
	// EFADeviceBroken makes libfabric fail to open EFA devices on new nodes.
	EFADeviceBroken bool `json:"efaDeviceBroken,omitempty"`
	// StripClusterSelfEgress removes the self egress rule that EKS gives to a
	// cluster's security group, as an administrator's policy would.
	StripClusterSelfEgress bool `json:"stripClusterSelfEgress,omitempty"`
	// StripSelfEgress removes self egress from every group, ours included.
	StripSelfEgress bool `json:"stripSelfEgress,omitempty"`
	// NodesNeverJoin keeps instances of these node groups (by name prefix) from joining.
	NodesNeverJoin []string `json:"nodesNeverJoin,omitempty"`
}

// TypeInZone names an instance type in one zone. An empty Zone means every zone.
type TypeInZone struct {
	Type string `json:"type"`
	Zone string `json:"az"`
}
