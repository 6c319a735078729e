package tests

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// machine is an instance type as returned by DescribeInstanceTypes.
type machine struct {
	vcpus, memoryMiB, gpus, efa, cards int
}

// cloud is what AWS offers an account.
type cloud struct {
	machines map[string]machine
	zones    map[string][]string
	quotas   map[string]float64
	// zoneIDs are the ids of the account's zones by name, support the states of Kubernetes versions.
	zoneIDs, support map[string]string
	// others are running instances by id, of any cluster.
	others map[string]instance
	// releases are AMI releases by parameter, addons the newest versions by name.
	releases, addons map[string]string
	// clusters are the EKS clusters of the account.
	clusters []string
	// denied are the operations that the identity lacks, by function.
	denied map[string]string
	// gpuNodes is the size that EKS has for the GPU group.
	gpuNodes int
	// addresses and vpcs count those of others.
	addresses, vpcs int
}

// instance is a running EC2 instance.
type instance struct {
	typ, cluster string
	spot         bool
}

// generous is a region without limits.
func generous() cloud {
	return cloud{
		machines: map[string]machine{
			"g6.12xlarge":  {vcpus: 48, memoryMiB: 196608, gpus: 4, efa: 1, cards: 1},
			"p4d.24xlarge": {vcpus: 96, memoryMiB: 1179648, gpus: 8, efa: 4, cards: 4},
			"g6.xlarge":    {vcpus: 4, memoryMiB: 16384, gpus: 1, cards: 1},
			"m7i.xlarge":   {vcpus: 4, memoryMiB: 16384, cards: 1},
		},
		zones: map[string][]string{
			"g6.12xlarge":  {"us-east-2c", "us-east-2b"},
			"p4d.24xlarge": {"us-east-2b"},
			"g6.xlarge":    {"us-east-2b"},
			"m7i.xlarge":   {"us-east-2a", "us-east-2b", "us-east-2c"},
		},
		quotas:  map[string]float64{"L-DB2E81BA": 96, "L-1216C47A": 64, "L-417A185B": 192, "L-0263D0A3": 5, "L-F678F1CE": 5},
		zoneIDs: map[string]string{"us-east-2a": "use2-az1", "us-east-2b": "use2-az2", "us-east-2c": "use2-az3"},
		releases: map[string]string{
			capacity.AMIParameter(settings.DefaultKubernetesVersion, capacity.NVIDIAVariant, capacity.Recommended):   settings.DefaultAMIRelease,
			capacity.AMIParameter(settings.DefaultKubernetesVersion, capacity.StandardVariant, capacity.Recommended): settings.DefaultAMIRelease,
		},
		addons: map[string]string{
			"vpc-cni": "v1.22.4-eksbuild.3", "kube-proxy": "v1.36.0-eksbuild.21", "coredns": "v1.14.3-eksbuild.16",
			"eks-pod-identity-agent": "v1.3.10-eksbuild.3",
		},
		denied:  map[string]string{},
		support: map[string]string{"1.20": "STANDARD_SUPPORT", settings.DefaultKubernetesVersion: "STANDARD_SUPPORT"},
	}
}

// with changes a copy.
func (c cloud) with(change func(*cloud)) cloud {
	changed := cloud{
		machines: maps.Clone(c.machines), zones: maps.Clone(c.zones), quotas: maps.Clone(c.quotas), others: maps.Clone(c.others),
		zoneIDs: maps.Clone(c.zoneIDs), support: maps.Clone(c.support),
		releases: maps.Clone(c.releases), addons: maps.Clone(c.addons), denied: maps.Clone(c.denied),
	}
	change(&changed)
	return changed
}

