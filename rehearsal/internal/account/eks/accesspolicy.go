package eks

import (
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

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

// accessPolicy is the ARN prefix of EKS's own access policies.
const accessPolicy = "arn:aws:eks::aws:cluster-access-policy/"

func associationID(in *AccessPolicyAssociation) string {
	return in.ClusterName + "#" + in.PrincipalARN + "#" + in.PolicyARN
}

// AccessAssociations is the token of AccessPolicyAssociation.
const AccessAssociations store.Token[AccessPolicyAssociation] = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"

func accessAssociationType() store.Type[AccessPolicyAssociation] {
	return store.Type[AccessPolicyAssociation]{
		Service:   "EKS",
		CreateAPI: "AssociateAccessPolicy", UpdateAPI: "AssociateAccessPolicy",
		DeleteAPI: "DisassociateAccessPolicy",
		Token:     AccessAssociations,
		Parent:    AccessEntries.String(),
		ParentID: func(row *AccessPolicyAssociation) string {
			return EntryID(row.ClusterName, row.PrincipalARN)
		},
		Create: func(o *store.Op, in *AccessPolicyAssociation) (string, error) {
			if _, err := activeCluster(o, in.ClusterName); err != nil {
				return "", err
			}
			entry, ok := AccessEntries.In(o)[EntryID(in.ClusterName, in.PrincipalARN)]
			if !ok {
				return "", api.Errorf("ResourceNotFoundException",
					"The specified principalArn could not be found. You can view your available "+
						"access entries with 'ListAccessEntries'. (%s)",
					in.PrincipalARN).WithStatus(
					404,
				)
			}
			if entry.Type != "STANDARD" {
				return "", invalidParameter(
					"Access policies can only be associated with access entries of type STANDARD.")
			}
			// Source: EKS user guide, "Review access policy permissions".
			known := []string{
				"AmazonEKSClusterAdminPolicy",
				"AmazonEKSAdminPolicy",
				"AmazonEKSAdminViewPolicy",
				"AmazonEKSEditPolicy",
				"AmazonEKSViewPolicy",
			}
			if !slices.Contains(known, strings.TrimPrefix(in.PolicyARN, accessPolicy)) {
				return "", invalidParameter(
					"The policyArn %q does not exist; known are %s under %s", in.PolicyARN,
					strings.Join(known, ", "), accessPolicy)
			}
			if in.AccessScope.Type != "cluster" &&
				(in.AccessScope.Type != "namespace" || len(in.AccessScope.Namespaces) == 0) {
				return "", invalidParameter(
					"The accessScope must be of type cluster, or of type namespace with " +
						"namespaces.")
			}
			in.AssociatedAt = o.Now.Format(time.RFC3339)
			in.ModifiedAt = in.AssociatedAt
			return associationID(in), nil
		},
	}
}
