package eks

import (
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// AccessEntry is aws:eks/accessEntry:AccessEntry.
type AccessEntry struct {
	ClusterName      string   `json:"clusterName" aws:"required,replace"`
	PrincipalARN     string   `json:"principalArn" aws:"required,replace"`
	KubernetesGroups []string `json:"kubernetesGroups,omitempty" aws:"default"`
	Type             string   `json:"type,omitempty" aws:"replace,initial=STANDARD"`
	UserName         string   `json:"userName,omitempty" aws:"default"`
	schema.Tagged

	AccessEntryARN string `json:"accessEntryArn,omitempty" aws:"computed"`
	CreatedAt      string `json:"createdAt,omitempty" aws:"computed"`
	ModifiedAt     string `json:"modifiedAt,omitempty" aws:"computed,volatile"`
	// MadeByEKS is true for the creator's entry and those of node groups.
	MadeByEKS bool `json:"_madeByEks,omitempty" aws:"hidden"`
}

// AccessEntries is the token of AccessEntry.
const AccessEntries store.Token[AccessEntry] = "aws:eks/accessEntry:AccessEntry"

func accessEntryType() store.Type[AccessEntry] {
	return store.Type[AccessEntry]{
		Service:   "EKS",
		CreateAPI: "CreateAccessEntry", UpdateAPI: "UpdateAccessEntry",
		DeleteAPI: "DeleteAccessEntry",
		Token:     AccessEntries,
		Parent:    Clusters.String(),
		ParentID:  func(row *AccessEntry) string { return row.ClusterName },
		Create:    createAccessEntry,
	}
}

func createAccessEntry(o *store.Op, in *AccessEntry) (string, error) {
	cluster, err := activeCluster(o, in.ClusterName)
	if err != nil {
		return "", err
	}
	// Source: EKS user guide, "Grant IAM users access with access entries".
	if cluster.AccessConfig.AuthenticationMode == modeConfigMap {
		return "", api.Errorf("InvalidRequestException",
			"The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "+
				"to perform this operation.")
	}
	id := EntryID(in.ClusterName, in.PrincipalARN)
	if _, taken := AccessEntries.In(o)[id]; taken {
		return "", api.Errorf("ResourceInUseException",
			"The specified access entry resource is already in use on this cluster.").WithStatus(
			409,
		)
	}
	if _, ok := iam.RoleByARN(o, in.PrincipalARN); !ok && in.PrincipalARN != o.CallerARN() {
		return "", invalidParameter(
			"The specified principalArn is invalid: invalid principal. (%s)", in.PrincipalARN)
	}
	if in.Type == "" {
		in.Type = "STANDARD"
	}
	valid := []string{
		"STANDARD",
		"EC2_LINUX",
		"EC2_WINDOWS",
		"FARGATE_LINUX",
		"EC2",
		"HYBRID_LINUX",
		"HYPERPOD_LINUX",
	}
	if !slices.Contains(valid, in.Type) {
		return "", invalidParameter("The type %q of the access entry is not one of %s", in.Type,
			strings.Join(valid, ", "))
	}
	if in.Type != "STANDARD" && (len(in.KubernetesGroups) > 0 || in.UserName != "") {
		// Source: EKS API, CreateAccessEntry: groups and names only for STANDARD.
		return "", invalidParameter(
			"Groups and usernames can only be specified for access entries of type STANDARD.")
	}
	if slices.ContainsFunc(in.KubernetesGroups,
		func(group string) bool { return strings.HasPrefix(group, "system:") }) {
		return "", invalidParameter("The kubernetes group name may not start with system:")
	}
	completeEntry(o, in)
	return id, nil
}

// completeEntry sets the properties of an access entry that EKS chooses.
func completeEntry(o *store.Op, in *AccessEntry) {
	in.CreatedAt = o.Now.Format(time.RFC3339)
	in.ModifiedAt = in.CreatedAt
	in.AccessEntryARN = o.ARN(
		"eks",
		"access-entry/"+in.ClusterName+"/"+strings.ReplaceAll(
			in.PrincipalARN[strings.LastIndex(in.PrincipalARN, ":")+1:], "/",
			"-")+"/"+store.RandomHex(
			8,
		),
	)
	if in.Type == "EC2_LINUX" {
		in.UserName = "system:node:{{EC2PrivateDNSName}}"
		in.KubernetesGroups = []string{"system:nodes"}
		return
	}
	if in.UserName == "" {
		in.UserName = in.PrincipalARN
	}
}

// EntryID returns the id of a principal's access entry in a cluster.
func EntryID(cluster, principal string) string { return cluster + ":" + principal }

// grantCreatorAccess adds an access entry with the admin policy for the creator.
// Source: EKS API, CreateAccessConfigRequest, bootstrapClusterCreatorAdminPermissions.
func grantCreatorAccess(o *store.Op, cluster *Cluster) {
	config := cluster.AccessConfig
	if config.AuthenticationMode == modeConfigMap ||
		!*config.BootstrapClusterCreatorAdminPermissions {
		return
	}
	entry := &AccessEntry{
		ClusterName:  cluster.Name,
		PrincipalARN: o.CallerARN(),
		Type:         "STANDARD",
		MadeByEKS:    true,
	}
	completeEntry(o, entry)
	AccessEntries.In(o)[EntryID(cluster.Name, entry.PrincipalARN)] = entry
	association := &AccessPolicyAssociation{
		ClusterName: cluster.Name, PrincipalARN: entry.PrincipalARN,
		PolicyARN:   accessPolicy + "AmazonEKSClusterAdminPolicy",
		AccessScope: AccessScope{Type: "cluster"},
	}
	AccessAssociations.In(o)[associationID(association)] = association
}
