package iam

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// RolePolicy is aws:iam/rolePolicy:RolePolicy.
type RolePolicy struct {
	Name       string          `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix string          `json:"namePrefix,omitempty" aws:"replace"`
	Policy     schema.Document `json:"policy" aws:"required"`
	Role       string          `json:"role" aws:"required,replace"`
}

// RolePolicyAttachment is aws:iam/rolePolicyAttachment:RolePolicyAttachment.
type RolePolicyAttachment struct {
	PolicyARN string `json:"policyArn" aws:"required,replace"`
	Role      string `json:"role" aws:"required,replace"`
}

// Policy is aws:iam/policy:Policy.
type Policy struct {
	Name        string          `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix  string          `json:"namePrefix,omitempty" aws:"replace"`
	Description string          `json:"description,omitempty" aws:"replace"`
	Path        string          `json:"path,omitempty" aws:"replace,initial=/"`
	Policy      schema.Document `json:"policy" aws:"required"`
	schema.Tagged

	ARN             string `json:"arn,omitempty" aws:"computed"`
	AttachmentCount int    `json:"attachmentCount" aws:"computed"`
	PolicyID        string `json:"policyId,omitempty" aws:"computed"`
}

// OpenIDConnectProvider is aws:iam/openIdConnectProvider:OpenIdConnectProvider.
type OpenIDConnectProvider struct {
	ClientIDLists   []string `json:"clientIdLists" aws:"required"`
	ThumbprintLists []string `json:"thumbprintLists,omitempty" aws:"default"`
	URL             string   `json:"url" aws:"required,replace"`
	schema.Tagged

	ARN string `json:"arn,omitempty" aws:"computed"`
}

// ManagedPolicy is the ARN prefix of policies that AWS owns.
const ManagedPolicy = "arn:aws:iam::aws:policy/"

// RolePolicies is the token of RolePolicy.
const RolePolicies store.Token[RolePolicy] = "aws:iam/rolePolicy:RolePolicy"

func rolePolicyType() store.Type[RolePolicy] {
	return store.Type[RolePolicy]{
		Service:   "IAM",
		CreateAPI: "PutRolePolicy", UpdateAPI: "PutRolePolicy", DeleteAPI: "DeleteRolePolicy",
		Token: RolePolicies,
		Create: func(o *store.Op, in *RolePolicy) (string, error) {
			in.Name = store.Named(in.Name, in.NamePrefix)
			if _, ok := Roles.In(o)[in.Role]; !ok {
				return "", noRole(in.Role)
			}
			return in.Role + ":" + in.Name, CheckDocument(string(in.Policy))
		},
		Update: func(_ *store.Op, _ string, _, in *RolePolicy) error {
			return CheckDocument(string(in.Policy))
		},
	}
}

// RolePolicyAttachments is the token of RolePolicyAttachment.
const RolePolicyAttachments store.Token[RolePolicyAttachment] = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"

func rolePolicyAttachmentType() store.Type[RolePolicyAttachment] {
	return store.Type[RolePolicyAttachment]{
		Service:   "IAM",
		CreateAPI: "AttachRolePolicy", UpdateAPI: "AttachRolePolicy", DeleteAPI: "DetachRolePolicy",
		Token: RolePolicyAttachments,
		Create: func(o *store.Op, in *RolePolicyAttachment) (string, error) {
			if _, ok := Roles.In(o)[in.Role]; !ok {
				return "", noRole(in.Role)
			}
			return in.Role + "-" + store.NewID("attachment"), checkPolicyARN(o, in.PolicyARN)
		},
	}
}

func noRole(name string) error {
	return api.Errorf("NoSuchEntity", "The role with name %s cannot be found.", name).WithStatus(
		404)
}

