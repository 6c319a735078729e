package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/iampolicy"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// keyDeletionDays is the shortest deletion window that KMS allows. A key that is pending deletion
// costs nothing.
const keyDeletionDays = 7

// SecretsAndLogsArgs describes the key and the log groups.
type SecretsAndLogsArgs struct {
	// Region and AccountID are where the log groups are.
	Region    region.Region
	AccountID string
	// ClusterName is part of the log group's name, as EKS requires.
	ClusterName string
	// LogRetentionDays is how long log lines are kept.
	LogRetentionDays int
	// FlowLogsOf is the VPC whose traffic is logged; nil for none.
	FlowLogsOf pulumi.StringInput
	// Protect makes Pulumi refuse to delete the key.
	Protect bool
}

// SecretsAndLogs is the KMS key for Kubernetes secrets and log groups, the log group of the control
// plane, and the flow logs of the VPC. They are created before the control plane and deleted after
// it.
type SecretsAndLogs struct {
	pulumi.ResourceState

	// KeyARN is the KMS key.
	KeyARN pulumi.StringOutput
	// Made holds the resources to depend on; see Network.Made.
	Made []pulumi.Resource
}

// NewSecretsAndLogs creates the key, the log groups and the flow logs.
func NewSecretsAndLogs(
	ctx *pulumi.Context, name string, args *SecretsAndLogsArgs, opts ...pulumi.ResourceOption,
) (*SecretsAndLogs, error) {
	s := &SecretsAndLogs{}
	opts = append(opts, formerly("ray-train-efa:infra:Safekeeping", "safekeeping"))
	if err := ctx.RegisterComponentResource("ray-train-efa:infra:SecretsAndLogs", name, s, opts...); err != nil {
		return nil, fmt.Errorf("registering secrets and logs %q: %w", name, err)
	}
	policy, err := args.keyPolicy()
	if err != nil {
		return nil, err
	}
	key, err := kms.NewKey(ctx, "secrets", &kms.KeyArgs{
		Description:          pulumi.String("Kubernetes secrets of " + args.ClusterName),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(keyDeletionDays),
		Policy:               pulumi.String(policy),
		Tags:                 pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-secrets")},
	}, pulumi.Parent(s), pulumi.Protect(args.Protect))
	if err != nil {
		return nil, fmt.Errorf("creating the key of the cluster's secrets: %w", err)
	}
	// EKS creates this group itself when it is missing, keeps its lines forever and does not delete
	// it.
	logs, err := cloudwatch.NewLogGroup(ctx, "control-plane", &cloudwatch.LogGroupArgs{
		Name:            pulumi.String(args.logGroup("cluster")),
		RetentionInDays: pulumi.Int(args.LogRetentionDays),
		KmsKeyId:        key.Arn,
	}, pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("creating the log group of the control plane: %w", err)
	}
	s.KeyARN = key.Arn
	s.Made = []pulumi.Resource{key, logs}
	if args.FlowLogsOf != nil {
		flow, err := flowLogs(ctx, args, key, pulumi.Parent(s))
		if err != nil {
			return nil, err
		}
		s.Made = append(s.Made, flow)
	}
	if err := ctx.RegisterResourceOutputs(s, pulumi.Map{"keyArn": s.KeyARN}); err != nil {
		return nil, fmt.Errorf("registering the outputs of secrets and logs %q: %w", name, err)
	}
	return s, nil
}

// logGroup returns the name of a log group of the cluster.
func (a *SecretsAndLogsArgs) logGroup(name string) string {
	return "/aws/eks/" + a.ClusterName + "/" + name
}

// keyPolicy returns the key's policy: IAM decides who in the account may use the key, and CloudWatch
// Logs may use it for the cluster's log groups.
// Source: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS".
func (a *SecretsAndLogsArgs) keyPolicy() (string, error) {
	partition := a.Region.Partition()
	return iampolicy.Document(
		iampolicy.Statement{
			Sid:       "Account",
			Principal: &iampolicy.Principal{AWS: fmt.Sprintf("arn:%s:iam::%s:root", partition, a.AccountID)},
			Actions:   []string{"kms:*"}, Resources: []string{"*"},
		},
		iampolicy.Statement{
			Sid:       "Logs",
			Principal: &iampolicy.Principal{Service: fmt.Sprintf("logs.%s.%s", a.Region, a.Region.Domain())},
			Actions: []string{
				"kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*",
			},
			Resources: []string{"*"},
			Conditions: map[string]map[string]string{"ArnLike": {
				"kms:EncryptionContext:aws:logs:arn": a.logGroupARN("*"),
			}},
		})
}

// logGroupARN returns the ARN of a log group of the cluster.
func (a *SecretsAndLogsArgs) logGroupARN(name string) string {
	return fmt.Sprintf("arn:%s:logs:%s:%s:log-group:%s",
		a.Region.Partition(), a.Region, a.AccountID, a.logGroup(name))
}
