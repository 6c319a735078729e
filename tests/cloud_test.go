package tests

import (
	"fmt"
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// machine is an instance type as DescribeInstanceTypes tells it.
type machine struct {
	vcpus, memoryMiB, gpus, efa, cards int
}

// cloud is what AWS offers an account.
type cloud struct {
	machines map[string]machine
	zones    map[string][]string
	quotas   map[string]float64
}

// generous is a region in which everything can be had.
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
		quotas: map[string]float64{"L-DB2E81BA": 96, "L-1216C47A": 64, "L-417A185B": 192},
	}
}

// with changes a copy.
func (c cloud) with(change func(*cloud)) cloud {
	changed := cloud{machines: maps.Clone(c.machines), zones: maps.Clone(c.zones), quotas: maps.Clone(c.quotas)}
	change(&changed)
	return changed
}

func (c cloud) call(token string, args resource.PropertyMap) (resource.PropertyMap, error) {
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
	case "aws:servicequotas/getServiceQuota:getServiceQuota":
		code := args["quotaCode"].StringValue()
		value, ok := c.quotas[code]
		if !ok {
			return nil, fmt.Errorf("NoSuchResourceException: quota %q", code)
		}
		return resource.PropertyMap{"quotaCode": args["quotaCode"], "value": resource.NewProperty(value)}, nil
	default:
		return nil, fmt.Errorf("calling %q: the program should not", token)
	}
}
