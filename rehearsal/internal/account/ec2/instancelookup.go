package ec2

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type instanceTypeResult struct {
	BareMetal                     bool                `json:"bareMetal"`
	CurrentGeneration             bool                `json:"currentGeneration"`
	DefaultCores                  int                 `json:"defaultCores"`
	DefaultNetworkCardIndex       int                 `json:"defaultNetworkCardIndex"`
	DefaultThreadsPerCore         int                 `json:"defaultThreadsPerCore"`
	DefaultVcpus                  int                 `json:"defaultVcpus"`
	EfaMaximumInterfaces          int                 `json:"efaMaximumInterfaces"`
	EfaSupported                  bool                `json:"efaSupported"`
	EnaSupport                    string              `json:"enaSupport"`
	Gpuses                        []gpuResult         `json:"gpuses"`
	Hypervisor                    string              `json:"hypervisor"`
	ID                            string              `json:"id"`
	InstanceType                  string              `json:"instanceType"`
	MaximumIpv4AddressesPerIface  int                 `json:"maximumIpv4AddressesPerInterface"`
	MaximumNetworkCards           int                 `json:"maximumNetworkCards"`
	MaximumNetworkInterfaces      int                 `json:"maximumNetworkInterfaces"`
	MemorySize                    int                 `json:"memorySize"`
	NetworkCards                  []networkCardResult `json:"networkCards"`
	NetworkPerformance            string              `json:"networkPerformance"`
	SupportedArchitectures        []string            `json:"supportedArchitectures"`
	SupportedPlacementStrategies  []string            `json:"supportedPlacementStrategies"`
	SupportedUsagesClasses        []string            `json:"supportedUsagesClasses"`
	SupportedVirtualizationTypes  []string            `json:"supportedVirtualizationTypes"`
	TotalGpuMemory                int                 `json:"totalGpuMemory"`
	DedicatedHostsSupported       bool                `json:"dedicatedHostsSupported"`
	BurstablePerformanceSupported bool                `json:"burstablePerformanceSupported"`
	EncryptionInTransitSupported  bool                `json:"encryptionInTransitSupported"`
	InstanceStorageSupported      bool                `json:"instanceStorageSupported"`
	SupportedRootDeviceTypes      []string            `json:"supportedRootDeviceTypes"`
	EbsOptimizedSupport           string              `json:"ebsOptimizedSupport"`
	EbsEncryptionSupport          string              `json:"ebsEncryptionSupport"`
	Ipv6Supported                 bool                `json:"ipv6Supported"`
}

type gpuResult struct {
	Count        int    `json:"count"`
	Manufacturer string `json:"manufacturer"`
	MemorySize   int    `json:"memorySize"`
	Name         string `json:"name"`
}

type networkCardResult struct {
	Index             int    `json:"index"`
	MaximumInterfaces int    `json:"maximumInterfaces"`
	Performance       string `json:"performance"`
}

func getInstanceType(_ *store.Op, args struct {
	InstanceType string `json:"instanceType"`
}) (any, error) {
	t, ok := FindInstanceType(args.InstanceType)
	if !ok {
		return nil, api.Errorf("InvalidInstanceType",
			"The following supplied instance types do not exist: [%s]", args.InstanceType)
	}
	result := instanceTypeResult{
		CurrentGeneration: true, DefaultCores: t.VCPU / 2, DefaultThreadsPerCore: 2,
		DefaultVcpus:         t.VCPU,
		EfaMaximumInterfaces: t.EFA, EfaSupported: t.EFA > 0, EnaSupport: "required",
		Gpuses:     []gpuResult{},
		Hypervisor: "nitro", ID: t.Name, InstanceType: t.Name,
		MaximumIpv4AddressesPerIface: t.Addresses,
		MaximumNetworkCards:          t.NetworkCards, MaximumNetworkInterfaces: t.Interfaces,
		MemorySize:         t.MemoryMiB,
		NetworkPerformance: t.Network, SupportedArchitectures: []string{"x86_64"},
		SupportedPlacementStrategies: []string{"cluster", "partition", "spread"},
		SupportedUsagesClasses: []string{
			"on-demand",
			"spot",
		}, SupportedVirtualizationTypes: []string{"hvm"},
		TotalGpuMemory: t.GPU.Count * t.GPU.MemoryMiB, EncryptionInTransitSupported: true,
		SupportedRootDeviceTypes: []string{
			"ebs",
		}, EbsOptimizedSupport: "default", EbsEncryptionSupport: "supported",
		Ipv6Supported: true, InstanceStorageSupported: t.GPU.Count > 0,
	}
	if strings.HasPrefix(t.Name, "t3.") {
		// Source: EC2 user guide, "Placement groups": burstable types don't go into cluster groups.
		result.SupportedPlacementStrategies = []string{"partition", "spread"}
		result.BurstablePerformanceSupported = true
	}
	if t.GPU.Count > 0 {
		result.Gpuses = []gpuResult{
			{
				Count:        t.GPU.Count,
				Manufacturer: "NVIDIA",
				MemorySize:   t.GPU.MemoryMiB,
				Name:         t.GPU.Name,
			},
		}
	}
	for i := range t.NetworkCards {
		result.NetworkCards = append(
			result.NetworkCards,
			networkCardResult{
				Index:             i,
				MaximumInterfaces: max(1, t.Interfaces/t.NetworkCards),
				Performance:       t.Network,
			},
		)
	}
	return result, nil
}

