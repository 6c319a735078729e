package eks

import "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"

// Cluster is aws:eks/cluster:Cluster.
type Cluster struct {
	Name                       string                   `json:"name,omitempty" aws:"autoname,replace"`
	RoleARN                    string                   `json:"roleArn" aws:"required,replace"`
	Version                    string                   `json:"version,omitempty" aws:"default"`
	VpcConfig                  ClusterVpcConfig         `json:"vpcConfig" aws:"required"`
	AccessConfig               *AccessConfig            `json:"accessConfig,omitempty" aws:"default"`
	BootstrapSelfManagedAddons *bool                    `json:"bootstrapSelfManagedAddons,omitempty" aws:"replace"`
	DefaultAddonsToRemoves     []string                 `json:"defaultAddonsToRemoves,omitempty"`
	EnabledClusterLogTypes     []string                 `json:"enabledClusterLogTypes,omitempty"`
	EncryptionConfig           *EncryptionConfig        `json:"encryptionConfig,omitempty" aws:"replace"`
	KubernetesNetworkConfig    *KubernetesNetworkConfig `json:"kubernetesNetworkConfig,omitempty" aws:"default"`
	UpgradePolicy              *UpgradePolicy           `json:"upgradePolicy,omitempty" aws:"default"`
	schema.Tagged

	ARN                    string                 `json:"arn,omitempty" aws:"computed"`
	CertificateAuthority   *CertificateAuthority  `json:"certificateAuthority,omitempty" aws:"computed"`
	CertificateAuthorities []CertificateAuthority `json:"certificateAuthorities,omitempty" aws:"computed"`
	CreatedAt              string                 `json:"createdAt,omitempty" aws:"computed"`
	Endpoint               string                 `json:"endpoint,omitempty" aws:"computed"`
	Identities             []Identity             `json:"identities,omitempty" aws:"computed"`
	PlatformVersion        string                 `json:"platformVersion,omitempty" aws:"computed"`
	Status                 string                 `json:"status,omitempty" aws:"computed"`
	// SelfManaged are the add-ons that EKS installed by itself, by name.
	SelfManaged []string `json:"_selfManaged,omitempty" aws:"hidden"`
}

// ClusterVpcConfig is the network of the control plane's interfaces.
type ClusterVpcConfig struct {
	SubnetIDs              []string `json:"subnetIds" aws:"required"`
	SecurityGroupIDs       []string `json:"securityGroupIds,omitempty"`
	EndpointPrivateAccess  bool     `json:"endpointPrivateAccess"`
	EndpointPublicAccess   *bool    `json:"endpointPublicAccess,omitempty" aws:"default"`
	PublicAccessCidrs      []string `json:"publicAccessCidrs,omitempty" aws:"default"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty" aws:"computed"`
	VpcID                  string   `json:"vpcId,omitempty" aws:"computed"`
}

// AccessConfig configures access to a cluster.
type AccessConfig struct {
	AuthenticationMode                      string `json:"authenticationMode,omitempty" aws:"default"`
	BootstrapClusterCreatorAdminPermissions *bool  `json:"bootstrapClusterCreatorAdminPermissions,omitempty" aws:"default,replace"`
}

// EncryptionConfig names the key that encrypts secrets.
type EncryptionConfig struct {
	Provider  EncryptionProvider `json:"provider" aws:"required"`
	Resources []string           `json:"resources" aws:"required"`
}

// EncryptionProvider names a KMS key.
type EncryptionProvider struct {
	KeyARN string `json:"keyArn" aws:"required"`
}

// KubernetesNetworkConfig is the range of service addresses.
type KubernetesNetworkConfig struct {
	IPFamily        string `json:"ipFamily,omitempty" aws:"default,replace"`
	ServiceIpv4Cidr string `json:"serviceIpv4Cidr,omitempty" aws:"default,replace"`
}

// UpgradePolicy is STANDARD or EXTENDED support.
type UpgradePolicy struct {
	SupportType string `json:"supportType,omitempty" aws:"default"`
}

// CertificateAuthority is the control plane's.
type CertificateAuthority struct {
	Data string `json:"data,omitempty"`
}

// Identity is the cluster's OIDC issuer.
type Identity struct {
	Oidcs []IdentityOidc `json:"oidcs,omitempty"`
}

// IdentityOidc is one issuer.
type IdentityOidc struct {
	Issuer string `json:"issuer,omitempty"`
}
