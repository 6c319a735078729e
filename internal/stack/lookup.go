package stack

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/servicequotas"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// lookup implements capacity.Source with functions of the AWS provider, which are called in every
// preview and update.
type lookup struct {
	ctx    *pulumi.Context
	option pulumi.InvokeOption
	// cluster and tags identify what in the account belongs to this stack.
	cluster string
	tags    map[string]string
}

var _ capacity.Source = lookup{}

// errReply means that a reply of AWS is inconsistent.
var errReply = errors.New("the reply is inconsistent")

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
func (l lookup) Zones(instanceType string) ([]region.Zone, error) {
	found, err := ec2.GetInstanceTypeOfferings(l.ctx, &ec2.GetInstanceTypeOfferingsArgs{
		LocationType: pulumi.StringRef("availability-zone"),
		Filters:      []ec2.GetInstanceTypeOfferingsFilter{{Name: "instance-type", Values: []string{instanceType}}},
	}, l.option)
	if err != nil {
		return nil, fmt.Errorf("calling ec2:DescribeInstanceTypeOfferings: %w", err)
	}
	zones := make([]region.Zone, len(found.Locations))
	for i, name := range found.Locations {
		zones[i] = region.Zone(name)
	}
	return zones, nil
}

// ZoneIDs calls ec2:DescribeAvailabilityZones. The provider's two lists have one order.
// Source: terraform-provider-aws, internal/service/ec2, data source aws_availability_zones.
func (l lookup) ZoneIDs() (map[region.Zone]string, error) {
	found, err := aws.GetAvailabilityZones(l.ctx, &aws.GetAvailabilityZonesArgs{}, l.option)
	if err != nil {
		return nil, fmt.Errorf("calling ec2:DescribeAvailabilityZones: %w", err)
	}
	if len(found.Names) != len(found.ZoneIds) {
		return nil, fmt.Errorf("reading the reply of ec2:DescribeAvailabilityZones: %w: %d names, %d ids",
			errReply, len(found.Names), len(found.ZoneIds))
	}
	ids := make(map[region.Zone]string, len(found.Names))
	for i, name := range found.Names {
		ids[region.Zone(name)] = found.ZoneIds[i]
	}
	return ids, nil
}

// Support calls eks:DescribeClusterVersions, for all versions: it lists unsupported ones only then.
func (l lookup) Support(kubernetesVersion string) (capacity.Support, error) {
	found, err := eks.GetClusterVersions(l.ctx, &eks.GetClusterVersionsArgs{IncludeAll: pulumi.BoolRef(true)}, l.option)
	if err != nil {
		return "", fmt.Errorf("calling eks:DescribeClusterVersions: %w", err)
	}
	for _, version := range found.ClusterVersions {
		if version.ClusterVersion == kubernetesVersion {
			return capacity.Support(version.VersionStatus), nil
		}
	}
	return "", nil
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
