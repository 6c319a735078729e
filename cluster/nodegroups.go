package cluster

import (
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

const (
	// gpuAMI has the NVIDIA and the EFA driver, and neither device plugin.
	gpuAMI = "AL2023_x86_64_NVIDIA"
	// systemAMI is the plain EKS AMI.
	systemAMI = "AL2023_x86_64_STANDARD"
	// afterFailure has the engine replace a group that failed. EKS never revives one in CREATE_FAILED,
	// and the engine's own next try is an update without a change: the AWS provider calls nothing for
	// it and reports success, without a node. So too after an update that failed, since the state then
	// holds what was wished for. The replacement has a name of its own (both groups are autonamed), so
	// it may be created first.
	//
	// Sources: initErrorSpecialKey in the engine's step_generator.go;
	// https://github.com/pulumi/pulumi/issues/21458; resourceNodeGroupUpdate in
	// terraform-provider-aws.
	afterFailure = "#initerror"
)

// gpuNodes is the GPU node group with what it boots.
type gpuNodes struct {
	group                 *awseks.NodeGroup
	launchTemplateVersion pulumi.StringOutput
}

// systemNodes creates the group of the head, the operator and CoreDNS.
func (b builder) systemNodes(control *controlPlane, role *iam.Role, after []pulumi.Resource) (*awseks.NodeGroup, error) {
	template, err := b.systemTemplate()
	if err != nil {
		return nil, err
	}
	args := b.nodeGroup(control, role, b.args.System, template)
	args.AmiType = pulumi.String(systemAMI)
	args.Labels = pulumi.StringMap{RoleLabel: pulumi.String(SystemRole)}
	group, err := awseks.NewNodeGroup(b.ctx, "system", args, b.parent, pulumi.DependsOn(after),
		pulumi.ReplaceOnChanges([]string{afterFailure}))
	if err != nil {
		return nil, fmt.Errorf("creating the system node group: %w", err)
	}
	return group, nil
}

// gpuNodes creates the group that trains. A changed template or AMI replaces it, the old nodes
// first: EKS would else start up to two more nodes beside the old ones, for which there is mostly
// neither quota nor room in the placement group.
func (b builder) gpuNodes(control *controlPlane, role *iam.Role, after []pulumi.Resource) (*gpuNodes, error) {
	template, err := b.gpuTemplate(control)
	if err != nil {
		return nil, err
	}
	args := b.nodeGroup(control, role, b.args.GPU, template)
	args.AmiType = pulumi.String(gpuAMI)
	args.Labels = pulumi.StringMap{
		RoleLabel:       pulumi.String(GPURole),
		GPUPresentLabel: pulumi.String("true"),
	}
	args.Taints = awseks.NodeGroupTaintArray{awseks.NodeGroupTaintArgs{
		Key: pulumi.String(GPUTaint), Value: pulumi.String(GPUTaintValue), Effect: pulumi.String("NO_SCHEDULE"),
	}}
	group, err := awseks.NewNodeGroup(b.ctx, "gpu", args, b.parent, pulumi.DependsOn(after),
		pulumi.DeleteBeforeReplace(true),
		pulumi.ReplaceOnChanges([]string{afterFailure, "launchTemplate", "releaseVersion", "version"}))
	if err != nil {
		return nil, fmt.Errorf("creating the GPU node group: %w", err)
	}
	return &gpuNodes{group: group, launchTemplateVersion: templateVersion(template)}, nil
}

// nodeGroup is what both groups have: a fixed size, an AMI that does not move, and one subnet in
// one zone.
func (b builder) nodeGroup(
	control *controlPlane, role *iam.Role, group settings.NodeGroup, template *ec2.LaunchTemplate,
) *awseks.NodeGroupArgs {
	return &awseks.NodeGroupArgs{
		ClusterName:    control.name,
		NodeRoleArn:    role.Arn,
		SubnetIds:      pulumi.StringArray{b.args.NodeSubnetID},
		InstanceTypes:  pulumi.StringArray{pulumi.String(group.InstanceType)},
		CapacityType:   pulumi.String("ON_DEMAND"),
		Version:        pulumi.String(b.args.KubernetesVersion),
		ReleaseVersion: pulumi.String(group.AMIRelease),
		LaunchTemplate: awseks.NodeGroupLaunchTemplateArgs{Id: template.ID(), Version: templateVersion(template)},
		ScalingConfig: awseks.NodeGroupScalingConfigArgs{
			MinSize: pulumi.Int(0), DesiredSize: pulumi.Int(group.Nodes), MaxSize: pulumi.Int(group.Nodes),
		},
	}
}

// templateVersion names the newest version by its number. "$Latest" would never change, and so
// never reach a node.
func templateVersion(template *ec2.LaunchTemplate) pulumi.StringOutput {
	return template.LatestVersion.ApplyT(strconv.Itoa).(pulumi.StringOutput) //nolint:forcetypeassert // follows from Itoa
}
