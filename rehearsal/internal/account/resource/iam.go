package resource

// Role is aws:iam/role:Role.
type Role struct {
	Name                string         `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix          string         `json:"namePrefix,omitempty" aws:"replace"`
	AssumeRolePolicy    Document       `json:"assumeRolePolicy" aws:"required"`
	Description         string         `json:"description,omitempty"`
	ForceDetachPolicies bool           `json:"forceDetachPolicies"`
	InlinePolicies      []InlinePolicy `json:"inlinePolicies,omitempty" aws:"default"`
	ManagedPolicyARNs   []string       `json:"managedPolicyArns,omitempty" aws:"default"`
	MaxSessionDuration  int            `json:"maxSessionDuration,omitempty" aws:"initial=3600"`
	Path                string         `json:"path,omitempty" aws:"replace,initial=/"`
	PermissionsBoundary string         `json:"permissionsBoundary,omitempty"`
	Tagged

	ARN        string `json:"arn,omitempty" aws:"computed"`
	CreateDate string `json:"createDate,omitempty" aws:"computed"`
	UniqueID   string `json:"uniqueId,omitempty" aws:"computed"`
}

// InlinePolicy is a policy that is written inside its role.
type InlinePolicy struct {
	Name   string `json:"name,omitempty"`
	Policy string `json:"policy,omitempty"`
}

// RolePolicy is aws:iam/rolePolicy:RolePolicy.
type RolePolicy struct {
	Name       string   `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix string   `json:"namePrefix,omitempty" aws:"replace"`
	Policy     Document `json:"policy" aws:"required"`
	Role       string   `json:"role" aws:"required,replace"`
}

// RolePolicyAttachment is aws:iam/rolePolicyAttachment:RolePolicyAttachment.
type RolePolicyAttachment struct {
	PolicyARN string `json:"policyArn" aws:"required,replace"`
	Role      string `json:"role" aws:"required,replace"`
}

// IAMPolicy is aws:iam/policy:Policy.
type IAMPolicy struct {
	Name        string   `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix  string   `json:"namePrefix,omitempty" aws:"replace"`
	Description string   `json:"description,omitempty" aws:"replace"`
	Path        string   `json:"path,omitempty" aws:"replace,initial=/"`
	Policy      Document `json:"policy" aws:"required"`
	Tagged

	ARN             string `json:"arn,omitempty" aws:"computed"`
	AttachmentCount int    `json:"attachmentCount" aws:"computed"`
	PolicyID        string `json:"policyId,omitempty" aws:"computed"`
}

// OpenIDConnectProvider is aws:iam/openIdConnectProvider:OpenIdConnectProvider.
type OpenIDConnectProvider struct {
	ClientIDLists   []string `json:"clientIdLists" aws:"required"`
	ThumbprintLists []string `json:"thumbprintLists,omitempty" aws:"default"`
	URL             string   `json:"url" aws:"required,replace"`
	Tagged

	ARN string `json:"arn,omitempty" aws:"computed"`
}
