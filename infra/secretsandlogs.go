package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// keyDeletionDays is the shortest wait that KMS allows. A key that is pending deletion costs
// nothing.
const keyDeletionDays = 7

// SecretsAndLogsArgs describes the key and the log group.
type SecretsAndLogsArgs struct {
	// ClusterName names the log group, by a rule of EKS.
	ClusterName string
	// LogRetentionDays is how long log lines are kept.
	LogRetentionDays int
}

// SecretsAndLogs must exist before the control plane and be deleted after it: the KMS key of its
// secrets and its log group.
type SecretsAndLogs struct {
	pulumi.ResourceState

	// KeyARN is the KMS key.
	KeyARN pulumi.StringOutput
	// Made is what others depend on, for the reason given at Network.
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
