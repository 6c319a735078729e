package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/iampolicy"
)

// flowLogs logs the traffic of the VPC to a log group of the cluster. EFA traffic is not IP and is not
// in it.
// Source: VPC user guide, "Publish flow logs to CloudWatch Logs", for the role.
func flowLogs(
	ctx *pulumi.Context, args *SecretsAndLogsArgs, key *kms.Key, parent pulumi.ResourceOption,
) (pulumi.Resource, error) {
	logs, err := cloudwatch.NewLogGroup(ctx, "flow-logs", &cloudwatch.LogGroupArgs{
		Name:            pulumi.String(args.logGroup("flow-logs")),
		RetentionInDays: pulumi.Int(args.LogRetentionDays),
		KmsKeyId:        key.Arn,
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("creating the log group of the flow logs: %w", err)
	}
	trust, err := iampolicy.Trust("vpc-flow-logs.amazonaws.com", "sts:AssumeRole")
	if err != nil {
		return nil, err
	}
	role, err := iam.NewRole(ctx, "flow-logs", &iam.RoleArgs{
		Description:      pulumi.String("Flow logs of " + args.ClusterName),
		AssumeRolePolicy: pulumi.String(trust),
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("creating the role of the flow logs: %w", err)
	}
	permissions, err := iampolicy.Document(iampolicy.Statement{
		Actions: []string{
			"logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents",
		},
		Resources: []string{args.logGroupARN("flow-logs") + ":*"},
	})
	if err != nil {
		return nil, err
	}
	allowed, err := iam.NewRolePolicy(ctx, "flow-logs", &iam.RolePolicyArgs{
		Role: role.Name, Policy: pulumi.String(permissions),
	}, parent)
	if err != nil {
		return nil, fmt.Errorf("allowing the flow logs to write: %w", err)
	}
	flow, err := ec2.NewFlowLog(ctx, "vpc", &ec2.FlowLogArgs{
		VpcId: args.FlowLogsOf.ToStringOutput().ToStringPtrOutput(), TrafficType: pulumi.String("ALL"),
		IamRoleArn: role.Arn, LogDestination: logs.Arn,
		Tags: pulumi.StringMap{"Name": pulumi.String(args.ClusterName + "-flow-logs")},
	}, parent, pulumi.DependsOn([]pulumi.Resource{allowed}))
	if err != nil {
		return nil, fmt.Errorf("creating the flow logs: %w", err)
	}
	return flow, nil
}
