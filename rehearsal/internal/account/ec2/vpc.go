package ec2

import (
	"net/netip"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// when returns text if condition is true, otherwise "".
func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// Vpc is aws:ec2/vpc:Vpc.
type Vpc struct {
	CidrBlock                        string `json:"cidrBlock,omitempty" aws:"default,replace"`
	EnableDNSHostnames               bool   `json:"enableDnsHostnames" aws:"default"`
	EnableDNSSupport                 *bool  `json:"enableDnsSupport,omitempty" aws:"default"`
	EnableNetworkAddressUsageMetrics bool   `json:"enableNetworkAddressUsageMetrics,omitempty"`
	InstanceTenancy                  string `json:"instanceTenancy,omitempty" aws:"default"`
	schema.Tagged

	ARN                    string `json:"arn,omitempty" aws:"computed"`
	DefaultNetworkACLID    string `json:"defaultNetworkAclId,omitempty" aws:"computed"`
	DefaultRouteTableID    string `json:"defaultRouteTableId,omitempty" aws:"computed"`
	DefaultSecurityGroupID string `json:"defaultSecurityGroupId,omitempty" aws:"computed"`
	DHCPOptionsID          string `json:"dhcpOptionsId,omitempty" aws:"computed"`
	MainRouteTableID       string `json:"mainRouteTableId,omitempty" aws:"computed"`
	OwnerID                string `json:"ownerId,omitempty" aws:"computed"`
}

// Vpcs is the token of Vpc.
const Vpcs store.Token[Vpc] = "aws:ec2/vpc:Vpc"

func vpcType() store.Type[Vpc] {
	return store.Type[Vpc]{
		Service:   "EC2",
		CreateAPI: "CreateVpc", UpdateAPI: "ModifyVpcAttribute", DeleteAPI: "DeleteVpc",
		CreateSeconds: 2, // Terraform provider: waits for state available
		// Source: pulumi-aws, default delete timeout: 5 minutes.
		RetrySeconds: 300,
		Token:        Vpcs,
		Item:         store.HoldsName[Vpc],
		Create:       createVpc,
		Delete:       deleteVpc,
	}
}

func createVpc(o *store.Op, in *Vpc) (string, error) {
	block, err := netip.ParsePrefix(in.CidrBlock)
	// Source: VPC user guide, "VPC CIDR blocks": between /28 and /16.
	if err != nil || !block.Addr().Is4() || block.Bits() < 16 || block.Bits() > 28 {
		return "", api.Errorf("InvalidVpc.Range", "The CIDR '%s' is invalid.", in.CidrBlock)
	}
	// Source: VPC user guide, "Amazon VPC quotas".
	if limit := AppliedQuota(o, quotaVpcs); float64(len(Vpcs.In(o))) >= limit {
		return "", api.Errorf("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	}
	// EC2 clears the host bits of a block: CreateVpc, parameter CidrBlock.
	in.CidrBlock = block.Masked().String()
	id := store.NewID("vpc")
	in.ARN = o.ARN("ec2", "vpc/"+id)
	in.OwnerID = o.AccountID
	in.DefaultNetworkACLID = store.NewID("acl")
	in.DHCPOptionsID = store.NewID("dopt")
	if in.InstanceTenancy == "" {
		in.InstanceTenancy = "default"
	}
	if in.EnableDNSSupport == nil {
		on := true
		in.EnableDNSSupport = &on
	}
	in.DefaultSecurityGroupID = createDefaultGroup(o, id)
	in.MainRouteTableID = store.NewID("rtb")
	in.DefaultRouteTableID = in.MainRouteTableID
	RouteTables.In(o)[in.MainRouteTableID] = &RouteTable{
		VpcID: id, Main: true, OwnerID: o.AccountID,
		ARN: o.ARN("ec2", "route-table/"+in.MainRouteTableID),
	}
	return id, nil
}

// createDefaultGroup creates the default security group of a VPC.
// Source: VPC user guide, "Default security groups": ingress from itself, all egress.
func createDefaultGroup(o *store.Op, vpcID string) string {
	id := store.NewID("sg")
	SecurityGroups.In(o)[id] = &SecurityGroup{
		Name: "default", Description: "default VPC security group", VpcID: vpcID, MadeBy: "vpc",
		OwnerID: o.AccountID, ARN: o.ARN("ec2", "security-group/"+id),
		Ingress: []GroupRule{{Protocol: "-1", Self: true}},
		Egress:  []GroupRule{{Protocol: "-1", CidrBlocks: []string{"0.0.0.0/0"}}},
	}
	return id
}

// deleteVpc refuses while anything but the default group and table is left.
// Source: VPC user guide, "Delete your VPC", and EC2 API error DependencyViolation.
func deleteVpc(o *store.Op, id string, _ *Vpc) error {
	if dependent := o.Blocker(id); dependent != "" {
		return api.Errorf("DependencyViolation",
			"The vpc '%s' has dependencies and cannot be deleted. (rehearsal: %s is one)", id,
			dependent)
	}
	return nil
}

// findVpc returns a VPC or EC2's error.
func findVpc(o *store.Op, id string) (*Vpc, error) {
	if found, ok := Vpcs.In(o)[id]; ok {
		return found, nil
	}
	return nil, api.Errorf("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
}
