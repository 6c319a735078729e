package ec2

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Instances is the table of EC2 instances, which only node groups create.
const Instances store.Token[Instance] = "ec2 instance"

// Instance is an EC2 instance of a node group.
type Instance struct {
	Type      string `json:"type"`
	NodeGroup string `json:"nodeGroup"`
	Cluster   string `json:"cluster"`
	Zone      string `json:"zone"`
	SubnetID  string `json:"subnetId"`
	VpcID     string `json:"vpcId"`
	PrivateIP string `json:"privateIp"`
	Placement string `json:"placement,omitempty"`
	AmiType   string `json:"amiType"`
	// Release is the AMI release that the instance runs.
	Release string `json:"release"`
	// TemplateID and TemplateVersion identify the launch template.
	TemplateID      string   `json:"templateId,omitempty"`
	TemplateVersion int      `json:"templateVersion,omitempty"`
	Interfaces      []string `json:"interfaces"`
	DeviceBroken    bool     `json:"deviceBroken,omitempty"`
	// Joined is true once the instance is a node of its cluster.
	Joined bool `json:"joined"`
	Spot   bool `json:"spot,omitempty"`
}

func instanceResourceType() store.Type[Instance] {
	return store.Type[Instance]{
		Token: Instances, Internal: true, Service: "EC2",
		Item: func(_ *store.Op, row *Instance) api.Item {
			return store.Bills(capacity.InstancePrices()[row.Type],
				row.Type+" of node group "+row.NodeGroup)
		},
	}
}

// Interfaces is the table of all elastic network interfaces.
const Interfaces store.Token[NetworkInterface] = "ec2 network interface"

// NetworkInterface is an elastic network interface.
type NetworkInterface struct {
	SubnetID       string   `json:"subnetId"`
	SecurityGroups []string `json:"securityGroups"`
	// Owner is the owner of the interface: an instance, a NAT gateway, a VPC endpoint or
	// "eks:CLUSTER".
	Owner         string `json:"owner"`
	InterfaceType string `json:"interfaceType"`
	PrivateIP     string `json:"privateIp,omitempty"`
	PublicIP      string `json:"publicIp,omitempty"`
}

func networkInterfaceType() store.Type[NetworkInterface] {
	return store.Type[NetworkInterface]{
		Token: Interfaces, Internal: true, Service: "EC2",
		Item: func(_ *store.Op, row *NetworkInterface) api.Item {
			return api.Item{Note: "of " + row.Owner}
		},
	}
}

// HasPublicAddress reports whether an interface of an instance has a public address.
func HasPublicAddress(o *store.Op, found *Instance) bool {
	return slices.ContainsFunc(found.Interfaces,
		func(id string) bool { return Interfaces.In(o)[id].PublicIP != "" })
}

// PublicAddress returns the public address of an instance.
func PublicAddress(o *store.Op, way string, found *Instance) string {
	if nat, ok := NatGateways.In(o)[way]; ok {
		return nat.PublicIP
	}
	for _, id := range found.Interfaces {
		if public := Interfaces.In(o)[id].PublicIP; public != "" {
			return public
		}
	}
	return ""
}

// PrimaryGroups returns the security groups of an instance's primary interface.
func PrimaryGroups(o *store.Op, found *Instance) []string {
	for _, id := range found.Interfaces {
		if nic := Interfaces.In(o)[id]; nic.PrivateIP == found.PrivateIP {
			return nic.SecurityGroups
		}
	}
	return nil
}

// TerminateInstances removes instances and their interfaces.
func TerminateInstances(o *store.Op, ids []string) {
	for _, id := range ids {
		for _, interfaceID := range Instances.In(o)[id].Interfaces {
			delete(Interfaces.In(o), interfaceID)
		}
		delete(Instances.In(o), id)
	}
}

// Launch starts an instance from a launch template's data: in its placement group, on
// capacity that the zone or a reservation has, with its interfaces. defaultGroup is the
// security group of an instance whose template names none.
func Launch(o *store.Op, made *Instance, data LaunchTemplateData, defaultGroup string) error {
	if err := placeInstance(o, made, data); err != nil {
		return err
	}
	if err := takeCapacity(o, made, data); err != nil {
		return err
	}
	return attachInterfaces(o, made, data, defaultGroup)
}

// attachInterfaces creates the interfaces of an instance and stores the instance.
func attachInterfaces(o *store.Op, made *Instance, data LaunchTemplateData,
	defaultGroup string) error {
	nics := data.NetworkInterfaces
	if len(nics) == 0 {
		// Source: EKS user guide, "Using custom security groups": the cluster's group,
		// unless the template names groups.
		groups := data.VpcSecurityGroupIDs
		if len(groups) == 0 {
			groups = []string{defaultGroup}
		}
		zero := 0
		nics = []TemplateNetworkInterface{{DeviceIndex: &zero, SecurityGroups: groups}}
	}
	id := store.NewID("i")
	for _, nic := range nics {
		groups := nic.SecurityGroups
		if len(groups) == 0 {
			// Source: EC2 user guide: an interface without groups gets the VPC's default.
			groups = []string{Vpcs.In(o)[made.VpcID].DefaultSecurityGroupID}
		}
		attached := &NetworkInterface{
			SubnetID:       made.SubnetID,
			SecurityGroups: groups,
			Owner:          id,
			InterfaceType:  nic.InterfaceType,
		}
		if attached.InterfaceType == "" {
			attached.InterfaceType = "interface"
		}
		// Source: EC2 user guide: an EFA-only interface has no IP address.
		if nic.InterfaceType != "efa-only" {
			address, err := NextAddress(o, made.SubnetID)
			if err != nil {
				return err
			}
			attached.PrivateIP = address
		}
		if intValue(nic.DeviceIndex) == 0 && intValue(nic.NetworkCardIndex) == 0 {
			made.PrivateIP = attached.PrivateIP
			public := nic.AssociatePublicIPAddress == "true" ||
				nic.AssociatePublicIPAddress == "" &&
					Subnets.In(o)[made.SubnetID].MapPublicIPOnLaunch
			if public {
				attached.PublicIP = "198.51.100." + made.PrivateIP[strings.LastIndex(made.PrivateIP, ".")+1:]
			}
		}
		interfaceID := store.NewID("eni")
		Interfaces.In(o)[interfaceID] = attached
		made.Interfaces = append(made.Interfaces, interfaceID)
	}
	Instances.In(o)[id] = made
	return nil
}
