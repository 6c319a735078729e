// Package iam holds the resource types and rules of IAM.
package iam

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of IAM.
func Types() []store.AnyType {
	return []store.AnyType{
		roleType(), rolePolicyType(), rolePolicyAttachmentType(), policyType(), oidcProviderType(),
	}
}

// Functions are the provider's functions about IAM, by token.
func Functions() map[string]store.Function {
	return map[string]store.Function{
		"aws:iam/getPolicyDocument:getPolicyDocument": store.Answer(getPolicyDocument),
	}
}

// Role is aws:iam/role:Role.
type Role struct {
	Name                string          `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix          string          `json:"namePrefix,omitempty" aws:"replace"`
	AssumeRolePolicy    schema.Document `json:"assumeRolePolicy" aws:"required"`
	Description         string          `json:"description,omitempty"`
	ForceDetachPolicies bool            `json:"forceDetachPolicies"`
	InlinePolicies      []InlinePolicy  `json:"inlinePolicies,omitempty" aws:"default"`
	ManagedPolicyARNs   []string        `json:"managedPolicyArns,omitempty" aws:"default"`
	MaxSessionDuration  int             `json:"maxSessionDuration,omitempty" aws:"initial=3600"`
	Path                string          `json:"path,omitempty" aws:"replace,initial=/"`
	PermissionsBoundary string          `json:"permissionsBoundary,omitempty"`
	schema.Tagged

	ARN        string `json:"arn,omitempty" aws:"computed"`
	CreateDate string `json:"createDate,omitempty" aws:"computed"`
	UniqueID   string `json:"uniqueId,omitempty" aws:"computed"`
}

// InlinePolicy is a policy that is written inside its role.
type InlinePolicy struct {
	Name   string `json:"name,omitempty"`
	Policy string `json:"policy,omitempty"`
}

// Roles is the token of Role.
const Roles store.Token[Role] = "aws:iam/role:Role"

func roleType() store.Type[Role] {
	return store.Type[Role]{
		Service:   "IAM",
		CreateAPI: "CreateRole", UpdateAPI: "UpdateRole", DeleteAPI: "DeleteRole",
		CreateSeconds: 8, // Terraform provider: waits for IAM to propagate
		Token:         Roles,
		Item:          store.HoldsName[Role],
		Create:        createRole,
		Update:        func(o *store.Op, _ string, _, in *Role) error { return checkRole(o, in) },
		Delete:        deleteRole,
	}
}

func createRole(o *store.Op, in *Role) (string, error) {
	in.Name = store.Named(in.Name, in.NamePrefix)
	// Source: IAM quotas: role names have at most 64 characters.
	if len(in.Name) > 64 {
		return "", api.Errorf("ValidationError",
			"1 validation error detected: Value '%s' at 'roleName' failed to satisfy constraint: "+
				"Member must have length less than or equal to 64",
			in.Name)
	}
	if _, taken := Roles.In(o)[in.Name]; taken {
		return "", api.Errorf("EntityAlreadyExists", "Role with name %s already exists.",
			in.Name).WithStatus(
			409,
		)
	}
	if err := checkRole(o, in); err != nil {
		return "", err
	}
	if in.Path == "" {
		in.Path = "/"
	}
	in.ARN = fmt.Sprintf("arn:aws:iam::%s:role%s%s", o.AccountID, in.Path, in.Name)
	in.CreateDate = o.Now.Format(time.RFC3339)
	in.UniqueID = "AROA" + strings.ToUpper(store.RandomHex(17))
	return in.Name, nil
}

func checkRole(o *store.Op, in *Role) error {
	if err := CheckDocument(string(in.AssumeRolePolicy)); err != nil {
		return err
	}
	// Source: IAM API, CreateRole, error NoSuchEntity.
	if in.PermissionsBoundary != "" {
		if err := checkPolicyARN(o, in.PermissionsBoundary); err != nil {
			return err
		}
	}
	for _, arn := range in.ManagedPolicyARNs {
		if err := checkPolicyARN(o, arn); err != nil {
			return err
		}
	}
	return nil
}

// deleteRole refuses while policies are attached or a node group uses the role.
// Source: IAM API, DeleteRole, error DeleteConflict.
func deleteRole(o *store.Op, id string, gone *Role) error {
	if user := o.Blocker(gone.ARN); user != "" {
		return api.Errorf("DeleteConflict",
			"Cannot delete entity, must remove roles from instance profile first. (rehearsal: "+
				"node group %s)",
			user).WithStatus(409)
	}
	if gone.ForceDetachPolicies {
		for _, attachmentID := range RolePolicyAttachments.In(o).IDs() {
			if RolePolicyAttachments.In(o)[attachmentID].Role == id {
				delete(RolePolicyAttachments.In(o), attachmentID)
			}
		}
	}
	for _, attachmentID := range RolePolicyAttachments.In(o).IDs() {
		if found := RolePolicyAttachments.In(o)[attachmentID]; found.Role == id {
			return api.Errorf("DeleteConflict",
				"Cannot delete entity, must detach all policies first. (rehearsal: %s)",
				found.PolicyARN).WithStatus(
				409,
			)
		}
	}
	for _, policyID := range RolePolicies.In(o).IDs() {
		if RolePolicies.In(o)[policyID].Role == id {
			return api.Errorf("DeleteConflict",
				"Cannot delete entity, must delete policies first. (rehearsal: %s)",
				policyID).WithStatus(
				409,
			)
		}
	}
	return nil
}

// PoliciesOf lists the managed policies that a role has.
func PoliciesOf(o *store.Op, role *Role) []string {
	all := slices.Clone(role.ManagedPolicyARNs)
	for _, id := range RolePolicyAttachments.In(o).IDs() {
		if RolePolicyAttachments.In(o)[id].Role == role.Name {
			all = append(all, RolePolicyAttachments.In(o)[id].PolicyARN)
		}
	}
	return all
}

// HasInlineAction reports whether a policy written in a role names the action.
func HasInlineAction(o *store.Op, role *Role, action string) bool {
	for _, id := range RolePolicies.In(o).IDs() {
		policy := RolePolicies.In(o)[id]
		if policy.Role == role.Name && strings.Contains(string(policy.Policy), `"`+action+`"`) {
			return true
		}
	}
	return false
}

// RoleByARN returns a role.
func RoleByARN(o *store.Op, arn string) (*Role, bool) {
	for _, id := range Roles.In(o).IDs() {
		if Roles.In(o)[id].ARN == arn {
			return Roles.In(o)[id], true
		}
	}
	return nil, false
}

// Trusts reports whether a role may be assumed by a service such as ec2.amazonaws.com.
func Trusts(role *Role, service string) bool {
	return strings.Contains(string(role.AssumeRolePolicy), `"`+service+`"`)
}
