package account

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// managedPolicy is the ARN prefix of policies that AWS owns.
const managedPolicy = "arn:aws:iam::aws:policy/"

func roleRules(kind resource.Kind) rules[resource.Role] {
	return rules[resource.Role]{
		kind: kind, service: "IAM",
		createVerb: "CreateRole", updateVerb: "UpdateRole", deleteVerb: "DeleteRole",
		rows:   func(s *state) table[resource.Role] { return s.Roles },
		create: (*op).createRole,
		update: func(o *op, _ string, _, in *resource.Role) error { return o.checkRole(in) },
		remove: (*op).removeRole,
	}
}

func (o *op) createRole(in *resource.Role) (string, error) {
	in.Name = named(in.Name, in.NamePrefix)
	// Source: IAM quotas: role names have at most 64 characters.
	if len(in.Name) > 64 {
		return "", api.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64", in.Name)
	}
	if _, taken := o.Roles[in.Name]; taken {
		return "", api.Errorf("EntityAlreadyExists", "Role with name %s already exists.", in.Name).WithStatus(409)
	}
	if err := o.checkRole(in); err != nil {
		return "", err
	}
	if in.Path == "" {
		in.Path = "/"
	}
	in.ARN = fmt.Sprintf("arn:aws:iam::%s:role%s%s", o.AccountID, in.Path, in.Name)
	in.CreateDate = o.now.Format(time.RFC3339)
	in.UniqueID = "AROA" + strings.ToUpper(randomHex(17))
	return in.Name, nil
}

func (o *op) checkRole(in *resource.Role) error {
	if err := checkDocument(string(in.AssumeRolePolicy)); err != nil {
		return err
	}
	for _, arn := range in.ManagedPolicyARNs {
		if err := o.checkPolicyARN(arn); err != nil {
			return err
		}
	}
	return nil
}

