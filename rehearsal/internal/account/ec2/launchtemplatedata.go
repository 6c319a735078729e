package ec2

import "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"

// LaunchTemplate is aws:ec2/launchTemplate:LaunchTemplate. A change makes a new version.
type LaunchTemplate struct {
	Name                 string `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix           string `json:"namePrefix,omitempty" aws:"replace"`
	UpdateDefaultVersion bool   `json:"updateDefaultVersion,omitempty"`
	LaunchTemplateData
	schema.Tagged

	ARN            string `json:"arn,omitempty" aws:"computed"`
	DefaultVersion int    `json:"defaultVersion,omitempty" aws:"default"`
	LatestVersion  int    `json:"latestVersion,omitempty" aws:"computed,volatile"`
	// Versions are the data of version 1, 2, ...
	Versions []LaunchTemplateData `json:"_versions,omitempty" aws:"hidden"`
}

// LaunchTemplateData is what a version of a launch template holds.
type LaunchTemplateData struct {
	Description                      string                     `json:"description,omitempty"`
	BlockDeviceMappings              []BlockDeviceMapping       `json:"blockDeviceMappings,omitempty"`
	CapacityReservationSpecification *CapacitySpecification     `json:"capacityReservationSpecification,omitempty"`
	EBSOptimized                     string                     `json:"ebsOptimized,omitempty"`
	IAMInstanceProfile               *InstanceProfileRef        `json:"iamInstanceProfile,omitempty"`
	ImageID                          string                     `json:"imageId,omitempty"`
	InstanceMarketOptions            *InstanceMarketOptions     `json:"instanceMarketOptions,omitempty"`
	InstanceType                     string                     `json:"instanceType,omitempty"`
	KeyName                          string                     `json:"keyName,omitempty"`
	MetadataOptions                  *MetadataOptions           `json:"metadataOptions,omitempty" aws:"default"`
	Monitoring                       *Monitoring                `json:"monitoring,omitempty"`
	NetworkInterfaces                []TemplateNetworkInterface `json:"networkInterfaces,omitempty"`
	Placement                        *Placement                 `json:"placement,omitempty"`
	TagSpecifications                []TagSpecification         `json:"tagSpecifications,omitempty"`
	UserData                         string                     `json:"userData,omitempty"`
	VpcSecurityGroupIDs              []string                   `json:"vpcSecurityGroupIds,omitempty"`

	InstanceInitiatedShutdownBehavior string       `json:"instanceInitiatedShutdownBehavior,omitempty"`
	HibernationOptions                *Hibernation `json:"hibernationOptions,omitempty"`
}

// BlockDeviceMapping is one volume.
type BlockDeviceMapping struct {
	DeviceName string `json:"deviceName,omitempty"`
	EBS        *EBS   `json:"ebs,omitempty"`
}

// EBS describes a volume. Strings are "true" or "false", as in pulumi-aws v6.
type EBS struct {
	DeleteOnTermination string `json:"deleteOnTermination,omitempty"`
	Encrypted           string `json:"encrypted,omitempty"`
	IOPS                int    `json:"iops,omitempty" aws:"default"`
	KMSKeyID            string `json:"kmsKeyId,omitempty"`
	Throughput          int    `json:"throughput,omitempty" aws:"default"`
	VolumeSize          int    `json:"volumeSize,omitempty" aws:"default"`
	VolumeType          string `json:"volumeType,omitempty" aws:"default"`
}

// CapacitySpecification selects the capacity reservations to use.
type CapacitySpecification struct {
	CapacityReservationPreference string                     `json:"capacityReservationPreference,omitempty"`
	CapacityReservationTarget     *CapacityReservationTarget `json:"capacityReservationTarget,omitempty"`
}

// CapacityReservationTarget names a reservation or a group of them.
type CapacityReservationTarget struct {
	CapacityReservationID               string `json:"capacityReservationId,omitempty"`
	CapacityReservationResourceGroupARN string `json:"capacityReservationResourceGroupArn,omitempty"`
}

// InstanceProfileRef names an instance profile.
type InstanceProfileRef struct {
	ARN  string `json:"arn,omitempty"`
	Name string `json:"name,omitempty"`
}

// InstanceMarketOptions is the purchasing option: spot, capacity-block or none.
type InstanceMarketOptions struct {
	MarketType string `json:"marketType,omitempty"`
}

// MetadataOptions are those of the instance metadata service.
type MetadataOptions struct {
	HTTPEndpoint            string `json:"httpEndpoint,omitempty" aws:"default"`
	HTTPPutResponseHopLimit int    `json:"httpPutResponseHopLimit,omitempty" aws:"default"`
	HTTPTokens              string `json:"httpTokens,omitempty" aws:"default"`
	InstanceMetadataTags    string `json:"instanceMetadataTags,omitempty" aws:"default"`
}

// Monitoring is detailed monitoring.
type Monitoring struct {
	Enabled bool `json:"enabled,omitempty"`
}

// Hibernation reports whether instances may hibernate.
type Hibernation struct {
	Configured bool `json:"configured" aws:"required"`
}

// TemplateNetworkInterface is one interface of the instances.
type TemplateNetworkInterface struct {
	AssociatePublicIPAddress string   `json:"associatePublicIpAddress,omitempty"`
	DeleteOnTermination      string   `json:"deleteOnTermination,omitempty"`
	Description              string   `json:"description,omitempty"`
	DeviceIndex              *int     `json:"deviceIndex,omitempty"`
	InterfaceType            string   `json:"interfaceType,omitempty"`
	NetworkCardIndex         *int     `json:"networkCardIndex,omitempty"`
	NetworkInterfaceID       string   `json:"networkInterfaceId,omitempty"`
	SecurityGroups           []string `json:"securityGroups,omitempty"`
	SubnetID                 string   `json:"subnetId,omitempty"`
}

// Placement is where instances are placed.
type Placement struct {
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	GroupName        string `json:"groupName,omitempty"`
	Tenancy          string `json:"tenancy,omitempty"`
}

// TagSpecification tags what is launched.
type TagSpecification struct {
	ResourceType string            `json:"resourceType,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
}
