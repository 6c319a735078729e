// Package capacity decides, before anything is created, whether AWS can run the stack, in which
// zone and at what price. It has no side effects: all facts come from Source or arguments.
package capacity

import (
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// InstanceType is what the program needs to know about an EC2 instance type.
type InstanceType struct {
	// Name is the type, such as g6.12xlarge.
	Name string
	// VCPUs is the default number of virtual CPUs, which quotas count.
	VCPUs int
	// MemoryMiB is the memory of the instance.
	MemoryMiB int
	// GPUs is the number of NVIDIA devices.
	GPUs int
	// EFAInterfaces is the greatest number of EFA interfaces: efaMaximumInterfaces in
	// DescribeInstanceTypes.
	EFAInterfaces int
	// NetworkCards is the number of network cards, which may differ from the number of EFA interfaces.
	NetworkCards int
}

// Source provides facts about one AWS region. An error that wraps ErrDenied means that the AWS identity
// may not ask.
type Source interface {
	// InstanceType describes an instance type.
	InstanceType(name string) (InstanceType, error)
	// Zones returns the zones that offer an instance type, in any order. Local and Wavelength Zones of
	// the account are among them.
	Zones(instanceType string) ([]region.Zone, error)
	// ZoneIDs returns the ids of the account's zones, such as use2-az1 for us-east-2a: a name may mean
	// another zone in another account, an id does not.
	ZoneIDs() (map[region.Zone]string, error)
	// Support returns how EKS supports a Kubernetes version; empty where EKS does not list it.
	Support(kubernetesVersion string) (Support, error)
	// AMIRelease returns the value of a public parameter; empty where there is none.
	AMIRelease(parameter string) (string, error)
	// NewestAddon returns the newest version of an EKS add-on for a Kubernetes version; empty where EKS
	// has none.
	NewestAddon(name, kubernetesVersion string) (string, error)
	// Quota returns the applied value of a service's quota.
	Quota(service, code string) (float64, error)
	// OtherInstances counts the running on-demand instances of the account, without this stack's, by
	// type. It counts types whose names begin with one of the families.
	OtherInstances(families []string) (map[string]int, error)
	// OtherAddresses and OtherVPCs count the account's Elastic IP addresses and VPCs, without this
	// stack's.
	OtherAddresses() (int, error)
	OtherVPCs() (int, error)
}

// Support is the state of a Kubernetes version in EKS: versionStatus of ClusterVersionInformation.
type Support string

// The states that EKS's API documents.
const (
	// StandardSupport is the first 14 months of a version.
	StandardSupport Support = "STANDARD_SUPPORT"
	// ExtendedSupport is the 12 months after them, at six times the price.
	ExtendedSupport Support = "EXTENDED_SUPPORT"
	// Unsupported is what follows: EKS creates no clusters of that version.
	Unsupported Support = "UNSUPPORTED"
	// unknownSupport means that the AWS identity may not ask.
	unknownSupport Support = "not asked"
)

// Group is a number of instances of one type.
type Group struct {
	// Type is the instance type's name.
	Type string
	// Nodes is the number of instances.
	Nodes int
	// VolumeGiB is the root volume of each.
	VolumeGiB int
	// VolumeThroughput is its throughput in MiB per second; less than 125 means 125.
	VolumeThroughput int
	// Prepaid is true for a Capacity Block, which is paid for in advance and counts against no quota.
	Prepaid bool
	// AMIRelease is the release of EKS's AMI.
	AMIRelease string
}

// Request is what the stack needs.
type Request struct {
	// Region is the AWS region.
	Region region.Region
	// AvailabilityZone is the chosen zone. The zero value means any that offers both types.
	AvailabilityZone region.Zone
	// KubernetesVersion is the minor version of the control plane, such as 1.36.
	KubernetesVersion string
	// GPU and System are the two node groups.
	GPU, System Group
	// Addons are the add-ons of the cluster.
	Addons []Addon
	// MaxHourlyUSD is the price above which Check refuses.
	MaxHourlyUSD float64
	// Today is the day of the check. The zero value calls no price old.
	Today time.Time
	// Prices replaces or adds prices per instance type, in USD per hour.
	Prices map[string]float64
}

// Plan is the result of Check: zones, instance types, quotas and price.
type Plan struct {
	// Zone holds every node, because EFA traffic does not leave a zone.
	Zone region.Zone
	// ControlPlaneZone is the second zone that EKS requires; no node runs there.
	ControlPlaneZone region.Zone
	// OtherZones offer both instance types too, in alphabetical order, for when the zone has no
	// capacity left.
	OtherZones []region.Zone
	// AllZones are the region's zones that can have the cluster, in alphabetical order, whatever they
	// offer.
	AllZones []region.Zone
	// GPU and System describe the chosen instance types.
	GPU, System InstanceType
	// Quotas compares what the stack needs with what is granted.
	Quotas []QuotaUse
	// Estimate is the price of the running stack.
	Estimate Estimate
	// Unknown are the questions that the AWS identity may not ask, each with the reason.
	Unknown []string
}
