package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

const (
	// gpuAMI contains the NVIDIA and EFA drivers, but no device plugins.
	gpuAMI = "AL2023_x86_64_NVIDIA"
	// systemAMI is the plain EKS AMI.
	systemAMI = "AL2023_x86_64_STANDARD"
	// afterFailure makes the engine replace a failed node group. EKS does not repair a group in
	// CREATE_FAILED, and the next update would have no changes, so the AWS provider would report
	// success without any nodes. The same holds after a failed update, because the state then has the
	// new inputs. The replacement can be created first, because both groups are autonamed.
	//
	// Sources: initErrorSpecialKey in the engine's step_generator.go;
	// https://github.com/pulumi/pulumi/issues/21458; resourceNodeGroupUpdate in
	// terraform-provider-aws.
	afterFailure = "#initerror"
)

// gpuNodes is the GPU node group and the version of its launch template.
type gpuNodes struct {
	group                 *awseks.NodeGroup
	launchTemplateVersion pulumi.StringOutput
}

// CodeNodeGroup is the code of the refusal of a node group that has failed earlier.
const CodeNodeGroup = "node-group-failed"

// checkedVersion returns the version of the launch template. It is an error if the group failed
// earlier: `pulumi refresh` takes the error out of the state, and the group then looks usable.
func (n *gpuNodes) checkedVersion() pulumi.StringOutput {
	checked := pulumi.All(n.launchTemplateVersion, n.group.Status, n.group.URN()).ApplyT(
		func(values []any) (string, error) {
			version, _ := values[0].(string)
			if status, _ := values[1].(string); strings.HasSuffix(status, "_FAILED") {
				return "", &refusal.Refusal{
					Code:    CodeNodeGroup,
					Summary: fmt.Sprintf("refused: the GPU node group is %s (%s)", status, CodeNodeGroup),
					Cause:   "EKS does not repair a group that failed, and a refresh removed its error from the state",
					Next:    fmt.Sprintf("pulumi up --replace '%v'", values[2]),
					Billing: "the whole stack costs money until `pulumi destroy`",
				}
			}
			return version, nil
		})
	return checked.(pulumi.StringOutput) //nolint:forcetypeassert // the type follows from the function's
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

// gpuNodes creates the GPU node group. A changed template or AMI replaces it, and the old nodes are
// deleted first: a rolling update by EKS needs up to two more nodes, for which there is usually no
// quota and no capacity.
func (b builder) gpuNodes(control *controlPlane, role *iam.Role, after []pulumi.Resource) (*gpuNodes, error) {
	template, err := b.gpuTemplate(control)
	if err != nil {
		return nil, err
	}
	args := b.nodeGroup(control, role, b.args.GPU.NodeGroup, template)
	args.AmiType = pulumi.String(gpuAMI)
	if b.args.GPU.Capacity == settings.BlockCapacity {
		args.CapacityType, args.InstanceTypes = pulumi.String("CAPACITY_BLOCK"), nil
	}
	if b.args.GPU.AutoRepair {
		args.NodeRepairConfig = awseks.NodeGroupNodeRepairConfigArgs{Enabled: pulumi.Bool(true)}
	}
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

// nodeGroup returns the arguments that both groups share: a fixed size, a pinned AMI release, and
// one subnet.
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

// templateVersion returns the number of the newest version. "$Latest" never changes, so a new
// version would not reach the nodes.
func templateVersion(template *ec2.LaunchTemplate) pulumi.StringOutput {
	return template.LatestVersion.ApplyT(strconv.Itoa).(pulumi.StringOutput) //nolint:forcetypeassert // follows from Itoa
}
