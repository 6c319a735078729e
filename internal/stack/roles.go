package stack

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// roleType is the type of an IAM role.
const roleType = "aws:iam/role:Role"

// limitRoles gives every IAM role of the stack a permissions boundary, also the one that pulumi-eks
// creates. An empty ARN means none.
func limitRoles(ctx *pulumi.Context, boundaryARN string) error {
	if boundaryARN == "" {
		return nil
	}
	type transformed = pulumi.ResourceTransformResult
	err := ctx.RegisterResourceTransform(
		func(_ context.Context, args *pulumi.ResourceTransformArgs) *transformed {
			if args.Type != roleType {
				return nil
			}
			props := args.Props
			props["permissionsBoundary"] = pulumi.String(boundaryARN)
			return &transformed{Props: props, Opts: args.Opts}
		})
	if err != nil {
		return fmt.Errorf("adding the permissions boundary to every role: %w", err)
	}
	return nil
}
