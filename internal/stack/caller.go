package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// caller is the AWS identity that runs the program.
type caller struct {
	accountID, arn string
}

// caller calls sts:GetCallerIdentity, which needs no permission.
func (l lookup) caller() (caller, error) {
	found, err := aws.GetCallerIdentity(l.ctx, &aws.GetCallerIdentityArgs{}, l.option)
	if err != nil {
		return caller{}, failed("sts:GetCallerIdentity", err)
	}
	return caller{accountID: found.AccountId, arn: found.Arn}, nil
}

// is reports whether a role or user is the caller. A session of a role has an ARN of its own, without
// the role's path: arn:aws:sts::ACCOUNT:assumed-role/NAME/SESSION.
func (c caller) is(principalARN string) bool {
	session, ok := strings.CutPrefix(afterColons(c.arn, 5), "assumed-role/")
	if !ok {
		return c.arn == principalARN
	}
	name, _, _ := strings.Cut(session, "/")
	role := afterColons(principalARN, 5)
	return strings.HasPrefix(role, "role/") && strings.HasSuffix(role, "/"+name) &&
		strings.Contains(principalARN, ":"+c.accountID+":")
}

// afterColons returns what follows the given number of colons, the resource of an ARN after five.
func afterColons(text string, colons int) string {
	parts := strings.SplitN(text, ":", colons+1)
	return parts[len(parts)-1]
}

// codeCreator is the code of the refusal of an administrator.
const codeCreator = "admin-is-creator"

// checkCreator refuses the caller among the administrators of a cluster that does not exist yet: its
// creator is an administrator already, and EKS refuses a second access entry after ten minutes (409).
// It warns where the caller may not ask whether the cluster exists.
func (l lookup) checkCreator(c caller, s settings.Settings) error {
	at := slices.IndexFunc(s.AdminPrincipalARNs, c.is)
	if at < 0 {
		return nil
	}
	const next = "pulumi config set adminPrincipalArns without it, or run pulumi up as another identity"
	found, err := eks.GetClusters(l.ctx, l.option)
	if err != nil {
		err = failed("eks:ListClusters", err)
	}
	switch {
	case errors.Is(err, capacity.ErrDenied):
		return l.ctx.Log.Warn(fmt.Sprintf("adminPrincipalArns lists %s, which runs this program. If the cluster "+
			"does not exist yet, EKS refuses it (409); that is unknown: %v\nnext:     %s",
			s.AdminPrincipalARNs[at], err, next), nil)
	case err != nil:
		return explainLookup(s, err)
	case slices.Contains(found.Names, s.ClusterName):
		return nil
	}
	return &refusal.Refusal{
		Code:    codeCreator,
		Summary: fmt.Sprintf("refused: adminPrincipalArns %q (%s)", s.AdminPrincipalARNs[at], codeCreator),
		Cause: "the identity that creates a cluster is its administrator, and EKS refuses a second access entry " +
			"for it (409), after the control plane was created",
		Evidence: c.arn, Next: next, Billing: refusal.NothingCreated,
	}
}
