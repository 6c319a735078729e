package resource

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
	Tagged

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

// ClusterVpcConfig says where the control plane's interfaces are.
type ClusterVpcConfig struct {
	SubnetIDs              []string `json:"subnetIds" aws:"required"`
	SecurityGroupIDs       []string `json:"securityGroupIds,omitempty"`
	EndpointPrivateAccess  bool     `json:"endpointPrivateAccess"`
	EndpointPublicAccess   *bool    `json:"endpointPublicAccess,omitempty" aws:"default"`
	PublicAccessCidrs      []string `json:"publicAccessCidrs,omitempty" aws:"default"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty" aws:"computed"`
	VpcID                  string   `json:"vpcId,omitempty" aws:"computed"`
}

// AccessConfig says who may enter a cluster, and by which means.
type AccessConfig struct {
	AuthenticationMode                      string `json:"authenticationMode,omitempty" aws:"default"`
	BootstrapClusterCreatorAdminPermissions *bool  `json:"bootstrapClusterCreatorAdminPermissions,omitempty" aws:"default,replace"`
}

// EncryptionConfig says with which key secrets are encrypted.
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

// Addon is aws:eks/addon:Addon.
type Addon struct {
	AddonName                string             `json:"addonName" aws:"required,replace"`
	AddonVersion             string             `json:"addonVersion,omitempty" aws:"default"`
	ClusterName              string             `json:"clusterName" aws:"required,replace"`
	ConfigurationValues      string             `json:"configurationValues,omitempty" aws:"default"`
	PodIdentityAssociations  []AddonPodIdentity `json:"podIdentityAssociations,omitempty"`
	Preserve                 bool               `json:"preserve,omitempty"`
	ResolveConflicts         string             `json:"resolveConflicts,omitempty"`
	ResolveConflictsOnCreate string             `json:"resolveConflictsOnCreate,omitempty"`
	ResolveConflictsOnUpdate string             `json:"resolveConflictsOnUpdate,omitempty"`
	ServiceAccountRoleARN    string             `json:"serviceAccountRoleArn,omitempty"`
	Tagged

	ARN        string `json:"arn,omitempty" aws:"computed"`
	CreatedAt  string `json:"createdAt,omitempty" aws:"computed"`
	ModifiedAt string `json:"modifiedAt,omitempty" aws:"computed,volatile"`
	// Status is the add-on's state; pulumi-aws does not show it.
	Status string `json:"_status,omitempty" aws:"hidden"`
}

// AddonPodIdentity gives an add-on's service account a role.
type AddonPodIdentity struct {
	RoleARN        string `json:"roleArn" aws:"required"`
	ServiceAccount string `json:"serviceAccount" aws:"required"`
}

// AccessEntry is aws:eks/accessEntry:AccessEntry.
type AccessEntry struct {
	ClusterName      string   `json:"clusterName" aws:"required,replace"`
	PrincipalARN     string   `json:"principalArn" aws:"required,replace"`
	KubernetesGroups []string `json:"kubernetesGroups,omitempty" aws:"default"`
	Type             string   `json:"type,omitempty" aws:"replace,initial=STANDARD"`
	UserName         string   `json:"userName,omitempty" aws:"default"`
	Tagged

	AccessEntryARN string `json:"accessEntryArn,omitempty" aws:"computed"`
	CreatedAt      string `json:"createdAt,omitempty" aws:"computed"`
	ModifiedAt     string `json:"modifiedAt,omitempty" aws:"computed,volatile"`
	// MadeByEKS is true for the creator's entry and those of node groups.
	MadeByEKS bool `json:"_madeByEks,omitempty" aws:"hidden"`
}

// AccessPolicyAssociation is aws:eks/accessPolicyAssociation:AccessPolicyAssociation.
type AccessPolicyAssociation struct {
	ClusterName  string      `json:"clusterName" aws:"required,replace"`
	PrincipalARN string      `json:"principalArn" aws:"required,replace"`
	PolicyARN    string      `json:"policyArn" aws:"required,replace"`
	AccessScope  AccessScope `json:"accessScope" aws:"required,replace"`

	AssociatedAt string `json:"associatedAt,omitempty" aws:"computed"`
	ModifiedAt   string `json:"modifiedAt,omitempty" aws:"computed,volatile"`
}

// AccessScope is the whole cluster or some namespaces.
type AccessScope struct {
	Type       string   `json:"type" aws:"required"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// PodIdentityAssociation is aws:eks/podIdentityAssociation:PodIdentityAssociation.
type PodIdentityAssociation struct {
	ClusterName    string `json:"clusterName" aws:"required,replace"`
	Namespace      string `json:"namespace" aws:"required,replace"`
	RoleARN        string `json:"roleArn" aws:"required"`
	ServiceAccount string `json:"serviceAccount" aws:"required,replace"`
	Tagged

	AssociationARN string `json:"associationArn,omitempty" aws:"computed"`
	AssociationID  string `json:"associationId,omitempty" aws:"computed"`
}