type instanceTypesArgs struct {
	Filters []filter `json:"filters"`
}

type instanceTypesResult struct {
	ID            string   `json:"id"`
	InstanceTypes []string `json:"instanceTypes"`
}

func getInstanceTypes(o *store.Op, args instanceTypesArgs) (any, error) {
	var names []string
	for _, t := range instanceTypes() {
		names = append(names, t.Name)
	}
	kept, err := filterNames(names, args.Filters, func(name, key string) (string, bool) {
		t, _ := FindInstanceType(name)
		switch key {
		case "network-info.efa-supported":
			return fmt.Sprint(t.EFA > 0), true
		case "instance-type":
			return name, true
		case "current-generation":
			return "true", true
		case "processor-info.supported-architecture":
			return "x86_64", true
		default:
			return "", false
		}
	})
	return instanceTypesResult{ID: o.Region, InstanceTypes: kept}, err
}

type offeringsArgs struct {
	Filters      []filter `json:"filters"`
	LocationType string   `json:"locationType"`
}

type offeringsResult struct {
	ID            string   `json:"id"`
	InstanceTypes []string `json:"instanceTypes"`
	LocationType  string   `json:"locationType"`
	LocationTypes []string `json:"locationTypes"`
	Locations     []string `json:"locations"`
}

// getInstanceTypeOfferings lists pairs of type and location.
// Source: EC2 API, DescribeInstanceTypeOfferings: locationType defaults to region.
func getInstanceTypeOfferings(o *store.Op, args offeringsArgs) (any, error) {
	if args.LocationType == "" {
		args.LocationType = "region"
	}
	var pairs []string
	for _, t := range instanceTypes() {
		for _, location := range locations(o, args.LocationType, t.Name) {
			pairs = append(pairs, t.Name+" "+location)
		}
	}
	kept, err := filterNames(pairs, args.Filters, func(pair, key string) (string, bool) {
		name, location, _ := strings.Cut(pair, " ")
		switch key {
		case "instance-type":
			return name, true
		case "location":
			return location, true
		default:
			return "", false
		}
	})
	if err != nil {
		return nil, err
	}
	result := offeringsResult{
		ID:            o.Region,
		LocationType:  args.LocationType,
		InstanceTypes: []string{},
		LocationTypes: []string{},
		Locations:     []string{},
	}
	for _, pair := range kept {
		name, location, _ := strings.Cut(pair, " ")
		result.InstanceTypes = append(result.InstanceTypes, name)
		result.LocationTypes = append(result.LocationTypes, args.LocationType)
		result.Locations = append(result.Locations, location)
	}
	return result, nil
}

// locations lists where a type is offered.
func locations(o *store.Op, kind, name string) []string {
	var all []string
	for _, z := range zones(o) {
		if listsType(o.Faults.NotOffered, name, z.Name) {
			continue
		}
		location := map[string]string{"region": o.Region, "availability-zone": z.Name, "availability-zone-id": z.ID}[kind]
		if !slices.Contains(all, location) {
			all = append(all, location)
		}
	}
	return all
}

type instancesArgs struct {
	Filters            []filter          `json:"filters"`
	InstanceStateNames []string          `json:"instanceStateNames"`
	InstanceTags       map[string]string `json:"instanceTags"`
}

