package stack

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/servicequotas"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
)

// lookup answers capacity's questions through functions of the AWS provider. They are called in every preview and update:
// an unchanged resource would be asked nothing.
type lookup struct {
	ctx    *pulumi.Context
	option pulumi.InvokeOption
	// cluster and tags tell what in the account is this stack's own.
	cluster string
	tags    map[string]string
}

var _ capacity.Source = lookup{}

func newLookup(ctx *pulumi.Context, provider *aws.Provider, cluster string) lookup {
	return lookup{ctx: ctx, option: pulumi.Provider(provider), cluster: cluster, tags: stackTags(ctx)}
}

// InstanceType calls ec2:DescribeInstanceTypes.
func (l lookup) InstanceType(name string) (capacity.InstanceType, error) {
	found, err := ec2.GetInstanceType(l.ctx, &ec2.GetInstanceTypeArgs{InstanceType: name}, l.option)
	if err != nil {
		return capacity.InstanceType{}, fmt.Errorf("calling ec2:DescribeInstanceTypes: %w", err)
	}
	described := capacity.InstanceType{
		Name:          name,
		VCPUs:         found.DefaultVcpus,
		MemoryMiB:     found.MemorySize,
		EFAInterfaces: found.EfaMaximumInterfaces,
		NetworkCards:  found.MaximumNetworkCards,
	}
	for _, gpu := range found.Gpuses {
		described.GPUs += gpu.Count
	}
	return described, nil
}

// Zones calls ec2:DescribeInstanceTypeOfferings.
func (l lookup) Zones(instanceType string) ([]string, error) {
	found, err := ec2.GetInstanceTypeOfferings(l.ctx, &ec2.GetInstanceTypeOfferingsArgs{
		LocationType: pulumi.StringRef("availability-zone"),
		Filters:      []ec2.GetInstanceTypeOfferingsFilter{{Name: "instance-type", Values: []string{instanceType}}},
	}, l.option)
	if err != nil {
		return nil, fmt.Errorf("calling ec2:DescribeInstanceTypeOfferings: %w", err)
	}
	return found.Locations, nil
}

// Quota calls servicequotas:GetServiceQuota.
func (l lookup) Quota(service, code string) (float64, error) {
	found, err := servicequotas.LookupServiceQuota(l.ctx, &servicequotas.LookupServiceQuotaArgs{
		ServiceCode: service, QuotaCode: &code,
	}, l.option)
	if err != nil {
		return 0, fmt.Errorf("calling servicequotas:GetServiceQuota: %w", err)
	}
	return found.Value, nil
}
