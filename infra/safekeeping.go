package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// keyDeletionDays is the shortest wait that KMS allows. A key that waits does not bill.
const keyDeletionDays = 7

// SafekeepingArgs describes what a control plane writes to.
type SafekeepingArgs struct {
	// ClusterName names the log group, by a rule of EKS.
	ClusterName string
	// LogRetentionDays is how long log lines are kept.
	LogRetentionDays int
}

// Safekeeping is what must exist before a control plane and go after it: the key of its secrets, the group of its logs.
type Safekeeping struct {
	pulumi.ResourceState

	// KeyARN is the KMS key.
	KeyARN pulumi.StringOutput
	// Made is what others depend on, for the reason given at Network.
	Made []pulumi.Resource
}

// NewSafekeeping makes the key and the log group.
func NewSafekeeping(ctx *pulumi.Context, name string, args *SafekeepingArgs, opts ...pulumi.ResourceOption) (*Safekeeping, error) {
	s := &Safekeeping{}
	if err := ctx.RegisterComponentResource("ray-train-efa:infra:Safekeeping", name, s, opts...); err != nil {
		return nil, fmt.Errorf("registering safekeeping %q: %w", name, err)
	}
	key, err := kms.NewKey(ctx, "secrets", &kms.KeyArgs{
		Description:          pulumi.String("Kubernetes secrets of " + args.ClusterName),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(keyDeletionDays),
		Tags:                 pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-secrets")},
	}, pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("making the key of the cluster's secrets: %w", err)
	}
	// EKS makes this group itself when it is missing, keeps its lines for ever and leaves it behind.
	logs, err := cloudwatch.NewLogGroup(ctx, "control-plane", &cloudwatch.LogGroupArgs{
		Name:            pulumi.String("/aws/eks/" + args.ClusterName + "/cluster"),
		RetentionInDays: pulumi.Int(args.LogRetentionDays),
	}, pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("making the log group of the control plane: %w", err)
	}
	s.KeyARN = key.Arn
	s.Made = []pulumi.Resource{key, logs}
	if err := ctx.RegisterResourceOutputs(s, pulumi.Map{"keyArn": s.KeyARN}); err != nil {
		return nil, fmt.Errorf("registering the outputs of safekeeping %q: %w", name, err)
	}
	return s, nil
}