type instancesResult struct {
	ID         string   `json:"id"`
	IDs        []string `json:"ids"`
	PrivateIPs []string `json:"privateIps"`
	PublicIPs  []string `json:"publicIps"`
}

// getInstances lists running instances. EKS tags those of a node group with its name.
func getInstances(o *store.Op, args instancesArgs) (any, error) {
	kept, err := filterNames(
		Instances.In(o).IDs(),
		args.Filters,
		func(id, key string) (string, bool) {
			found := Instances.In(o)[id]
			switch key {
			case "instance-type":
				return found.Type, true
			case "availability-zone":
				return found.Zone, true
			case "subnet-id":
				return found.SubnetID, true
			case "vpc-id":
				return found.VpcID, true
			case "instance-state-name":
				return "running", true
			case "instance-lifecycle":
				// Source: EC2 API, DescribeInstances: spot, scheduled or capacity-block; on-demand
				// instances have none.
				return map[bool]string{true: "spot"}[found.Spot], true
			case "tag:eks:cluster-name":
				return found.Cluster, true
			case "tag:eks:nodegroup-name":
				return found.NodeGroup, true
			default:
				return "", false
			}
		},
	)
	if err != nil {
		return nil, err
	}
	result := instancesResult{
		ID:         o.Region,
		IDs:        []string{},
		PrivateIPs: []string{},
		PublicIPs:  []string{},
	}
	for _, id := range kept {
		found := Instances.In(o)[id]
		if !hasTags(
			map[string]string{
				"eks:cluster-name":   found.Cluster,
				"eks:nodegroup-name": found.NodeGroup,
			},
			args.InstanceTags,
		) {
			continue
		}
		result.IDs = append(result.IDs, id)
		result.PrivateIPs = append(result.PrivateIPs, found.PrivateIP)
	}
	return result, nil
}

type instanceArgs struct {
	InstanceID string `json:"instanceId"`
}

type instanceResult struct {
	AvailabilityZone string            `json:"availabilityZone"`
	ID               string            `json:"id"`
	InstanceID       string            `json:"instanceId"`
	InstanceState    string            `json:"instanceState"`
	InstanceType     string            `json:"instanceType"`
	PrivateIP        string            `json:"privateIp"`
	SubnetID         string            `json:"subnetId"`
	Tags             map[string]string `json:"tags"`
}

// getInstance describes one running instance.
func getInstance(o *store.Op, args instanceArgs) (any, error) {
	found, ok := Instances.In(o)[args.InstanceID]
	if !ok {
		return nil, api.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist",
			args.InstanceID)
	}
	return instanceResult{
		AvailabilityZone: found.Zone, ID: args.InstanceID, InstanceID: args.InstanceID,
		InstanceState: "running",
		InstanceType:  found.Type, PrivateIP: found.PrivateIP, SubnetID: found.SubnetID,
		Tags: map[string]string{
			"eks:cluster-name":   found.Cluster,
			"eks:nodegroup-name": found.NodeGroup,
		},
	}, nil
}

type spotPriceArgs struct {
	AvailabilityZone string   `json:"availabilityZone"`
	Filters          []filter `json:"filters"`
	InstanceType     string   `json:"instanceType"`
}

type spotPriceResult struct {
	AvailabilityZone   string `json:"availabilityZone"`
	ID                 string `json:"id"`
	InstanceType       string `json:"instanceType"`
	SpotPrice          string `json:"spotPrice"`
	SpotPriceTimestamp string `json:"spotPriceTimestamp"`
}

// getSpotPrice returns 40 % of the On-Demand price: spot prices change, and a rehearsal has no
// current one.
func getSpotPrice(o *store.Op, args spotPriceArgs) (any, error) {
	t, ok := FindInstanceType(args.InstanceType)
	if !ok {
		return nil, api.Errorf("InvalidInstanceType",
			"The following supplied instance types do not exist: [%s]", args.InstanceType)
	}
	return spotPriceResult{
		AvailabilityZone: args.AvailabilityZone, ID: o.Region, InstanceType: t.Name,
		SpotPrice: fmt.Sprintf("%.6f",
			capacity.InstancePrices()[t.Name]*0.4), SpotPriceTimestamp: o.Now.Format(time.RFC3339),
	}, nil
}
