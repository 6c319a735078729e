package stack

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/servicequotas"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ssm"
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

// failed returns the error of a call. It wraps capacity.ErrDenied where AWS denied it.
// Source of the codes: EC2 API reference, "Common client error codes"; IAM user guide, "Troubleshoot
// access denied error messages".
func failed(operation string, err error) error {
	for _, code := range []string{"UnauthorizedOperation", "AccessDenied", "not authorized to perform"} {
		if strings.Contains(err.Error(), code) {
			return fmt.Errorf("calling %s: %w", operation, capacity.ErrDenied)
		}
	}
	return fmt.Errorf("calling %s: %w", operation, err)
}

func newLookup(ctx *pulumi.Context, provider *aws.Provider, cluster string) lookup {
	return lookup{ctx: ctx, option: pulumi.Provider(provider), cluster: cluster, tags: stackTags(ctx)}
}

// InstanceType calls ec2:DescribeInstanceTypes.
func (l lookup) InstanceType(name string) (capacity.InstanceType, error) {
	found, err := ec2.GetInstanceType(l.ctx, &ec2.GetInstanceTypeArgs{InstanceType: name}, l.option)
	if err != nil {
		return capacity.InstanceType{}, failed("ec2:DescribeInstanceTypes", err)
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
		return nil, failed("ec2:DescribeInstanceTypeOfferings", err)
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
		return nil, failed("ec2:DescribeAvailabilityZones", err)
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
		return "", failed("eks:DescribeClusterVersions", err)
	}
	for _, version := range found.ClusterVersions {
		if version.ClusterVersion == kubernetesVersion {
			return capacity.Support(version.VersionStatus), nil
		}
	}
	return "", nil
}

// AMIRelease calls ssm:GetParameter. The parameters of the AMIs are public.
func (l lookup) AMIRelease(parameter string) (string, error) {
	found, err := ssm.LookupParameter(l.ctx, &ssm.LookupParameterArgs{Name: parameter}, l.option)
	switch {
	case err == nil:
		return found.InsecureValue, nil
	case strings.Contains(err.Error(), "ParameterNotFound") || strings.Contains(err.Error(), "couldn't find resource"):
		return "", nil
	default:
		return "", failed("ssm:GetParameter", err)
	}
}

// NewestAddon calls eks:DescribeAddonVersions.
func (l lookup) NewestAddon(name, kubernetesVersion string) (string, error) {
	found, err := eks.GetAddonVersion(l.ctx, &eks.GetAddonVersionArgs{
		AddonName: name, KubernetesVersion: kubernetesVersion, MostRecent: pulumi.BoolRef(true),
	}, l.option)
	switch {
	case err == nil:
		return found.Version, nil
	case strings.Contains(err.Error(), "couldn't find resource"):
		return "", nil
	default:
		return "", failed("eks:DescribeAddonVersions", err)
	}
}

// Quota calls servicequotas:GetServiceQuota.
func (l lookup) Quota(service, code string) (float64, error) {
	found, err := servicequotas.LookupServiceQuota(l.ctx, &servicequotas.LookupServiceQuotaArgs{
		ServiceCode: service, QuotaCode: &code,
	}, l.option)
	if err != nil {
		return 0, failed("servicequotas:GetServiceQuota", err)
	}
	return found.Value, nil
}