func (c cloud) call(token string, args resource.PropertyMap) (resource.PropertyMap, error) {
	if operation, ok := c.denied[token]; ok {
		return nil, fmt.Errorf("api error AccessDeniedException: not authorized to perform: %s", operation)
	}
	number := func(n int) resource.PropertyValue { return resource.NewProperty(float64(n)) }
	switch token {
	case "aws:ec2/getInstanceType:getInstanceType":
		name := args["instanceType"].StringValue()
		m, ok := c.machines[name]
		if !ok {
			return nil, fmt.Errorf("InvalidInstanceType: the instance type %q does not exist", name)
		}
		var gpus []resource.PropertyValue
		if m.gpus > 0 {
			gpus = append(gpus, resource.NewProperty(resource.PropertyMap{"count": number(m.gpus)}))
		}
		return resource.PropertyMap{
			"instanceType": args["instanceType"], "defaultVcpus": number(m.vcpus), "memorySize": number(m.memoryMiB),
			"efaSupported": resource.NewProperty(m.efa > 0), "efaMaximumInterfaces": number(m.efa),
			"maximumNetworkCards": number(m.cards), "gpuses": resource.NewProperty(gpus),
		}, nil
	case "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings":
		filter := args["filters"].ArrayValue()[0].ObjectValue()
		name := filter["values"].ArrayValue()[0].StringValue()
		var locations []resource.PropertyValue
		for _, zone := range c.zones[name] {
			locations = append(locations, resource.NewProperty(zone))
		}
		return resource.PropertyMap{"locations": resource.NewProperty(locations)}, nil
	case "aws:index/getAvailabilityZones:getAvailabilityZones":
		names, ids := slices.Sorted(maps.Keys(c.zoneIDs)), []string{}
		for _, name := range names {
			ids = append(ids, c.zoneIDs[name])
		}
		return resource.PropertyMap{"names": texts(names), "zoneIds": texts(ids)}, nil
	case "aws:index/getCallerIdentity:getCallerIdentity":
		return resource.PropertyMap{
			"accountId": resource.NewProperty("123456789012"),
			"arn":       resource.NewProperty("arn:aws:sts::123456789012:assumed-role/ci/session"),
		}, nil
	case "aws:eks/getNodeGroup:getNodeGroup":
		return resource.PropertyMap{"scalingConfigs": resource.NewProperty([]resource.PropertyValue{
			resource.NewProperty(resource.PropertyMap{"desiredSize": number(c.gpuNodes)}),
		})}, nil
	case "aws:eks/getClusters:getClusters":
		return resource.PropertyMap{"names": texts(c.clusters)}, nil
	case "aws:eks/getClusterVersions:getClusterVersions":
		var versions []resource.PropertyValue
		for _, version := range slices.Sorted(maps.Keys(c.support)) {
			versions = append(versions, resource.NewProperty(resource.PropertyMap{
				"clusterVersion": resource.NewProperty(version), "versionStatus": resource.NewProperty(c.support[version]),
			}))
		}
		return resource.PropertyMap{"clusterVersions": resource.NewProperty(versions)}, nil
	case "aws:ssm/getParameter:getParameter":
		release, ok := c.releases[args["name"].StringValue()]
		if !ok {
			return nil, errors.New("reading SSM Parameter: couldn't find resource")
		}
		return resource.PropertyMap{"insecureValue": resource.NewProperty(release)}, nil
	case "aws:eks/getAddonVersion:getAddonVersion":
		return resource.PropertyMap{"version": resource.NewProperty(c.addons[args["addonName"].StringValue()])}, nil
	case "aws:servicequotas/getServiceQuota:getServiceQuota":
		code := args["quotaCode"].StringValue()
		value, ok := c.quotas[code]
		if !ok {
			return nil, fmt.Errorf("NoSuchResourceException: quota %q", code)
		}
		return resource.PropertyMap{"quotaCode": args["quotaCode"], "value": resource.NewProperty(value)}, nil
	case "aws:ec2/getInstances:getInstances":
		return resource.PropertyMap{"ids": texts(c.instances(args))}, nil
	case "aws:ec2/getInstance:getInstance":
		return resource.PropertyMap{"instanceType": resource.NewProperty(c.others[args["instanceId"].StringValue()].typ)}, nil
	case "aws:ec2/getEips:getEips":
		return resource.PropertyMap{"allocationIds": texts(others(c.addresses, args))}, nil
	case "aws:ec2/getVpcs:getVpcs":
		return resource.PropertyMap{"ids": texts(others(c.vpcs, args))}, nil
	default:
		return nil, fmt.Errorf("calling %q: the program should not", token)
	}
}

// instances answers DescribeInstances: filters by family and lifecycle, tags by cluster.
func (c cloud) instances(args resource.PropertyMap) []string {
	var found []string
	for _, id := range slices.Sorted(maps.Keys(c.others)) {
		one, keep := c.others[id], true
		for _, filter := range args["filters"].ArrayValue() {
			fields, matches := filter.ObjectValue(), false
			for _, value := range fields["values"].ArrayValue() {
				switch fields["name"].StringValue() {
				case "instance-type":
					matches = matches || strings.HasPrefix(one.typ, strings.TrimSuffix(value.StringValue(), "*"))
				case "instance-lifecycle":
					matches = matches || one.spot && value.StringValue() == "spot"
				}
			}
			keep = keep && matches
		}
		if tags := args["instanceTags"]; tags.IsObject() && tags.ObjectValue()["eks:cluster-name"].StringValue() != one.cluster {
			keep = false
		}
		if keep {
			found = append(found, id)
		}
	}
	return found
}

// others are resources without the tags of this stack.
func others(count int, args resource.PropertyMap) []string {
	if args["tags"].IsObject() {
		return nil
	}
	return make([]string, count)
}

func texts(list []string) resource.PropertyValue {
	values := []resource.PropertyValue{}
	for _, text := range list {
		values = append(values, resource.NewProperty(text))
	}
	return resource.NewProperty(values)
}
