package eks

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// PodIdentityAssociation is aws:eks/podIdentityAssociation:PodIdentityAssociation.
type PodIdentityAssociation struct {
	ClusterName    string `json:"clusterName" aws:"required,replace"`
	Namespace      string `json:"namespace" aws:"required,replace"`
	RoleARN        string `json:"roleArn" aws:"required"`
	ServiceAccount string `json:"serviceAccount" aws:"required,replace"`
	schema.Tagged

	AssociationARN string `json:"associationArn,omitempty" aws:"computed"`
	AssociationID  string `json:"associationId,omitempty" aws:"computed"`
}

// PodIdentities is the token of PodIdentityAssociation.
const PodIdentities store.Token[PodIdentityAssociation] = "aws:eks/podIdentityAssociation:PodIdentityAssociation"

func podIdentityType() store.Type[PodIdentityAssociation] {
	return store.Type[PodIdentityAssociation]{
		Service:   "EKS",
		CreateAPI: "CreatePodIdentityAssociation", UpdateAPI: "UpdatePodIdentityAssociation",
		DeleteAPI: "DeletePodIdentityAssociation",
		Token:     PodIdentities,
		Parent:    Clusters.String(),
		ParentID:  func(row *PodIdentityAssociation) string { return row.ClusterName },
		Create: func(o *store.Op, in *PodIdentityAssociation) (string, error) {
			if _, err := activeCluster(o, in.ClusterName); err != nil {
				return "", err
			}
			for _, id := range PodIdentities.In(o).IDs() {
				other := PodIdentities.In(o)[id]
				if other.ClusterName == in.ClusterName && other.Namespace == in.Namespace &&
					other.ServiceAccount == in.ServiceAccount {
					return "", api.Errorf("ResourceInUseException",
						"Association already exists: %s", id).WithStatus(
						409,
					)
				}
			}
			in.AssociationID = "a-" + store.RandomHex(17)
			in.AssociationARN = o.ARN("eks",
				"podidentityassociation/"+in.ClusterName+"/"+in.AssociationID)
			return in.AssociationID, checkPodRole(o, in.RoleARN)
		},
		Update: func(o *store.Op, _ string, _, in *PodIdentityAssociation) error {
			return checkPodRole(o, in.RoleARN)
		},
	}
}

// checkPodRole checks that pods may assume a role.
// Source: EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity".
func checkPodRole(o *store.Op, arn string) error {
	role, ok := iam.RoleByARN(o, arn)
	if !ok {
		return invalidParameter("Role provided in the request does not exist. (%s)", arn)
	}
	if !iam.Trusts(role, "pods.eks.amazonaws.com") {
		return invalidParameter(
			"Trust policy of role %s is not compatible with pods.eks.amazonaws.com", arn)
	}
	return nil
}
