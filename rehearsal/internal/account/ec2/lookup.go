package ec2

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type lookupArgs struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	VpcID     string            `json:"vpcId"`
	CidrBlock string            `json:"cidrBlock"`
	Default   *bool             `json:"default"`
	Filters   []filter          `json:"filters"`
	Tags      map[string]string `json:"tags"`
}

type vpcResult struct {
	ARN                string            `json:"arn"`
	CidrBlock          string            `json:"cidrBlock"`
	Default            bool              `json:"default"`
	EnableDNSHostnames bool              `json:"enableDnsHostnames"`
	EnableDNSSupport   bool              `json:"enableDnsSupport"`
	ID                 string            `json:"id"`
	InstanceTenancy    string            `json:"instanceTenancy"`
	MainRouteTableID   string            `json:"mainRouteTableId"`
	OwnerID            string            `json:"ownerId"`
	State              string            `json:"state"`
	Tags               map[string]string `json:"tags"`
}

func getVpc(o *store.Op, args lookupArgs) (any, error) {
	var found []string
	for _, id := range Vpcs.In(o).IDs() {
		vpc := Vpcs.In(o)[id]
		// An emulated AWS account has no default VPC, as in many companies.
		isDefault := args.Default != nil && *args.Default
		if !isDefault && (args.ID == "" || args.ID == id) &&
			(args.CidrBlock == "" || args.CidrBlock == vpc.CidrBlock) &&
			hasTags(vpc.TagsAll, args.Tags) {
			found = append(found, id)
		}
	}
	found, err := filterNames(found, args.Filters,
		func(id, key string) (string, bool) { return vpcFilter(o, id, key) })
	if err != nil {
		return nil, err
	}
	if err := exactlyOne("EC2 VPC", found); err != nil {
		return nil, err
	}
	vpc := Vpcs.In(o)[found[0]]
	return vpcResult{
		ARN: vpc.ARN, CidrBlock: vpc.CidrBlock, EnableDNSHostnames: vpc.EnableDNSHostnames,
		EnableDNSSupport: *vpc.EnableDNSSupport,
		ID:               found[0], InstanceTenancy: vpc.InstanceTenancy, MainRouteTableID: vpc.MainRouteTableID,
		OwnerID: vpc.OwnerID, State: "available", Tags: vpc.TagsAll,
	}, nil
}

func vpcFilter(o *store.Op, id, key string) (string, bool) {
	vpc := Vpcs.In(o)[id]
	if tag, ok := strings.CutPrefix(key, "tag:"); ok {
		return vpc.TagsAll[tag], true
	}
	switch key {
	case "vpc-id":
		return id, true
	case "cidr":
		return vpc.CidrBlock, true
	case "state":
		return "available", true
	default:
		return "", false
	}
}

type idsResult struct {
	ID  string   `json:"id"`
	IDs []string `json:"ids"`
}

func getVpcs(o *store.Op, args lookupArgs) (any, error) {
	found, err := filterNames(Vpcs.In(o).IDs(), args.Filters,
		func(id, key string) (string, bool) { return vpcFilter(o, id, key) })
	found = slices.DeleteFunc(found,
		func(id string) bool { return !hasTags(Vpcs.In(o)[id].TagsAll, args.Tags) })
	return idsResult{ID: o.Region, IDs: found}, err
}

type eipsResult struct {
	AllocationIDs []string `json:"allocationIds"`
	ID            string   `json:"id"`
	PublicIPs     []string `json:"publicIps"`
}

func getEips(o *store.Op, args lookupArgs) (any, error) {
	found, err := filterNames(Eips.In(o).IDs(), args.Filters, func(id, key string) (string, bool) {
		if tag, ok := strings.CutPrefix(key, "tag:"); ok {
			return Eips.In(o)[id].TagsAll[tag], true
		}
		switch key {
		case "domain":
			return "vpc", true
		case "allocation-id":
			return id, true
		default:
			return "", false
		}
	})
	result := eipsResult{ID: o.Region, AllocationIDs: []string{}, PublicIPs: []string{}}
	for _, id := range found {
		if hasTags(Eips.In(o)[id].TagsAll, args.Tags) {
			result.AllocationIDs = append(result.AllocationIDs, id)
			result.PublicIPs = append(result.PublicIPs, Eips.In(o)[id].PublicIP)
		}
	}
	return result, err
}

