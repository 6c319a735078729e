package cluster

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// rootDevice is the root volume of the Amazon Linux 2023 AMIs of EKS.
	rootDevice = "/dev/xvda"
	// nodeHops is the hop limit of the instance metadata service that allows only the node itself.
	nodeHops = 1
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
	args := b.template("gpu", b.args.GPU.VolumeGiB, b.args.GPU.MetadataHopLimit)
	args.NetworkInterfaces = interfaces
	if b.args.PlacementGroupName != nil {
		args.Placement = ec2.LaunchTemplatePlacementArgs{
			GroupName: b.args.PlacementGroupName.ToStringOutput().ToStringPtrOutput(),
		}
	}
	return b.newTemplate("gpu", args)
}

// systemTemplate creates the launch template of the system nodes. It names no interface, so that
// EKS adds its security group.
func (b builder) systemTemplate() (*ec2.LaunchTemplate, error) {
	return b.newTemplate("system", b.template("system", b.args.System.VolumeGiB, nodeHops))
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
func (b builder) template(name string, volumeGiB, hops int) *ec2.LaunchTemplateArgs {
	tags := pulumi.StringMap{"Name": pulumi.String(b.args.Name + "-" + name)}
	launched := pulumi.ToStringMap(b.args.Tags)
	launched["Name"] = tags["Name"]
	return &ec2.LaunchTemplateArgs{
		Description:          pulumi.String(name + " nodes of " + b.args.Name),
		UpdateDefaultVersion: pulumi.Bool(true),
		BlockDeviceMappings: ec2.LaunchTemplateBlockDeviceMappingArray{ec2.LaunchTemplateBlockDeviceMappingArgs{
			DeviceName: pulumi.String(rootDevice),
			Ebs: ec2.LaunchTemplateBlockDeviceMappingEbsArgs{
				VolumeSize:          pulumi.Int(volumeGiB),
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
}