// checkPolicyARN refuses a policy that is not there. Of AWS's own policies it knows
// those that nodes, clusters and add-ons use.
// Sources: EKS user guide, "Amazon EKS cluster IAM role", "Amazon EKS node IAM role";
// AWS managed policy reference.
func checkPolicyARN(o *store.Op, arn string) error {
	known := []string{
		"AmazonEKSClusterPolicy", "AmazonEKSServicePolicy", "AmazonEKSVPCResourceController",
		"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKS_CNI_Policy",
		"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly",
		"AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy", "AmazonS3ReadOnlyAccess",
		"service-role/AmazonEBSCSIDriverPolicy", "service-role/AmazonEKSFargatePodExecutionRolePolicy",
	}
	if name, ok := strings.CutPrefix(arn, ManagedPolicy); ok && slices.Contains(known, name) {
		return nil
	}
	if _, ok := Policies.In(o)[arn]; ok {
		return nil
	}
	return api.Errorf("NoSuchEntity", "Policy %s does not exist or is not attachable.",
		arn).WithStatus(
		404,
	)
}

// Policies is the token of IAMPolicy.
const Policies store.Token[Policy] = "aws:iam/policy:Policy"

func policyType() store.Type[Policy] {
	return store.Type[Policy]{
		Service:   "IAM",
		CreateAPI: "CreatePolicy", UpdateAPI: "CreatePolicyVersion", DeleteAPI: "DeletePolicy",
		Token: Policies,
		Item:  store.HoldsName[Policy],
		Create: func(o *store.Op, in *Policy) (string, error) {
			in.Name = store.Named(in.Name, in.NamePrefix)
			if in.Path == "" {
				in.Path = "/"
			}
			in.ARN = fmt.Sprintf("arn:aws:iam::%s:policy%s%s", o.AccountID, in.Path, in.Name)
			in.PolicyID = "ANPA" + strings.ToUpper(store.RandomHex(17))
			if _, taken := Policies.In(o)[in.ARN]; taken {
				return "", api.Errorf("EntityAlreadyExists",
					"A policy called %s already exists. Duplicate names are not allowed.",
					in.Name).WithStatus(
					409,
				)
			}
			return in.ARN, CheckDocument(string(in.Policy))
		},
		Update: func(_ *store.Op, _ string, _, in *Policy) error {
			return CheckDocument(string(in.Policy))
		},
		Delete: func(o *store.Op, id string, _ *Policy) error {
			for _, attachmentID := range RolePolicyAttachments.In(o).IDs() {
				// Source: IAM API, DeletePolicy, error DeleteConflict.
				if found := RolePolicyAttachments.In(o)[attachmentID]; found.PolicyARN == id {
					return api.Errorf("DeleteConflict",
						"Cannot delete a policy attached to entities. (rehearsal: role %s)",
						found.Role).WithStatus(
						409,
					)
				}
			}
			return nil
		},
	}
}

// OIDCProviders is the token of OpenIDConnectProvider.
const OIDCProviders store.Token[OpenIDConnectProvider] = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"

func oidcProviderType() store.Type[OpenIDConnectProvider] {
	return store.Type[OpenIDConnectProvider]{
		Service:   "IAM",
		CreateAPI: "CreateOpenIDConnectProvider",
		UpdateAPI: "UpdateOpenIDConnectProviderThumbprint",
		DeleteAPI: "DeleteOpenIDConnectProvider",
		Token:     OIDCProviders,
		Item:      store.HoldsName[OpenIDConnectProvider],
		Create: func(o *store.Op, in *OpenIDConnectProvider) (string, error) {
			in.ARN = fmt.Sprintf("arn:aws:iam::%s:oidc-provider/%s", o.AccountID,
				strings.TrimPrefix(in.URL, "https://"))
			if _, taken := OIDCProviders.In(o)[in.ARN]; taken {
				return "", api.Errorf("EntityAlreadyExists", "Provider with url %s already exists.",
					in.URL).WithStatus(
					409,
				)
			}
			return in.ARN, nil
		},
	}
}
