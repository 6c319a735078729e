package account

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// accessPolicy is the ARN prefix of EKS's own access policies.
const accessPolicy = "arn:aws:eks::aws:cluster-access-policy/"

func accessEntryRules(kind resource.Kind) rules[resource.AccessEntry] {
	return rules[resource.AccessEntry]{
		kind: kind, service: "EKS",
		createVerb: "CreateAccessEntry", updateVerb: "UpdateAccessEntry", deleteVerb: "DeleteAccessEntry",
		rows:   func(s *state) table[resource.AccessEntry] { return s.AccessEntries },
		create: (*op).createAccessEntry,
		removed: func(o *op, id string) {
			dropWhere(o.AccessAssociations, func(row *resource.AccessPolicyAssociation) bool {
				return entryID(row.ClusterName, row.PrincipalARN) == id
			})
		},
	}
}

func (o *op) createAccessEntry(in *resource.AccessEntry) (string, error) {
	cluster, err := o.cluster(in.ClusterName)
	if err != nil {
		return "", err
	}
	// Source: EKS user guide, "Grant IAM users access with access entries".
	if cluster.AccessConfig.AuthenticationMode == modeConfigMap {
		return "", api.Errorf("InvalidRequestException", "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.")
	}
	id := entryID(in.ClusterName, in.PrincipalARN)
	if _, taken := o.AccessEntries[id]; taken {
		return "", api.Errorf("ResourceInUseException", "The specified access entry resource is already in use on this cluster.").WithStatus(409)
	}
	if _, ok := o.roleByARN(in.PrincipalARN); !ok && in.PrincipalARN != o.callerARN() {
		return "", invalidParameter("The specified principalArn is invalid: invalid principal. (%s)", in.PrincipalARN)
	}
	if in.Type == "" {
		in.Type = "STANDARD"
	}
	valid := []string{"STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"}
	if !slices.Contains(valid, in.Type) {
		return "", invalidParameter("The type %q of the access entry is not one of %s", in.Type, strings.Join(valid, ", "))
	}
	if in.Type != "STANDARD" && (len(in.KubernetesGroups) > 0 || in.UserName != "") {
		// Source: EKS API, CreateAccessEntry: groups and names only for STANDARD.
		return "", invalidParameter("Groups and usernames can only be specified for access entries of type STANDARD.")
	}
	if slices.ContainsFunc(in.KubernetesGroups, func(group string) bool { return strings.HasPrefix(group, "system:") }) {
		return "", invalidParameter("The kubernetes group name may not start with system:")
	}
	o.completeEntry(in)
	return id, nil
}

// completeEntry fills in what EKS decides about an access entry.
func (o *op) completeEntry(in *resource.AccessEntry) {
	in.CreatedAt = o.now.Format(time.RFC3339)
	in.ModifiedAt = in.CreatedAt
	in.AccessEntryARN = o.arn("eks", "access-entry/"+in.ClusterName+"/"+strings.ReplaceAll(in.PrincipalARN[strings.LastIndex(in.PrincipalARN, ":")+1:], "/", "-")+"/"+randomHex(8))
	if in.Type == "EC2_LINUX" {
		in.UserName = "system:node:{{EC2PrivateDNSName}}"
		in.KubernetesGroups = []string{"system:nodes"}
		return
	}
	if in.UserName == "" {
		in.UserName = in.PrincipalARN
	}
}

func entryID(cluster, principal string) string { return cluster + ":" + principal }

// openToCreator gives the creator an entry with the admin policy.
// Source: EKS API, CreateAccessConfigRequest, bootstrapClusterCreatorAdminPermissions.
func (o *op) openToCreator(cluster *resource.Cluster) {
	config := cluster.AccessConfig
	if config.AuthenticationMode == modeConfigMap || !*config.BootstrapClusterCreatorAdminPermissions {
		return
	}
	entry := &resource.AccessEntry{ClusterName: cluster.Name, PrincipalARN: o.callerARN(), Type: "STANDARD", MadeByEKS: true}
	o.completeEntry(entry)
	o.AccessEntries[entryID(cluster.Name, entry.PrincipalARN)] = entry
	association := &resource.AccessPolicyAssociation{
		ClusterName: cluster.Name, PrincipalARN: entry.PrincipalARN,
		PolicyARN: accessPolicy + "AmazonEKSClusterAdminPolicy", AccessScope: resource.AccessScope{Type: "cluster"},
	}
	o.AccessAssociations[associationID(association)] = association
}

