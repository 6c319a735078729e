package eks

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// joinFailure returns why an instance does not become a Ready node, or nil. AWS reports only the
// outcome; the cause is added in parentheses.
// Source of the outcomes: EKS API, Issue, NodeCreationFailure and Ec2SubnetInvalidConfiguration.
func joinFailure(o *store.Op, group *NodeGroup, found *ec2.Instance) *api.Error {
	cluster := Clusters.In(o)[group.ClusterName]
	if problem := subnetFailure(o, found); problem != nil {
		return problem
	}
	for _, why := range []string{
		faultReason(o, group),
		dnsReason(o, found),
		endpointReason(o, cluster, found),
		accessReason(o, cluster, group),
	} {
		if why != "" {
			return api.Errorf("NodeCreationFailure",
				"NodeCreationFailure: Instances failed to join the kubernetes cluster "+
					"(rehearsal: %s)",
				why)
		}
	}
	if why := cniReason(o, cluster, group); why != "" {
		return api.Errorf("NodeCreationFailure",
			"NodeCreationFailure: Unhealthy nodes in the kubernetes cluster (rehearsal: %s)", why)
	}
	return nil
}

// subnetProblem: a subnet that routes to an internet gateway must give public addresses.
// Source: EKS API, Issue, Ec2SubnetInvalidConfiguration.
func subnetFailure(o *store.Op, found *ec2.Instance) *api.Error {
	if strings.HasPrefix(ec2.InternetRoute(o, found.SubnetID), "igw-") &&
		!ec2.HasPublicAddress(o, found) {
		return api.Errorf("Ec2SubnetInvalidConfiguration",
			"Ec2SubnetInvalidConfiguration: One or more Amazon EC2 Subnets of [%s] for node "+
				"group %s does not automatically assign public IP addresses to instances launched "+
				"into it. If you want your instances to be assigned a public IP address, then you "+
				"need to enable auto-assign public IP address for the subnet.",
			found.SubnetID, found.NodeGroup)
	}
	return nil
}

func faultReason(o *store.Op, group *NodeGroup) string {
	for _, prefix := range o.Faults.NodesNeverJoin {
		if strings.HasPrefix(group.NodeGroupName, prefix) {
			return "the fault nodesNeverJoin is set"
		}
	}
	return ""
}

// dnsProblem: nodes register by their DNS names.
// Source: EKS user guide, "VPC requirements and considerations".
func dnsReason(o *store.Op, found *ec2.Instance) string {
	vpc := ec2.Vpcs.In(o)[found.VpcID]
	if !vpc.EnableDNSHostnames || vpc.EnableDNSSupport != nil && !*vpc.EnableDNSSupport {
		return "the VPC needs enableDnsHostnames and enableDnsSupport"
	}
	return ""
}

// apiServerPort is where an EKS API server listens.
const apiServerPort = 443

// endpointReason returns why an instance does not reach the API server, or "".
// Sources: EKS user guide, "Cluster API server endpoint" and "Amazon EKS security group
// requirements"; without a private endpoint, nodes need a way to the internet whose
// address is in publicAccessCidrs.
func endpointReason(o *store.Op, cluster *Cluster, found *ec2.Instance) string {
	groups := ec2.PrimaryGroups(o, found)
	config := cluster.VpcConfig
	if config.EndpointPrivateAccess {
		control := append([]string{config.ClusterSecurityGroupID}, config.SecurityGroupIDs...)
		if !ec2.CanConnect(o, groups, found.PrivateIP, control,
			controlPlaneAddress(o, cluster.Name), apiServerPort) {
			return "the interface's security groups " + strings.Join(groups,
				", ") + " do not reach the control plane's " + strings.Join(
				control,
				", ",
			) + " on port 443; list the cluster security group " + config.ClusterSecurityGroupID
		}
	}
	way := ec2.InternetRoute(o, found.SubnetID)
	if way == "" {
		// Images, and the API server where it is public only, are outside.
		return "subnet " + found.SubnetID + " has no route to the internet (0.0.0.0/0 to a NAT " +
			"gateway in a public subnet)"
	}
	outside := "203.0.113.254"
	if !ec2.CanConnect(o, groups, found.PrivateIP, nil, outside, apiServerPort) {
		return "the interface's security groups " + strings.Join(groups,
			", ") + " allow no egress to 0.0.0.0/0 on port 443"
	}
	if config.EndpointPrivateAccess {
		return ""
	}
	address := ec2.PublicAddress(o, way, found)
	if !ec2.InAnyBlock(address, config.PublicAccessCidrs) {
		return "the public endpoint admits " + strings.Join(config.PublicAccessCidrs,
			", ") + " and not " + address + ", the nodes' address; turn endpointPrivateAccess on"
	}
	return ""
}

// controlPlaneAddress is the address of one of a control plane's interfaces.
func controlPlaneAddress(o *store.Op, cluster string) string {
	for _, id := range ec2.Interfaces.In(o).IDs() {
		if ec2.Interfaces.In(o)[id].Owner == "eks:"+cluster {
			return ec2.Interfaces.In(o)[id].PrivateIP
		}
	}
	return netip.IPv4Unspecified().String()
}

// entryProblem: where access entries decide, the node role needs one.
// Source: EKS user guide, "Grant IAM users access with access entries".
func accessReason(o *store.Op, cluster *Cluster, group *NodeGroup) string {
	if cluster.AccessConfig.AuthenticationMode != modeAPI {
		return ""
	}
	entry, ok := AccessEntries.In(o)[EntryID(cluster.Name, group.NodeRoleARN)]
	if !ok || entry.Type != "EC2_LINUX" {
		return "the role " + group.NodeRoleARN + " has no access entry of type EC2_LINUX"
	}
	return ""
}

// cniReason returns why a node that registered stays NotReady, or "".
// Sources: EKS user guide, "Amazon EKS node IAM role" and "Configure Amazon VPC CNI
// plugin to use IRSA or Pod Identity"; without a CNI the kubelet reports NotReady.
func cniReason(o *store.Op, cluster *Cluster, group *NodeGroup) string {
	addon, managed := Addons.In(o)[cluster.Name+":vpc-cni"]
	if !managed && !slices.Contains(cluster.SelfManaged, "vpc-cni") {
		return "container runtime network not ready: the cluster has no vpc-cni"
	}
	const policy = iam.ManagedPolicy + "AmazonEKS_CNI_Policy"
	roles := []string{group.NodeRoleARN}
	if managed {
		roles = append(roles, addon.ServiceAccountRoleARN)
		for _, association := range addon.PodIdentityAssociations {
			roles = append(roles, association.RoleARN)
		}
	}
	for _, id := range PodIdentities.In(o).IDs() {
		if found := PodIdentities.In(o)[id]; found.ClusterName == cluster.Name &&
			found.ServiceAccount == "aws-node" {
			roles = append(roles, found.RoleARN)
		}
	}
	for _, arn := range roles {
		if role, ok := iam.RoleByARN(o, arn); ok &&
			slices.Contains(iam.PoliciesOf(o, role), policy) {
			return ""
		}
	}
	return "container runtime network not ready: aws-node lacks AmazonEKS_CNI_Policy"
}
