package cluster

import (
	"encoding/json"
	"fmt"
	"strings"

	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/scheduler"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/iampolicy"
)

// updateRequest is the request of UpdateNodegroupConfig that the schedule sends. EventBridge
// Scheduler refuses names in lower case, unlike EKS itself.
// Source: EventBridge Scheduler user guide, "Using universal targets".
type updateRequest struct {
	ClusterName   string
	NodegroupName string
	ScalingConfig scalingConfig
}

type scalingConfig struct{ MinSize, DesiredSize int }

// lease makes AWS scale the GPU nodes to zero at the end of the lease, without Pulumi.
func (b builder) lease(control *controlPlane, gpu *awseks.NodeGroup) error {
	if b.args.LeaseEnd.IsZero() {
		return nil
	}
	// The account is the fifth field of an ARN. Only schedules of this account may use the role.
	trust := gpu.Arn.ApplyT(func(arn string) (string, error) { //nolint:forcetypeassert // follows from the function
		fields := strings.Split(arn, ":")
		if len(fields) < 6 {
			return "", fmt.Errorf("reading the account of node group %q: it is no ARN", arn)
		}
		return iampolicy.Document(iampolicy.Statement{
			Principal: &iampolicy.Principal{Service: "scheduler.amazonaws.com"},
			Actions:   []string{"sts:AssumeRole"},
			Conditions: map[string]map[string]string{
				"StringEquals": {"aws:SourceAccount": fields[4]},
			},
		})
	}).(pulumi.StringOutput)
	role, err := iam.NewRole(b.ctx, "nodes-lease", &iam.RoleArgs{
		Description: pulumi.String("Ends the GPU nodes of " + b.args.Name), AssumeRolePolicy: trust,
	}, b.parent)
	if err != nil {
		return fmt.Errorf("creating the role of the lease: %w", err)
	}
	allow := gpu.Arn.ApplyT(func(arn string) (string, error) { //nolint:forcetypeassert // follows from the function
		return iampolicy.Document(iampolicy.Statement{
			Actions: []string{"eks:UpdateNodegroupConfig"}, Resources: []string{arn},
		})
	}).(pulumi.StringOutput)
	policy, err := iam.NewRolePolicy(b.ctx, "nodes-lease", &iam.RolePolicyArgs{
		Role: role.Name, Policy: allow,
	}, b.parent)
	if err != nil {
		return fmt.Errorf("creating the policy of the lease: %w", err)
	}
	request := pulumi.All(control.name, gpu.NodeGroupName).ApplyT(func(names []any) (string, error) { //nolint:forcetypeassert // follows from the function
		cluster, _ := names[0].(string)
		group, _ := names[1].(string)
		text, err := json.Marshal(updateRequest{ClusterName: cluster, NodegroupName: group})
		return string(text), err
	}).(pulumi.StringOutput)
	_, err = scheduler.NewSchedule(b.ctx, "lease", &scheduler.ScheduleArgs{
		Description:                pulumi.String("Scales the GPU nodes of " + b.args.Name + " to zero"),
		ScheduleExpression:         pulumi.String(b.args.LeaseEnd.UTC().Format("at(2006-01-02T15:04:05)")),
		ScheduleExpressionTimezone: pulumi.String("UTC"),
		FlexibleTimeWindow:         scheduler.ScheduleFlexibleTimeWindowArgs{Mode: pulumi.String("OFF")},
		Target: scheduler.ScheduleTargetArgs{
			Arn:     b.arn("scheduler:::aws-sdk:eks:updateNodegroupConfig"),
			RoleArn: role.Arn, Input: request,
		},
	}, b.parent, pulumi.DependsOn([]pulumi.Resource{policy}))
	if err != nil {
		return fmt.Errorf("creating the schedule of the lease: %w", err)
	}
	b.warnOfEndedLease(control, gpu)
	return nil
}

// warnOfEndedLease warns when EKS has no GPU nodes: the lease has ended, and the state of Pulumi,
// which did not scale them, still has them. Only a refresh tells it.
func (b builder) warnOfEndedLease(control *controlPlane, gpu *awseks.NodeGroup) {
	found := awseks.LookupNodeGroupOutput(b.ctx, awseks.LookupNodeGroupOutputArgs{
		ClusterName: control.name, NodeGroupName: gpu.NodeGroupName,
	}, pulumi.Provider(b.args.AWS))
	found.ScalingConfigs().ApplyT(func(configs []awseks.GetNodeGroupScalingConfig) (bool, error) {
		if len(configs) != 1 || configs[0].DesiredSize > 0 {
			return false, nil
		}
		return true, b.ctx.Log.Warn("the lease of the GPU nodes has ended: EKS scaled them to zero "+
			"(ttlHours)\nnext:     pulumi up --refresh restores them", nil)
	})
}