func associationID(in *resource.AccessPolicyAssociation) string {
	return in.ClusterName + "#" + in.PrincipalARN + "#" + in.PolicyARN
}

// callerARN is who calls the account: the person who rehearses.
func (s *state) callerARN() string { return fmt.Sprintf("arn:aws:iam::%s:user/rehearsal", s.AccountID) }

func accessAssociationRules(kind resource.Kind) rules[resource.AccessPolicyAssociation] {
	return rules[resource.AccessPolicyAssociation]{
		kind: kind, service: "EKS",
		createVerb: "AssociateAccessPolicy", updateVerb: "AssociateAccessPolicy", deleteVerb: "DisassociateAccessPolicy",
		rows: func(s *state) table[resource.AccessPolicyAssociation] { return s.AccessAssociations },
		create: func(o *op, in *resource.AccessPolicyAssociation) (string, error) {
			if _, err := o.cluster(in.ClusterName); err != nil {
				return "", err
			}
			entry, ok := o.AccessEntries[entryID(in.ClusterName, in.PrincipalARN)]
			if !ok {
				return "", api.Errorf("ResourceNotFoundException", "The specified principalArn could not be found. You can view your available access entries with 'ListAccessEntries'. (%s)", in.PrincipalARN).WithStatus(404)
			}
			if entry.Type != "STANDARD" {
				return "", invalidParameter("Access policies can only be associated with access entries of type STANDARD.")
			}
			// Source: EKS user guide, "Review access policy permissions".
			known := []string{"AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSEditPolicy", "AmazonEKSViewPolicy"}
			if !slices.Contains(known, strings.TrimPrefix(in.PolicyARN, accessPolicy)) {
				return "", invalidParameter("The policyArn %q does not exist; known are %s under %s", in.PolicyARN, strings.Join(known, ", "), accessPolicy)
			}
			if in.AccessScope.Type != "cluster" && (in.AccessScope.Type != "namespace" || len(in.AccessScope.Namespaces) == 0) {
				return "", invalidParameter("The accessScope must be of type cluster, or of type namespace with namespaces.")
			}
			in.AssociatedAt = o.now.Format(time.RFC3339)
			in.ModifiedAt = in.AssociatedAt
			return associationID(in), nil
		},
	}
}

func podIdentityRules(kind resource.Kind) rules[resource.PodIdentityAssociation] {
	return rules[resource.PodIdentityAssociation]{
		kind: kind, service: "EKS",
		createVerb: "CreatePodIdentityAssociation", updateVerb: "UpdatePodIdentityAssociation", deleteVerb: "DeletePodIdentityAssociation",
		rows: func(s *state) table[resource.PodIdentityAssociation] { return s.PodIdentities },
		create: func(o *op, in *resource.PodIdentityAssociation) (string, error) {
			if _, err := o.cluster(in.ClusterName); err != nil {
				return "", err
			}
			for _, id := range o.PodIdentities.sorted() {
				other := o.PodIdentities[id]
				if other.ClusterName == in.ClusterName && other.Namespace == in.Namespace && other.ServiceAccount == in.ServiceAccount {
					return "", api.Errorf("ResourceInUseException", "Association already exists: %s", id).WithStatus(409)
				}
			}
			in.AssociationID = "a-" + randomHex(17)
			in.AssociationARN = o.arn("eks", "podidentityassociation/"+in.ClusterName+"/"+in.AssociationID)
			return in.AssociationID, o.checkPodRole(in.RoleARN)
		},
		update: func(o *op, _ string, _, in *resource.PodIdentityAssociation) error { return o.checkPodRole(in.RoleARN) },
	}
}

// checkPodRole wants a role that pods may assume.
// Source: EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity".
func (o *op) checkPodRole(arn string) error {
	role, ok := o.roleByARN(arn)
	if !ok {
		return invalidParameter("Role provided in the request does not exist. (%s)", arn)
	}
	if !trusts(role, "pods.eks.amazonaws.com") {
		return invalidParameter("Trust policy of role %s is not compatible with pods.eks.amazonaws.com", arn)
	}
	return nil
}
