package account

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// joinProblem says why an instance does not become a Ready node; nil when it does.
// AWS names only the outcome. What the rehearsal sees is added in brackets.
// Source of the outcomes: EKS API, Issue, NodeCreationFailure and Ec2SubnetInvalidConfiguration.
func (o *op) joinProblem(group *resource.NodeGroup, found *instance) *api.Error {
	cluster := o.Clusters[group.ClusterName]
	if problem := o.subnetProblem(found); problem != nil {
		return problem
	}
	for _, why := range []string{
		o.forcedProblem(group),
		o.dnsProblem(found),
		o.endpointProblem(cluster, found),
		o.entryProblem(cluster, group),
	} {
		if why != "" {
			return api.Errorf("NodeCreationFailure", "NodeCreationFailure: Instances failed to join the kubernetes cluster (rehearsal: %s)", why)
		}
	}
	if why := o.networkProblem(cluster, group); why != "" {
		return api.Errorf("NodeCreationFailure", "NodeCreationFailure: Unhealthy nodes in the kubernetes cluster (rehearsal: %s)", why)
	}
	return nil
}

// subnetProblem: a subnet that routes to an internet gateway must give public addresses.
// Source: EKS API, Issue, Ec2SubnetInvalidConfiguration.
func (o *op) subnetProblem(found *instance) *api.Error {
	if strings.HasPrefix(o.wayOut(found.SubnetID), "igw-") && !o.hasPublicAddress(found) {
		return api.Errorf("Ec2SubnetInvalidConfiguration", "Ec2SubnetInvalidConfiguration: One or more Amazon EC2 Subnets of [%s] for node group %s does not automatically assign public IP addresses to instances launched into it. If you want your instances to be assigned a public IP address, then you need to enable auto-assign public IP address for the subnet.", found.SubnetID, found.NodeGroup)
	}
	return nil
}

func (o *op) hasPublicAddress(found *instance) bool {
	return slices.ContainsFunc(found.Interfaces, func(id string) bool { return o.Interfaces[id].PublicIP != "" })
}

func (o *op) forcedProblem(group *resource.NodeGroup) string {
	for _, prefix := range o.Faults.NodesNeverJoin {
		if strings.HasPrefix(group.NodeGroupName, prefix) {
			return "the fault nodesNeverJoin keeps them away"
		}
	}
	return ""
}

// dnsProblem: nodes register by their DNS names.
// Source: EKS user guide, "VPC requirements and considerations".
func (o *op) dnsProblem(found *instance) string {
	vpc := o.Vpcs[found.VpcID]
	if !vpc.EnableDNSHostnames || vpc.EnableDNSSupport != nil && !*vpc.EnableDNSSupport {
		return "the VPC needs enableDnsHostnames and enableDnsSupport"
	}
	return ""
}

// apiPort is where an EKS API server listens.
const apiPort = 443

// endpointProblem says why an instance does not reach the API server.
// Sources: EKS user guide, "Cluster API server endpoint" and "Amazon EKS security group
// requirements"; without a private endpoint, nodes need a way to the internet whose
// address is in publicAccessCidrs.
func (o *op) endpointProblem(cluster *resource.Cluster, found *instance) string {
	groups := o.primaryGroups(found)
	config := cluster.VpcConfig
	if config.EndpointPrivateAccess {
		control := append([]string{config.ClusterSecurityGroupID}, config.SecurityGroupIDs...)
		if !o.connects(groups, found.PrivateIP, control, o.controlPlaneAddress(cluster.Name), apiPort) {
			return "the interface's security groups " + strings.Join(groups, ", ") + " do not reach the control plane's " + strings.Join(control, ", ") + " on port 443; list the cluster security group " + config.ClusterSecurityGroupID
		}
	}
	way := o.wayOut(found.SubnetID)
	if way == "" {
		// Images, and the API server where it is public only, are outside.
		return "subnet " + found.SubnetID + " has no route to the internet (0.0.0.0/0 to a NAT gateway in a public subnet)"
	}
	outside := "203.0.113.254"
	if !o.connects(groups, found.PrivateIP, nil, outside, apiPort) {
		return "the interface's security groups " + strings.Join(groups, ", ") + " allow no egress to 0.0.0.0/0 on port 443"
	}
	if config.EndpointPrivateAccess {
		return ""
	}
	address := o.addressOutside(way, found)
	if !inside(address, config.PublicAccessCidrs) {
		return "the public endpoint admits " + strings.Join(config.PublicAccessCidrs, ", ") + " and not " + address + ", the nodes' address; turn endpointPrivateAccess on"
	}
	return ""
}

// addressOutside is the address that an instance has on the internet.
func (o *op) addressOutside(way string, found *instance) string {
	if nat, ok := o.NatGateways[way]; ok {
		return nat.PublicIP
	}
	for _, id := range found.Interfaces {
		if public := o.Interfaces[id].PublicIP; public != "" {
			return public
		}
	}
	return ""
}

// controlPlaneAddress is the address of one of a control plane's interfaces.
func (o *op) controlPlaneAddress(cluster string) string {
	for _, id := range o.Interfaces.sorted() {
		if o.Interfaces[id].Owner == "eks:"+cluster {
			return o.Interfaces[id].PrivateIP
		}
	}
	return netip.IPv4Unspecified().String()
}

// primaryGroups are the security groups of an instance's primary interface.
func (o *op) primaryGroups(found *instance) []string {
	for _, id := range found.Interfaces {
		if nic := o.Interfaces[id]; nic.PrivateIP == found.PrivateIP {
			return nic.SecurityGroups
		}
	}
	return nil
}

// entryProblem: where access entries decide, the node role needs one.
// Source: EKS user guide, "Grant IAM users access with access entries".
func (o *op) entryProblem(cluster *resource.Cluster, group *resource.NodeGroup) string {
	if cluster.AccessConfig.AuthenticationMode != modeAPI {
		return ""
	}
	entry, ok := o.AccessEntries[entryID(cluster.Name, group.NodeRoleARN)]
	if !ok || entry.Type != "EC2_LINUX" {
		return "the role " + group.NodeRoleARN + " has no access entry of type EC2_LINUX"
	}
	return ""
}

// networkProblem says why a node that registered stays NotReady.
// Sources: EKS user guide, "Amazon EKS node IAM role" and "Configure Amazon VPC CNI
// plugin to use IRSA or Pod Identity"; without a CNI the kubelet reports NotReady.
func (o *op) networkProblem(cluster *resource.Cluster, group *resource.NodeGroup) string {
	addon, managed := o.Addons[cluster.Name+":vpc-cni"]
	if !managed && !slices.Contains(cluster.SelfManaged, "vpc-cni") {
		return "container runtime network not ready: the cluster has no vpc-cni"
	}
	const policy = managedPolicy + "AmazonEKS_CNI_Policy"
	roles := []string{group.NodeRoleARN}
	if managed {
		roles = append(roles, addon.ServiceAccountRoleARN)
		for _, association := range addon.PodIdentityAssociations {
			roles = append(roles, association.RoleARN)
		}
	}
	for _, id := range o.PodIdentities.sorted() {
		if found := o.PodIdentities[id]; found.ClusterName == cluster.Name && found.ServiceAccount == "aws-node" {
			roles = append(roles, found.RoleARN)
		}
	}
	for _, arn := range roles {
		if role, ok := o.roleByARN(arn); ok && slices.Contains(o.policiesOf(role), policy) {
			return ""
		}
	}
	return "container runtime network not ready: aws-node lacks AmazonEKS_CNI_Policy"
}
