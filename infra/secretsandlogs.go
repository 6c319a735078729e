package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// keyDeletionDays is the shortest deletion window that KMS allows. A key that is pending deletion
// costs nothing.
const keyDeletionDays = 7

// SecretsAndLogsArgs describes the key and the log group.
type SecretsAndLogsArgs struct {
	// ClusterName is part of the log group's name, as EKS requires.
	ClusterName string
	// LogRetentionDays is how long log lines are kept.
	LogRetentionDays int
}

// SecretsAndLogs is the KMS key for Kubernetes secrets and the log group of the control plane. Both
// are created before the control plane and deleted after it.
type SecretsAndLogs struct {
	pulumi.ResourceState

	// KeyARN is the KMS key.
	KeyARN pulumi.StringOutput
	// Made holds the resources to depend on; see Network.Made.
	Made []pulumi.Resource
}

// NewSecretsAndLogs creates the key and the log group.
func NewSecretsAndLogs(
	ctx *pulumi.Context, name string, args *SecretsAndLogsArgs, opts ...pulumi.ResourceOption,
) (*SecretsAndLogs, error) {
	s := &SecretsAndLogs{}
	opts = append(opts, formerly("ray-train-efa:infra:Safekeeping", "safekeeping"))
	if err := ctx.RegisterComponentResource("ray-train-efa:infra:SecretsAndLogs", name, s, opts...); err != nil {
		return nil, fmt.Errorf("registering secrets and logs %q: %w", name, err)
	}
	key, err := kms.NewKey(ctx, "secrets", &kms.KeyArgs{
		Description:          pulumi.String("Kubernetes secrets of " + args.ClusterName),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(keyDeletionDays),
		Tags:                 pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-secrets")},
	}, pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("creating the key of the cluster's secrets: %w", err)
	}
	// EKS creates this group itself when it is missing, keeps its lines forever and does not delete
	// it.
	logs, err := cloudwatch.NewLogGroup(ctx, "control-plane", &cloudwatch.LogGroupArgs{
		Name:            pulumi.String("/aws/eks/" + args.ClusterName + "/cluster"),
		RetentionInDays: pulumi.Int(args.LogRetentionDays),
	}, pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("creating the log group of the control plane: %w", err)
	}
	s.KeyARN = key.Arn
	s.Made = []pulumi.Resource{key, logs}
	if err := ctx.RegisterResourceOutputs(s, pulumi.Map{"keyArn": s.KeyARN}); err != nil {
		return nil, fmt.Errorf("registering the outputs of secrets and logs %q: %w", name, err)
	}
	return s, nil
}
