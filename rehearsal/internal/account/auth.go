package account

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
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// tokenPrefix begins every EKS token. Source: aws-iam-authenticator.
const tokenPrefix = "k8s-aws-v1."

// tokenLife is how long a token is good. Source: aws-iam-authenticator: a presigned
// request is honoured for 15 minutes, and the client renews after 14.
const tokenLife = 15 * time.Minute

// ErrTokenRefused is returned for every token that does not open a cluster.
var ErrTokenRefused = errors.New("token refused")

// claims is what a token says. On AWS it is a presigned STS request; here it is signed
// with the account's own key.
type claims struct {
	Cluster   string    `json:"cluster"`
	Principal string    `json:"principal"`
	Expires   time.Time `json:"expires"`
}

// IssueToken returns a token for a cluster, as the caller or as a role. Like AWS, it
// does not ask whether the cluster exists: that shows when the token is used.
func (a *Account) IssueToken(cluster, roleARN string) (api.TokenAnswer, error) {
	var answer api.TokenAnswer
	var err error
	a.look(func(o *op) {
		principal := o.callerARN()
		if roleARN != "" {
			if _, ok := o.roleByARN(roleARN); !ok {
				err = api.Errorf("AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s", principal, roleARN).WithStatus(403)
				return
			}
			principal = roleARN
		}
		answer.Token, err = o.newToken(cluster, principal)
		answer.Expiration = o.now.Add(tokenLife - time.Minute).Format(time.RFC3339)
	})
	return answer, err
}

// newToken signs what a token says.
func (o *op) newToken(cluster, principal string) (string, error) {
	body, err := json.Marshal(claims{Cluster: cluster, Principal: principal, Expires: o.now.Add(tokenLife)})
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

// Authenticate says who a token of `aws eks get-token` is, for the cluster that the
// token names, as EKS does: by access entries.
func (a *Account) Authenticate(token string) (username string, groups []string, err error) {
	_, username, groups, err = a.authenticate(token)
	return username, groups, err
}

func (a *Account) authenticate(token string) (cluster, username string, groups []string, err error) {
	a.look(func(o *op) {
		var said claims
		if said, err = o.readToken(token); err != nil {
			return
		}
		cluster = said.Cluster
		username, groups, err = o.identify(said)
	})
	return cluster, username, groups, err
}

func (o *op) readToken(token string) (claims, error) {
	var said claims
	text, signature, ok := strings.Cut(strings.TrimPrefix(token, tokenPrefix), ".")
	if !ok || !strings.HasPrefix(token, tokenPrefix) || !hmac.Equal([]byte(signature), []byte(sign(o.TokenKey, text))) {
		return said, fmt.Errorf("%w: it was not issued by this account", ErrTokenRefused)
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if err != nil {
		return said, fmt.Errorf("%w: %w", ErrTokenRefused, err)
	}
	if o.now.After(said.Expires) {
		return said, fmt.Errorf("%w: it expired at %s", ErrTokenRefused, said.Expires.Format(time.RFC3339))
	}
	return said, nil
}

// identify maps a principal to a Kubernetes user.
// Sources: EKS user guide, "Grant IAM users access with access entries" and "Review
// access policy permissions".
func (o *op) identify(said claims) (string, []string, error) {
	cluster, ok := o.Clusters[said.Cluster]
	if !ok {
		return "", nil, fmt.Errorf("%w: there is no cluster %q", ErrTokenRefused, said.Cluster)
	}
	if cluster.AccessConfig.AuthenticationMode == modeConfigMap {
		// In this mode only the creator is known to EKS; others are in aws-auth.
		if said.Principal == o.callerARN() {
			return "kubernetes-admin", []string{"system:masters"}, nil
		}
		return "", nil, fmt.Errorf("%w: %s is not the cluster's creator, and a rehearsal does not read aws-auth", ErrTokenRefused, said.Principal)
	}
	entry, ok := o.AccessEntries[entryID(said.Cluster, said.Principal)]
	if !ok {
		return "", nil, fmt.Errorf("%w: %s has no access entry on cluster %q", ErrTokenRefused, said.Principal, said.Cluster)
	}
	groups := slices.Clone(entry.KubernetesGroups)
	for _, id := range o.AccessAssociations.sorted() {
		association := o.AccessAssociations[id]
		if association.ClusterName == said.Cluster && association.PrincipalARN == said.Principal {
			groups = append(groups, policyGroups(association)...)
		}
	}
	return entry.UserName, groups, nil
}

// policyGroups stands in for EKS's authorizer, which grants by policy and not by group:
// the admin policy on the whole cluster is system:masters; the others are groups named
// after the policy, to which nothing is bound.
func policyGroups(association *resource.AccessPolicyAssociation) []string {
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
