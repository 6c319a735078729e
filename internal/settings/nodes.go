package settings

import "regexp"

// NodeGroup is one EKS managed node group of fixed size.
type NodeGroup struct {
	// InstanceType is the EC2 instance type.
	InstanceType string
	// Nodes is the number of instances.
	Nodes int
	// AMIRelease is the EKS AMI release version.
	AMIRelease string
	// VolumeGiB is the size of the root volume, VolumeThroughput its throughput in MiB per second.
	VolumeGiB, VolumeThroughput int
}

// Placement is the placement group of the GPU nodes: ClusterPlacement, NoPlacement or the name of an
// existing group.
type Placement string

const (
	// ClusterPlacement is a cluster placement group of the stack. Its nodes are close to each other,
	// and AWS must have room for all of them in one place.
	ClusterPlacement Placement = "cluster"
	// NoPlacement is no placement group.
	NoPlacement Placement = "none"
)

// GPU is the node group of the workers.
type GPU struct {
	NodeGroup
	// Placement is the placement group.
	Placement Placement
	// Capacity is where the nodes get their capacity from, Reservation the one that exists.
	Capacity    Capacity
	Reservation Reservation
	// AutoRepair reports whether EKS replaces nodes that are broken.
	AutoRepair bool
	// MetadataHopLimit is the greatest number of network hops to the instance metadata service: with 1,
	// pods cannot reach it.
	MetadataHopLimit int
}

var (
	// Source: EC2 API reference, CreatePlacementGroup: up to 255 ASCII characters.
	placementForm = regexp.MustCompile(`^[!-~]([ -~]{0,253}[!-~])?$`)
	instanceForm  = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
	releaseForm   = regexp.MustCompile(`^1\.[0-9]{2}\.[0-9]+-[0-9]{8}$`)
)

func parsePlacement(text string) (Placement, error) {
	if !placementForm.MatchString(text) {
		return "", errForm
	}
	return Placement(text), nil
}

// throughputField is the throughput of the root volumes of a group.
func throughputField(group string, at func(*Settings) *int) Field {
	return Field{
		Key: group + ".volumeThroughput", Type: Integer, Default: "500",
		Description: "Throughput of that volume in MiB per second. It limits how fast an image is " +
			"unpacked; more than 125 costs extra.",
		Allowed: "125 to 1000",
		set:     between(125, 1000, at),
	}
}

func nodeFields() []Field {
	return []Field{
		{
			Key: "gpu.instanceType", Type: String, Default: "g6.12xlarge",
			Description: "Instance type of the GPU nodes. It needs GPUs and EFA.",
			Allowed:     "an EC2 instance type with GPUs and EFA",
			set:         matching(instanceForm, func(s *Settings) *string { return &s.GPU.InstanceType }),
		},
		{
			Key: "gpu.nodes", Type: Integer, Default: "2",
			Description: "Number of GPU nodes, 2 or more: the gate judges traffic between nodes.",
			Allowed:     "2 to 512; the gate judges traffic between nodes",
			set:         between(2, 512, func(s *Settings) *int { return &s.GPU.Nodes }),
		},
		{
			Key: "gpu.amiRelease", Type: String, Default: DefaultAMIRelease,
			Description: "EKS AMI release (AL2023_x86_64_NVIDIA) of the GPU nodes.",
			Allowed:     "an EKS AMI release for kubernetesVersion",
			set:         matching(releaseForm, func(s *Settings) *string { return &s.GPU.AMIRelease }),
		},
		{
			Key: "gpu.volumeGiB", Type: Integer, Default: "200",
			Description: "Root volume of a GPU node in GiB.",
			Allowed:     "100 to 16384; the unpacked image takes about 30 GiB",
			set:         between(100, 16384, func(s *Settings) *int { return &s.GPU.VolumeGiB }),
		},
		throughputField("gpu", func(s *Settings) *int { return &s.GPU.VolumeThroughput }),
		{
			Key: "gpu.placement", Type: String, Default: string(ClusterPlacement),
			Description: "Placement group of the GPU nodes: cluster creates a cluster placement group, " +
				"none uses no group, and another value is the name of an existing group. Without a " +
				"group AWS finds capacity more often, and the nodes may be further apart.",
			Allowed: "cluster, none or the name of an existing placement group",
			set:     parsed(parsePlacement, func(s *Settings) *Placement { return &s.GPU.Placement }),
		},
		{
			Key: "gpu.metadataHopLimit", Type: Integer, Default: "1",
			Description: "Network hops to the instance metadata service of a GPU node. With 1, pods " +
				"cannot reach it and so cannot use the node's role; 2 lets all pods do so.",
			Allowed: "1 or 2",
			set:     between(1, 2, func(s *Settings) *int { return &s.GPU.MetadataHopLimit }),
		},
		{
			Key: "gpu.autoRepair", Type: Boolean, Default: "false",
			Description: "Lets EKS replace a GPU node that stays NotReady. Its job then fails, and a new node " +
				"needs capacity.",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.GPU.AutoRepair }),
		},
		{
			Key: "system.instanceType", Type: String, Default: "m7i.xlarge",
			Description: "Instance type of the system nodes, " +
				"which run the Ray head, the operator and CoreDNS.",
			Allowed: "an x86-64 EC2 instance type",
			set:     matching(instanceForm, func(s *Settings) *string { return &s.System.InstanceType }),
		},
		{
			Key: "system.nodes", Type: Integer, Default: "1",
			Description: "Number of system nodes.",
			Allowed:     "1 to 10",
			set:         between(1, 10, func(s *Settings) *int { return &s.System.Nodes }),
		},
		{
			Key: "system.amiRelease", Type: String, Default: DefaultAMIRelease,
			Description: "EKS AMI release (AL2023_x86_64_STANDARD) of the system nodes.",
			Allowed:     "an EKS AMI release for kubernetesVersion",
			set:         matching(releaseForm, func(s *Settings) *string { return &s.System.AMIRelease }),
		},
		{
			Key: "system.volumeGiB", Type: Integer, Default: "100",
			Description: "Root volume of a system node in GiB.",
			Allowed:     "50 to 16384; the head uses the same image as the workers",
			set:         between(50, 16384, func(s *Settings) *int { return &s.System.VolumeGiB }),
		},
		throughputField("system", func(s *Settings) *int { return &s.System.VolumeThroughput }),
		{
			Key: "fastImagePull", Type: Boolean, Default: "true",
			Description: "Lets all nodes download and unpack the layers of an image in parallel (the feature " +
				"gate FastImagePull of EKS's AMIs, which EKS calls experimental).",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.FastImagePull }),
		},
	}
}
