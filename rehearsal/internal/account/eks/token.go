package eks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// tokenPrefix begins every EKS token. Source: aws-iam-authenticator.
const tokenPrefix = "k8s-aws-v1."

// tokenLifetime is how long a token is good. Source: aws-iam-authenticator: a presigned request is
// accepted for 15 minutes, and the client renews after 14.
const tokenLifetime = 15 * time.Minute

// ErrTokenRefused means that a token is not valid for the cluster.
var ErrTokenRefused = errors.New("token refused")

// claims is the content of a token. On AWS it is a presigned STS request; here it is signed with
// the account's own key.
type claims struct {
	Cluster   string    `json:"cluster"`
	Principal string    `json:"principal"`
	Expires   time.Time `json:"expires"`
}

// IssueToken returns a token for a cluster, as the caller or as a role. Like AWS, it does not
// check that the cluster exists: using the token does.
func IssueToken(a *store.Store, cluster, roleARN string) (api.TokenResponse, error) {
	var answer api.TokenResponse
	var err error
	a.Look(func(o *store.Op) {
		principal := o.CallerARN()
		if roleARN != "" {
			if _, ok := iam.RoleByARN(o, roleARN); !ok {
				err = api.Errorf("AccessDenied",
					"User: %s is not authorized to perform: sts:AssumeRole on resource: %s",
					principal, roleARN).WithStatus(
					403,
				)
				return
			}
			principal = roleARN
		}
		answer.Token, err = newToken(o, cluster, principal)
		answer.Expiration = o.Now.Add(tokenLifetime - time.Minute).Format(time.RFC3339)
	})
	return answer, err
}

// newToken signs the claims.
func newToken(o *store.Op, cluster, principal string) (string, error) {
	body, err := json.Marshal(
		claims{Cluster: cluster, Principal: principal, Expires: o.Now.Add(tokenLifetime)})
	if err != nil {
		return "", fmt.Errorf("encoding a token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return tokenPrefix + text + "." + sign(o.TokenKey, text), nil
}

func sign(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Authenticate returns the Kubernetes user of a token of `aws eks get-token` for a cluster. As on
// EKS, access entries decide.
func Authenticate(a *store.Store,
	token string) (cluster, username string, groups []string, err error) {
	a.Look(func(o *store.Op) {
		var content claims
		if content, err = readToken(o, token); err != nil {
			return
		}
		cluster = content.Cluster
		username, groups, err = identify(o, content)
	})
	return cluster, username, groups, err
}

func readToken(o *store.Op, token string) (claims, error) {
	var content claims
	text, signature, ok := strings.Cut(strings.TrimPrefix(token, tokenPrefix), ".")
	if !ok || !strings.HasPrefix(token, tokenPrefix) ||
		!hmac.Equal([]byte(signature), []byte(sign(o.TokenKey, text))) {
		return content, fmt.Errorf("%w: it was not issued by this account", ErrTokenRefused)
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(body, &content)
	}
	if err != nil {
		return content, fmt.Errorf("%w: %w", ErrTokenRefused, err)
	}
	if o.Now.After(content.Expires) {
		return content, fmt.Errorf("%w: it expired at %s", ErrTokenRefused,
			content.Expires.Format(time.RFC3339))
	}
	return content, nil
}

// identify maps a principal to a Kubernetes user.
// Sources: EKS user guide, "Grant IAM users access with access entries" and "Review
// access policy permissions".
func identify(o *store.Op, content claims) (string, []string, error) {
	cluster, ok := Clusters.In(o)[content.Cluster]
	if !ok {
		return "", nil, fmt.Errorf("%w: there is no cluster %q", ErrTokenRefused, content.Cluster)
	}
	if cluster.AccessConfig.AuthenticationMode == modeConfigMap {
		// In this mode only the creator is known to EKS; others are in aws-auth.
		if content.Principal == o.CallerARN() {
			return "kubernetes-admin", []string{"system:masters"}, nil
		}
		return "", nil, fmt.Errorf(
			"%w: %s is not the cluster's creator, and a rehearsal does not read aws-auth",
			ErrTokenRefused, content.Principal)
	}
	entry, ok := AccessEntries.In(o)[EntryID(content.Cluster, content.Principal)]
	if !ok {
		return "", nil, fmt.Errorf("%w: %s has no access entry on cluster %q", ErrTokenRefused,
			content.Principal, content.Cluster)
	}
	groups := slices.Clone(entry.KubernetesGroups)
	for _, id := range AccessAssociations.In(o).IDs() {
		association := AccessAssociations.In(o)[id]
		if association.ClusterName == content.Cluster && association.PrincipalARN == content.Principal {
			groups = append(groups, policyGroups(association)...)
		}
	}
	return entry.UserName, groups, nil
}

// policyGroups stands in for EKS's authorizer, which grants by policy and not by group:
// the admin policy on the whole cluster is system:masters; the others are groups named
// after the policy, to which nothing is bound.
func policyGroups(association *AccessPolicyAssociation) []string {
	name := strings.TrimPrefix(association.PolicyARN, accessPolicy)
	if association.AccessScope.Type == "cluster" && name == "AmazonEKSClusterAdminPolicy" {
		return []string{"system:masters"}
	}
	if association.AccessScope.Type == "cluster" {
		return []string{"eks:" + name}
	}
	var groups []string
	for _, namespace := range association.AccessScope.Namespaces {
		groups = append(groups, "eks:"+name+":"+namespace)
	}
	return groups
}
