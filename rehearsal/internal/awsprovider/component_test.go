package awsprovider_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-eks/sdk/v2/go/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	accounteks "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
)

// trust lets a service assume a role.
func trust(service string) pulumi.String {
	return pulumi.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `"},"Action":"sts:AssumeRole"}]}`)
}

// controlPlane is a cluster of the real eks component, with one node group.
type controlPlane struct {
	provider *aws.Provider
	opts     []pulumi.ResourceOption
}

func (c *controlPlane) run(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws",
		&aws.ProviderArgs{Region: pulumi.String("us-east-2")})
	if err != nil {
		return err
	}
	c.provider = provider
	c.opts = []pulumi.ResourceOption{pulumi.Provider(provider)}
	vpcID, subnets, err := c.network(ctx)
	if err != nil {
		return err
	}
	role, attached, err := c.nodeRole(ctx)
	if err != nil {
		return err
	}
	mode, yes := eks.AuthenticationModeApi, true
	cluster, err := eks.NewCluster(ctx, "eks", &eks.ClusterArgs{
		Name: pulumi.String("train"), Version: pulumi.String(accounteks.DefaultVersion()),
		VpcId: vpcID, SubnetIds: subnets,
		AuthenticationMode: &mode, InstanceRole: role, SkipDefaultNodeGroup: &yes,
		UseDefaultVpcCni:      &yes,
		EndpointPrivateAccess: pulumi.Bool(true),
	}, pulumi.Providers(provider), pulumi.DependsOn([]pulumi.Resource{role}))
	if err != nil {
		return err
	}
	template, err := ec2.NewLaunchTemplate(ctx, "gpu", &ec2.LaunchTemplateArgs{
		NetworkInterfaces: ec2.LaunchTemplateNetworkInterfaceArray{
			ec2.LaunchTemplateNetworkInterfaceArgs{
				DeviceIndex: pulumi.Int(
					0), NetworkCardIndex: pulumi.Int(0), InterfaceType: pulumi.String("efa"),
				SecurityGroups: pulumi.StringArray{
					cluster.EksCluster.VpcConfig().ClusterSecurityGroupId().Elem(),
				},
			},
		},
	}, c.opts...)
	if err != nil {
		return err
	}
	group, err := awseks.NewNodeGroup(ctx, "gpu", &awseks.NodeGroupArgs{
		ClusterName: cluster.EksCluster.Name(), NodeRoleArn: role.Arn,
		SubnetIds: pulumi.StringArray{subnets[0]},
		AmiType: pulumi.String(
			"AL2023_x86_64_NVIDIA"), InstanceTypes: pulumi.ToStringArray([]string{"g6.12xlarge"}),
		ScalingConfig: awseks.NodeGroupScalingConfigArgs{
			DesiredSize: pulumi.Int(2),
			MinSize:     pulumi.Int(0),
			MaxSize:     pulumi.Int(2),
		},
		LaunchTemplate: awseks.NodeGroupLaunchTemplateArgs{
			Id: template.ID(), Version: pulumi.Sprintf("%d", template.LatestVersion),
		},
	}, append(c.opts, pulumi.DependsOn(attached))...)
	if err != nil {
		return err
	}
	ctx.Export("status", group.Status)
	ctx.Export("endpoint", cluster.EksCluster.Endpoint())
	return nil
}

func (c *controlPlane) network(
	ctx *pulumi.Context) (pulumi.StringInput, pulumi.StringArray, error) {
	vpc, err := ec2.NewVpc(
		ctx,
		"vpc",
		&ec2.VpcArgs{
			CidrBlock:          pulumi.String("10.0.0.0/16"),
			EnableDnsHostnames: pulumi.Bool(true),
		},
		c.opts...)
	if err != nil {
		return nil, nil, err
	}
	gateway, err := ec2.NewInternetGateway(
		ctx,
		"igw",
		&ec2.InternetGatewayArgs{VpcId: vpc.ID()},
		c.opts...)
	if err != nil {
		return nil, nil, err
	}
	table, err := ec2.NewRouteTable(ctx, "public", &ec2.RouteTableArgs{
		VpcId: vpc.ID(),
		Routes: ec2.RouteTableRouteArray{
			ec2.RouteTableRouteArgs{CidrBlock: pulumi.String("0.0.0.0/0"), GatewayId: gateway.ID()},
		},
	}, c.opts...)
	if err != nil {
		return nil, nil, err
	}
	var subnets pulumi.StringArray
	// In order: the node group takes the first subnet, in every run of the program the same.
	for _, zone := range []struct{ name, block string }{{"us-east-2a", "10.0.0.0/20"}, {"us-east-2b", "10.0.16.0/20"}} {
		subnet, err := ec2.NewSubnet(ctx, zone.name, &ec2.SubnetArgs{
			VpcId: vpc.ID(), CidrBlock: pulumi.String(zone.block),
			AvailabilityZone: pulumi.String(zone.name), MapPublicIpOnLaunch: pulumi.Bool(true),
		}, c.opts...)
		if err != nil {
			return nil, nil, err
		}
		association, err := ec2.NewRouteTableAssociation(
			ctx,
			zone.name,
			&ec2.RouteTableAssociationArgs{SubnetId: subnet.ID(), RouteTableId: table.ID()},
			c.opts...)
		if err != nil {
			return nil, nil, err
		}
		// The id comes through the association, so that nothing starts before the route.
		subnets = append(subnets, association.SubnetId.Elem())
	}
	return vpc.ID(), subnets, nil
}

func (c *controlPlane) nodeRole(ctx *pulumi.Context) (*iam.Role, []pulumi.Resource, error) {
	role, err := iam.NewRole(
		ctx,
		"node",
		&iam.RoleArgs{AssumeRolePolicy: trust("ec2.amazonaws.com")},
		c.opts...)
	if err != nil {
		return nil, nil, err
	}
	var attached []pulumi.Resource
	for _, policy := range []string{"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly", "AmazonEKS_CNI_Policy"} {
		attachment, err := iam.NewRolePolicyAttachment(ctx, policy, &iam.RolePolicyAttachmentArgs{
			Role: role.Name, PolicyArn: pulumi.String("arn:aws:iam::aws:policy/" + policy),
		}, c.opts...)
		if err != nil {
			return nil, nil, err
		}
		attached = append(attached, attachment)
	}
	return role, attached, nil
}

// fakeAWSCLI is one of the two commands that the eks component requires at construct time.
func fakeAWSCLI(t *testing.T) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(
		t,
		os.WriteFile(filepath.Join(bin, "aws"),
			[]byte("#!/bin/sh\necho aws-cli/2.31.0 rehearsed\n"), 0o755),
	)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestEngineEKSComponent drives the real eks component, whose node program registers
// children with its own aws version, against the emulated AWS account.
func TestEngineEKSComponent(t *testing.T) {
	ctx := context.Background()
	program := &controlPlane{}
	b := newBench(t, program.run)
	fakeAWSCLI(t)

	first, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Equal(t, "ACTIVE", first.Outputs["status"].Value)
	endpoint, ok := first.Outputs["endpoint"].Value.(string)
	require.True(t, ok)
	assert.True(t, strings.HasPrefix(endpoint, "https://127.0.0.1:"), endpoint)

	_, err = b.up(ctx, optup.ExpectNoChanges())
	require.NoError(t, err, b.log.String())

	_, err = b.stack.Destroy(ctx, optdestroy.ProgressStreams(b.log))
	require.NoError(t, err, b.log.String())
	assert.Empty(t, b.account.Inventory().Remains())
}