// checkDocument refuses text that is no policy.
// Source: IAM API error MalformedPolicyDocument.
func checkDocument(text string) error {
	var document struct {
		Statement json.RawMessage `json:"Statement"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Statement) == 0 {
		return api.Errorf("MalformedPolicyDocument", "This policy contains invalid Json")
	}
	return nil
}

// removeRole refuses while policies are attached or a node group uses the role.
// Source: IAM API, DeleteRole, error DeleteConflict.
func (o *op) removeRole(id string, gone *resource.Role) error {
	for _, groupID := range o.NodeGroups.sorted() {
		if o.NodeGroups[groupID].NodeRoleARN == gone.ARN {
			return api.Errorf("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first. (rehearsal: node group %s)", groupID).WithStatus(409)
		}
	}
	if gone.ForceDetachPolicies {
		for _, attachmentID := range o.RolePolicyAttachments.sorted() {
			if o.RolePolicyAttachments[attachmentID].Role == id {
				delete(o.RolePolicyAttachments, attachmentID)
			}
		}
	}
	for _, attachmentID := range o.RolePolicyAttachments.sorted() {
		if found := o.RolePolicyAttachments[attachmentID]; found.Role == id {
			return api.Errorf("DeleteConflict", "Cannot delete entity, must detach all policies first. (rehearsal: %s)", found.PolicyARN).WithStatus(409)
		}
	}
	for _, policyID := range o.RolePolicies.sorted() {
		if o.RolePolicies[policyID].Role == id {
			return api.Errorf("DeleteConflict", "Cannot delete entity, must delete policies first. (rehearsal: %s)", policyID).WithStatus(409)
		}
	}
	return nil
}

func rolePolicyRules(kind resource.Kind) rules[resource.RolePolicy] {
	return rules[resource.RolePolicy]{
		kind: kind, service: "IAM",
		createVerb: "PutRolePolicy", updateVerb: "PutRolePolicy", deleteVerb: "DeleteRolePolicy",
		rows: func(s *state) table[resource.RolePolicy] { return s.RolePolicies },
		create: func(o *op, in *resource.RolePolicy) (string, error) {
			in.Name = named(in.Name, in.NamePrefix)
			if _, ok := o.Roles[in.Role]; !ok {
				return "", noRole(in.Role)
			}
			return in.Role + ":" + in.Name, checkDocument(string(in.Policy))
		},
		update: func(_ *op, _ string, _, in *resource.RolePolicy) error { return checkDocument(string(in.Policy)) },
	}
}

func rolePolicyAttachmentRules(kind resource.Kind) rules[resource.RolePolicyAttachment] {
	return rules[resource.RolePolicyAttachment]{
		kind: kind, service: "IAM",
		createVerb: "AttachRolePolicy", updateVerb: "AttachRolePolicy", deleteVerb: "DetachRolePolicy",
		rows: func(s *state) table[resource.RolePolicyAttachment] { return s.RolePolicyAttachments },
		create: func(o *op, in *resource.RolePolicyAttachment) (string, error) {
			if _, ok := o.Roles[in.Role]; !ok {
				return "", noRole(in.Role)
			}
			return in.Role + "-" + newID("attachment"), o.checkPolicyARN(in.PolicyARN)
		},
	}
}

func noRole(name string) error {
	return api.Errorf("NoSuchEntity", "The role with name %s cannot be found.", name).WithStatus(404)
}

// checkPolicyARN refuses a policy that is not there. Of AWS's own policies it knows
// those that nodes, clusters and add-ons use.
// Sources: EKS user guide, "Amazon EKS cluster IAM role", "Amazon EKS node IAM role";
// AWS managed policy reference.
func (o *op) checkPolicyARN(arn string) error {
	known := []string{
		"AmazonEKSClusterPolicy", "AmazonEKSServicePolicy", "AmazonEKSVPCResourceController",
		"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKS_CNI_Policy",
		"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly",
		"AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy", "AmazonS3ReadOnlyAccess",
		"service-role/AmazonEBSCSIDriverPolicy", "service-role/AmazonEKSFargatePodExecutionRolePolicy",
	}
	if name, ok := strings.CutPrefix(arn, managedPolicy); ok && slices.Contains(known, name) {
		return nil
	}
	if _, ok := o.Policies[arn]; ok {
		return nil
	}
	return api.Errorf("NoSuchEntity", "Policy %s does not exist or is not attachable.", arn).WithStatus(404)
}

func iamPolicyRules(kind resource.Kind) rules[resource.IAMPolicy] {
	return rules[resource.IAMPolicy]{
		kind: kind, service: "IAM",
		createVerb: "CreatePolicy", updateVerb: "CreatePolicyVersion", deleteVerb: "DeletePolicy",
		rows: func(s *state) table[resource.IAMPolicy] { return s.Policies },
		create: func(o *op, in *resource.IAMPolicy) (string, error) {
			in.Name = named(in.Name, in.NamePrefix)
			if in.Path == "" {
				in.Path = "/"
			}
			in.ARN = fmt.Sprintf("arn:aws:iam::%s:policy%s%s", o.AccountID, in.Path, in.Name)
			in.PolicyID = "ANPA" + strings.ToUpper(randomHex(17))
			if _, taken := o.Policies[in.ARN]; taken {
				return "", api.Errorf("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", in.Name).WithStatus(409)
			}
			return in.ARN, checkDocument(string(in.Policy))
		},
		update: func(_ *op, _ string, _, in *resource.IAMPolicy) error { return checkDocument(string(in.Policy)) },
		remove: func(o *op, id string, _ *resource.IAMPolicy) error {
			for _, attachmentID := range o.RolePolicyAttachments.sorted() {
				// Source: IAM API, DeletePolicy, error DeleteConflict.
				if found := o.RolePolicyAttachments[attachmentID]; found.PolicyARN == id {
					return api.Errorf("DeleteConflict", "Cannot delete a policy attached to entities. (rehearsal: role %s)", found.Role).WithStatus(409)
				}
			}
			return nil
		},
	}
}

func oidcProviderRules(kind resource.Kind) rules[resource.OpenIDConnectProvider] {
	return rules[resource.OpenIDConnectProvider]{
		kind: kind, service: "IAM",
		createVerb: "CreateOpenIDConnectProvider", updateVerb: "UpdateOpenIDConnectProviderThumbprint", deleteVerb: "DeleteOpenIDConnectProvider",
		rows: func(s *state) table[resource.OpenIDConnectProvider] { return s.OIDCProviders },
		create: func(o *op, in *resource.OpenIDConnectProvider) (string, error) {
			in.ARN = fmt.Sprintf("arn:aws:iam::%s:oidc-provider/%s", o.AccountID, strings.TrimPrefix(in.URL, "https://"))
			if _, taken := o.OIDCProviders[in.ARN]; taken {
				return "", api.Errorf("EntityAlreadyExists", "Provider with url %s already exists.", in.URL).WithStatus(409)
			}
			return in.ARN, nil
		},
	}
}

// policiesOf lists the managed policies that a role has.
func (o *op) policiesOf(role *resource.Role) []string {
	all := slices.Clone(role.ManagedPolicyARNs)
	for _, id := range o.RolePolicyAttachments.sorted() {
		if o.RolePolicyAttachments[id].Role == role.Name {
			all = append(all, o.RolePolicyAttachments[id].PolicyARN)
		}
	}
	return all
}

// roleByARN returns a role.
func (o *op) roleByARN(arn string) (*resource.Role, bool) {
	for _, id := range o.Roles.sorted() {
		if o.Roles[id].ARN == arn {
			return o.Roles[id], true
		}
	}
	return nil, false
}

// trusts says whether a role may be assumed by a service such as ec2.amazonaws.com.
func trusts(role *resource.Role, service string) bool {
	return strings.Contains(string(role.AssumeRolePolicy), `"`+service+`"`)
}
