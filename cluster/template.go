package cluster

import (
	"encoding/base64"
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

const (
	// rootDevice is the root volume of the Amazon Linux 2023 AMIs of EKS.
	rootDevice = "/dev/xvda"
	// nodeHops is the hop limit of the instance metadata service that allows only the node itself.
	nodeHops = 1
	// gp3IOPS are included in the price of a gp3 volume. Each MiB per second of throughput needs
	// gp3IOPSPerMiB of them.
	// Source: EBS user guide, "General Purpose SSD volumes".
	gp3IOPS       = 3000
	gp3IOPSPerMiB = 4
)

// gpuTemplate creates the launch template of the GPU nodes. The group's instance type, AMI and
// subnet are set on the node group, where EKS requires them.
func (b builder) gpuTemplate(control *controlPlane) (*ec2.LaunchTemplate, error) {
	layout, err := NICs(b.args.GPUType.EFAInterfaces, b.args.GPUType.NetworkCards)
	if err != nil {
		return nil, fmt.Errorf("laying out the interfaces of %q: %w", b.args.GPUType.Name, err)
	}
	interfaces := ec2.LaunchTemplateNetworkInterfaceArray{}
	for _, nic := range layout {
		interfaces = append(interfaces, ec2.LaunchTemplateNetworkInterfaceArgs{
			NetworkCardIndex:    pulumi.Int(nic.NetworkCard),
			DeviceIndex:         pulumi.Int(nic.Device),
			InterfaceType:       pulumi.String(string(nic.Type)),
			DeleteOnTermination: pulumi.String("true"),
			// EKS adds its security group only to templates without groups. Nodes need it to reach the API
			// server and CoreDNS, and the EFA group to reach each other.
			SecurityGroups: pulumi.StringArray{control.securityGroupID, b.args.EFASecurityGroupID},
		})
	}
	args := b.template("gpu", b.args.GPU.NodeGroup, b.args.GPU.MetadataHopLimit)
	args.NetworkInterfaces = interfaces
	if b.args.PlacementGroupName != nil {
		args.Placement = ec2.LaunchTemplatePlacementArgs{
			GroupName: b.args.PlacementGroupName.ToStringOutput().ToStringPtrOutput(),
		}
	}
	args.CapacityReservationSpecification = b.reservation()
	if b.args.GPU.Capacity == settings.BlockCapacity {
		// EKS requires the type here, instead of in the node group.
		// Source: EKS user guide, "Create a managed node group with Capacity Blocks for ML".
		args.InstanceType = pulumi.String(b.args.GPU.InstanceType)
		args.InstanceMarketOptions = ec2.LaunchTemplateInstanceMarketOptionsArgs{
			MarketType: pulumi.String("capacity-block"),
		}
	}
	return b.newTemplate("gpu", args)
}

// reservation returns the reservation that the GPU nodes use; nil for any open one.
func (b builder) reservation() ec2.LaunchTemplateCapacityReservationSpecificationPtrInput {
	type target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs
	var chosen target
	switch existing := b.args.GPU.Reservation; {
	case b.args.ReservationID != nil:
		chosen.CapacityReservationId = b.args.ReservationID.ToStringOutput().ToStringPtrOutput()
	case existing == "":
		return nil
	case existing.IsGroup():
		chosen.CapacityReservationResourceGroupArn = pulumi.String(existing)
	default:
		chosen.CapacityReservationId = pulumi.String(existing)
	}
	return ec2.LaunchTemplateCapacityReservationSpecificationArgs{CapacityReservationTarget: chosen}
}

// systemTemplate creates the launch template of the system nodes. It names no interface, so that
// EKS adds its security group.
func (b builder) systemTemplate() (*ec2.LaunchTemplate, error) {
	return b.newTemplate("system", b.template("system", b.args.System, nodeHops))
}

func (b builder) newTemplate(name string, args *ec2.LaunchTemplateArgs) (*ec2.LaunchTemplate, error) {
	template, err := ec2.NewLaunchTemplate(b.ctx, name, args, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating launch template %q: %w", name, err)
	}
	return template, nil
}

// template returns the arguments that both templates share: an encrypted root volume and IMDSv2
// only.
func (b builder) template(name string, group settings.NodeGroup, hops int) *ec2.LaunchTemplateArgs {
	tags := pulumi.StringMap{"Name": pulumi.String(b.args.Name + "-" + name)}
	launched := pulumi.ToStringMap(b.args.Tags)
	launched["Name"] = tags["Name"]
	args := &ec2.LaunchTemplateArgs{
		Description:          pulumi.String(name + " nodes of " + b.args.Name),
		UpdateDefaultVersion: pulumi.Bool(true),
		BlockDeviceMappings: ec2.LaunchTemplateBlockDeviceMappingArray{ec2.LaunchTemplateBlockDeviceMappingArgs{
			DeviceName: pulumi.String(rootDevice),
			Ebs: ec2.LaunchTemplateBlockDeviceMappingEbsArgs{
				VolumeSize:          pulumi.Int(group.VolumeGiB),
				Throughput:          pulumi.Int(group.VolumeThroughput),
				Iops:                pulumi.Int(max(gp3IOPS, group.VolumeThroughput*gp3IOPSPerMiB)),
				VolumeType:          pulumi.String("gp3"),
				Encrypted:           pulumi.String("true"),
				DeleteOnTermination: pulumi.String("true"),
			},
		}},
		MetadataOptions: ec2.LaunchTemplateMetadataOptionsArgs{
			HttpEndpoint:            pulumi.String("enabled"),
			HttpTokens:              pulumi.String("required"),
			HttpPutResponseHopLimit: pulumi.Int(hops),
		},
		TagSpecifications: ec2.LaunchTemplateTagSpecificationArray{
			ec2.LaunchTemplateTagSpecificationArgs{ResourceType: pulumi.String("instance"), Tags: launched},
			ec2.LaunchTemplateTagSpecificationArgs{ResourceType: pulumi.String("volume"), Tags: launched},
			ec2.LaunchTemplateTagSpecificationArgs{ResourceType: pulumi.String("network-interface"), Tags: launched},
		},
		Tags: tags,
	}
	if b.args.FastImagePull {
		args.UserData = pulumi.String(base64.StdEncoding.EncodeToString([]byte(fastImagePull)))
	}
	return args
}

// fastImagePull is user data for nodeadm, which starts the node. EKS adds the part that names the
// cluster.
// Sources: EKS user guide, "Customize managed nodes with launch templates"; amazon-eks-ami, nodeadm,
// internal/api/features.go.
const fastImagePull = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  featureGates:
    FastImagePull: true

--//--
`
