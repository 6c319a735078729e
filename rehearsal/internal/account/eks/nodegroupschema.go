package eks

import "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"

// NodeGroup is aws:eks/nodeGroup:NodeGroup.
type NodeGroup struct {
	ClusterName         string                   `json:"clusterName" aws:"required,replace"`
	NodeGroupName       string                   `json:"nodeGroupName,omitempty" aws:"autoname,replace"`
	NodeGroupNamePrefix string                   `json:"nodeGroupNamePrefix,omitempty" aws:"replace"`
	NodeRoleARN         string                   `json:"nodeRoleArn" aws:"required,replace"`
	SubnetIDs           []string                 `json:"subnetIds" aws:"required,replace"`
	ScalingConfig       ScalingConfig            `json:"scalingConfig" aws:"required"`
	AmiType             string                   `json:"amiType,omitempty" aws:"default,replace"`
	CapacityType        string                   `json:"capacityType,omitempty" aws:"default,replace"`
	DiskSize            int                      `json:"diskSize,omitempty" aws:"default,replace"`
	ForceUpdateVersion  bool                     `json:"forceUpdateVersion,omitempty"`
	InstanceTypes       []string                 `json:"instanceTypes,omitempty" aws:"default,replace"`
	Labels              map[string]string        `json:"labels,omitempty"`
	LaunchTemplate      *NodeGroupLaunchTemplate `json:"launchTemplate,omitempty"`
	NodeRepairConfig    *NodeRepairConfig        `json:"nodeRepairConfig,omitempty"`
	ReleaseVersion      string                   `json:"releaseVersion,omitempty" aws:"default"`
	RemoteAccess        *RemoteAccess            `json:"remoteAccess,omitempty" aws:"replace"`
	Taints              []NodeGroupTaint         `json:"taints,omitempty"`
	UpdateConfig        *UpdateConfig            `json:"updateConfig,omitempty" aws:"default"`
	Version             string                   `json:"version,omitempty" aws:"default"`
	schema.Tagged

	ARN       string              `json:"arn,omitempty" aws:"computed"`
	Resources []NodeGroupResource `json:"resources,omitempty" aws:"computed"`
	Status    string              `json:"status,omitempty" aws:"computed"`
	// Issue is the health issue of a failed group, in EKS's form.
	Issue string `json:"_issue,omitempty" aws:"hidden"`
}

// ScalingConfig is the number of nodes.
type ScalingConfig struct {
	DesiredSize int `json:"desiredSize" aws:"required"`
	MaxSize     int `json:"maxSize" aws:"required"`
	MinSize     int `json:"minSize" aws:"required"`
}

// NodeGroupLaunchTemplate names a version of a launch template.
type NodeGroupLaunchTemplate struct {
	ID      string `json:"id,omitempty" aws:"default,replace"`
	Name    string `json:"name,omitempty" aws:"default,replace"`
	Version string `json:"version" aws:"required"`
}

// NodeRepairConfig turns automatic repair on.
type NodeRepairConfig struct {
	Enabled bool `json:"enabled,omitempty"`
}

// RemoteAccess opens SSH.
type RemoteAccess struct {
	EC2SSHKey              string   `json:"ec2SshKey,omitempty" aws:"replace"`
	SourceSecurityGroupIDs []string `json:"sourceSecurityGroupIds,omitempty" aws:"replace"`
}

// NodeGroupTaint is a taint in EKS's spelling (NO_SCHEDULE).
type NodeGroupTaint struct {
	Key    string `json:"key" aws:"required"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect" aws:"required"`
}

// UpdateConfig bounds a rolling update.
type UpdateConfig struct {
	MaxUnavailable           int `json:"maxUnavailable,omitempty" aws:"default"`
	MaxUnavailablePercentage int `json:"maxUnavailablePercentage,omitempty"`
}

// NodeGroupResource is what a node group made.
type NodeGroupResource struct {
	AutoscalingGroups []AutoscalingGroup `json:"autoscalingGroups,omitempty"`
}

// AutoscalingGroup is the group behind a node group.
type AutoscalingGroup struct {
	Name string `json:"name,omitempty"`
}