func subnetFilter(o *store.Op, id, key string) (string, bool) {
	subnet := Subnets.In(o)[id]
	if tag, ok := strings.CutPrefix(key, "tag:"); ok {
		return subnet.TagsAll[tag], true
	}
	switch key {
	case "vpc-id":
		return subnet.VpcID, true
	case "subnet-id":
		return id, true
	case "availability-zone", "availabilityZone":
		return subnet.AvailabilityZone, true
	case "cidr-block":
		return subnet.CidrBlock, true
	default:
		return "", false
	}
}

func getSubnets(o *store.Op, args lookupArgs) (any, error) {
	found, err := filterNames(Subnets.In(o).IDs(), args.Filters,
		func(id, key string) (string, bool) { return subnetFilter(o, id, key) })
	found = slices.DeleteFunc(found,
		func(id string) bool { return !hasTags(Subnets.In(o)[id].TagsAll, args.Tags) })
	return idsResult{ID: o.Region, IDs: found}, err
}

type subnetResult struct {
	ARN                     string            `json:"arn"`
	AvailabilityZone        string            `json:"availabilityZone"`
	AvailabilityZoneID      string            `json:"availabilityZoneId"`
	AvailableIPAddressCount int               `json:"availableIpAddressCount"`
	CidrBlock               string            `json:"cidrBlock"`
	ID                      string            `json:"id"`
	MapPublicIPOnLaunch     bool              `json:"mapPublicIpOnLaunch"`
	OwnerID                 string            `json:"ownerId"`
	State                   string            `json:"state"`
	Tags                    map[string]string `json:"tags"`
	VpcID                   string            `json:"vpcId"`
}

func getSubnet(o *store.Op, args lookupArgs) (any, error) {
	found, err := filterNames(Subnets.In(o).IDs(), args.Filters,
		func(id, key string) (string, bool) { return subnetFilter(o, id, key) })
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(id string) bool {
		subnet := Subnets.In(o)[id]
		return args.ID != "" && args.ID != id || args.VpcID != "" && args.VpcID != subnet.VpcID ||
			args.CidrBlock != "" &&
				args.CidrBlock != subnet.CidrBlock || !hasTags(subnet.TagsAll, args.Tags)
	})
	if err := exactlyOne("EC2 Subnet", found); err != nil {
		return nil, err
	}
	subnet := Subnets.In(o)[found[0]]
	// Source: VPC user guide: five addresses of each subnet are AWS's.
	room := 1<<(32-netip.MustParsePrefix(subnet.CidrBlock).Bits()) - 5
	return subnetResult{
		ARN: subnet.ARN, AvailabilityZone: subnet.AvailabilityZone,
		AvailabilityZoneID:      subnet.AvailabilityZoneID,
		AvailableIPAddressCount: room, CidrBlock: subnet.CidrBlock, ID: found[0],
		MapPublicIPOnLaunch: subnet.MapPublicIPOnLaunch,
		OwnerID:             subnet.OwnerID, State: "available", Tags: subnet.TagsAll, VpcID: subnet.VpcID,
	}, nil
}

type securityGroupResult struct {
	ARN         string            `json:"arn"`
	Description string            `json:"description"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Tags        map[string]string `json:"tags"`
	VpcID       string            `json:"vpcId"`
}

func getSecurityGroup(o *store.Op, args lookupArgs) (any, error) {
	found, err := filterNames(
		SecurityGroups.In(o).IDs(),
		args.Filters,
		func(id, key string) (string, bool) {
			group := SecurityGroups.In(o)[id]
			if tag, ok := strings.CutPrefix(key, "tag:"); ok {
				return group.TagsAll[tag], true
			}
			value, ok := map[string]string{"group-id": id, "group-name": group.Name, "vpc-id": group.VpcID}[key]
			return value, ok
		},
	)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(id string) bool {
		group := SecurityGroups.In(o)[id]
		return args.ID != "" && args.ID != id || args.Name != "" && args.Name != group.Name ||
			args.VpcID != "" && args.VpcID != group.VpcID || !hasTags(group.TagsAll, args.Tags)
	})
	if err := exactlyOne("EC2 Security Group", found); err != nil {
		return nil, err
	}
	group := SecurityGroups.In(o)[found[0]]
	return securityGroupResult{
		ARN:         group.ARN,
		Description: group.Description,
		ID:          found[0],
		Name:        group.Name,
		Tags:        group.TagsAll,
		VpcID:       group.VpcID,
	}, nil
}
