package account

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// States of clusters, node groups and add-ons. Source: EKS API, ClusterStatus,
// NodegroupStatus and AddonStatus.
const (
	statusCreating     = "CREATING"
	statusActive       = "ACTIVE"
	statusFailed       = "FAILED"
	statusCreateFailed = "CREATE_FAILED"
	statusDegraded     = "DEGRADED"
	statusDeleting     = "DELETING"
)

func clusterRules(kind resource.Kind) rules[resource.Cluster] {
	return rules[resource.Cluster]{
		kind: kind, service: "EKS",
		createVerb: "CreateCluster", updateVerb: "UpdateClusterConfig", deleteVerb: "DeleteCluster",
		rows:   func(s *state) table[resource.Cluster] { return s.Clusters },
		create: (*op).createCluster,
		update: (*op).updateCluster,
		remove: (*op).removeCluster,
		settleCreate: func(ctx context.Context, a *Account, id string) error {
			return a.settleCluster(ctx, id)
		},
		settleRemove: func(ctx context.Context, a *Account, id string) error {
			if a.options.Runtime == nil {
				return nil
			}
			return a.options.Runtime.ClusterDeleted(ctx, id)
		},
		removed: (*op).afterCluster,
	}
}

func (o *op) createCluster(in *resource.Cluster) (string, error) {
	// Source: EKS API, CreateCluster, parameter name.
	if !regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`).MatchString(in.Name) {
		return "", invalidParameter("The cluster name %q can have at most 100 letters, digits, hyphens and underscores and begins with a letter or digit.", in.Name)
	}
	if _, taken := o.Clusters[in.Name]; taken {
		return "", api.Errorf("ResourceInUseException", "Cluster already exists with name: %s", in.Name).WithStatus(409)
	}
	if float64(len(o.Clusters)) >= o.quota(quotaClusters) {
		return "", api.Errorf("ResourceLimitExceededException", "Cluster limit exceeded for account.")
	}
	if in.Version == "" {
		in.Version = defaultVersion()
	}
	if _, ok := versionNamed(in.Version); !ok {
		return "", invalidParameter("unsupported Kubernetes version %q; supported are %s", in.Version, versionNames())
	}
	vpcID, err := o.checkCluster(in)
	if err != nil {
		return "", err
	}
	if err := o.chooseNetwork(in, vpcID); err != nil {
		return "", err
	}
	o.completeCluster(in, vpcID)
	return in.Name, o.createClusterInterfaces(in)
}

// checkCluster checks what a new and a changed cluster must fulfil.
func (o *op) checkCluster(in *resource.Cluster) (vpcID string, err error) {
	if err := o.checkClusterRole(in.RoleARN); err != nil {
		return "", err
	}
	zones := map[string]bool{}
	for _, id := range in.VpcConfig.SubnetIDs {
		subnet, ok := o.Subnets[id]
		if !ok {
			return "", invalidParameter("The subnet ID '%s' does not exist (Service: AmazonEC2; Error Code: InvalidSubnetID.NotFound)", id)
		}
		if vpcID != "" && subnet.VpcID != vpcID {
			return "", invalidParameter("Subnets specified must belong to the same VPC.")
		}
		vpcID = subnet.VpcID
		zones[subnet.AvailabilityZone] = true
	}
	// Source: EKS user guide, "Subnet requirements and considerations".
	if len(zones) < 2 {
		return "", invalidParameter("Subnets specified must be in at least two different AZs")
	}
	for _, id := range in.VpcConfig.SecurityGroupIDs {
		group, ok := o.SecurityGroups[id]
		if !ok || group.VpcID != vpcID {
			return "", invalidParameter("The security group '%s' does not exist in VPC '%s'", id, vpcID)
		}
	}
	if err := checkEndpointAccess(in.VpcConfig); err != nil {
		return "", err
	}
	if err := validLogTypes(in.EnabledClusterLogTypes); err != nil {
		return "", err
	}
	if in.EncryptionConfig != nil {
		// Source: EKS API, EncryptionConfig: resources is ["secrets"].
		if !slices.Equal(in.EncryptionConfig.Resources, []string{"secrets"}) {
			return "", invalidParameter("encryptionConfig.resources must be [secrets], got %v", in.EncryptionConfig.Resources)
		}
		if _, err := o.usableKey(in.EncryptionConfig.Provider.KeyARN); err != nil {
			return "", err
		}
	}
	return vpcID, nil
}

// checkClusterRole wants a role that EKS may assume and that has the cluster policy.
// Source: EKS's InvalidParameterException on CreateCluster; EKS user guide, "Amazon EKS
// cluster IAM role".
func (o *op) checkClusterRole(arn string) error {
	role, ok := o.roleByARN(arn)
	if !ok || !trusts(role, "eks.amazonaws.com") {
		return invalidParameter("Role with arn: %s, could not be assumed because it does not exist or the trusted entity is not correct", arn)
	}
	if !slices.Contains(o.policiesOf(role), managedPolicy+"AmazonEKSClusterPolicy") {
		return invalidParameter("The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please ensure the following policies [%sAmazonEKSClusterPolicy] are attached", managedPolicy)
	}
	return nil
}

// checkEndpointAccess checks who may reach the API server.
// Source: EKS user guide, "Cluster API server endpoint".
func checkEndpointAccess(config resource.ClusterVpcConfig) error {
	if !publicAccess(config) && !config.EndpointPrivateAccess {
		return invalidParameter("Private and public endpoint access cannot be false")
	}
	for _, text := range config.PublicAccessCidrs {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return invalidParameter("Invalid CIDR %q in publicAccessCidrs.", text)
		}
		if block.Addr().IsPrivate() || block.Addr().IsLoopback() || block.Addr().IsLinkLocalUnicast() {
			return invalidParameter("The following CIDRs are not allowed in publicAccessCidrs: [%s]", text)
		}
	}
	return nil
}

func publicAccess(config resource.ClusterVpcConfig) bool {
	return config.EndpointPublicAccess == nil || *config.EndpointPublicAccess
}

// chooseNetwork fills in the range of service addresses.
// Source: EKS API, KubernetesNetworkConfigRequest: 172.20.0.0/16 or 10.100.0.0/16,
// whichever does not conflict with the VPC, /24 to /12, inside the private ranges.
func (o *op) chooseNetwork(in *resource.Cluster, vpcID string) error {
	if in.KubernetesNetworkConfig == nil {
		in.KubernetesNetworkConfig = &resource.KubernetesNetworkConfig{}
	}
	network := in.KubernetesNetworkConfig
	if network.IPFamily == "" {
		network.IPFamily = "ipv4"
	}
	vpcBlock := netip.MustParsePrefix(o.Vpcs[vpcID].CidrBlock)
	if network.ServiceIpv4Cidr == "" {
		network.ServiceIpv4Cidr = "172.20.0.0/16"
		if netip.MustParsePrefix(network.ServiceIpv4Cidr).Overlaps(vpcBlock) {
			network.ServiceIpv4Cidr = "10.100.0.0/16"
		}
	}
	block, err := netip.ParsePrefix(network.ServiceIpv4Cidr)
	if err != nil || !block.Addr().IsPrivate() || block.Bits() < 12 || block.Bits() > 24 {
		return invalidParameter("The serviceIpv4Cidr %q must be a private block between /24 and /12.", network.ServiceIpv4Cidr)
	}
	if block.Overlaps(vpcBlock) {
		return invalidParameter("The serviceIpv4Cidr %s overlaps with the VPC's %s.", network.ServiceIpv4Cidr, vpcBlock)
	}
	return nil
}

// completeCluster fills in what EKS decides.
func (o *op) completeCluster(in *resource.Cluster, vpcID string) {
	hex := strings.ToUpper(randomHex(32))
	in.ARN = o.arn("eks", "cluster/"+in.Name)
	in.CreatedAt = o.now.Format(time.RFC3339)
	in.PlatformVersion = "eks.1"
	in.Status = statusCreating
	in.Identities = []resource.Identity{{Oidcs: []resource.IdentityOidc{{
		Issuer: fmt.Sprintf("https://oidc.eks.%s.amazonaws.com/id/%s", o.Region, hex),
	}}}}
	on := true
	if in.VpcConfig.EndpointPublicAccess == nil {
		in.VpcConfig.EndpointPublicAccess = &on
	}
	if len(in.VpcConfig.PublicAccessCidrs) == 0 && publicAccess(in.VpcConfig) {
		in.VpcConfig.PublicAccessCidrs = []string{everywhere}
	}
	if in.AccessConfig == nil {
		in.AccessConfig = &resource.AccessConfig{}
	}
	if in.AccessConfig.AuthenticationMode == "" {
		// Source: EKS API, CreateAccessConfigRequest.
		in.AccessConfig.AuthenticationMode = modeConfigMap
	}
	if in.AccessConfig.BootstrapClusterCreatorAdminPermissions == nil {
		in.AccessConfig.BootstrapClusterCreatorAdminPermissions = &on
	}
	if in.UpgradePolicy == nil {
		in.UpgradePolicy = &resource.UpgradePolicy{SupportType: "EXTENDED"}
	}
	// Source: EKS API, CreateCluster, bootstrapSelfManagedAddons: true unless said.
	if in.BootstrapSelfManagedAddons == nil || *in.BootstrapSelfManagedAddons {
		for _, name := range []string{"coredns", "kube-proxy", "vpc-cni"} {
			if !slices.Contains(in.DefaultAddonsToRemoves, name) {
				in.SelfManaged = append(in.SelfManaged, name)
			}
		}
	}
	in.VpcConfig.VpcID = vpcID
	in.VpcConfig.ClusterSecurityGroupID = o.createClusterGroup(in.Name, vpcID)
}

// createClusterGroup makes the group that EKS gives to a cluster and its nodes.
// Source: EKS user guide, "Amazon EKS security group requirements": ingress from
// itself, egress to 0.0.0.0/0, and egress to itself for EFA.
func (o *op) createClusterGroup(cluster, vpcID string) string {
	id := newID("sg")
	o.SecurityGroups[id] = &resource.SecurityGroup{
		Name:        fmt.Sprintf("eks-cluster-sg-%s-%d", cluster, o.now.Unix()),
		Description: "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads.",
		VpcID:       vpcID, MadeBy: "eks:" + cluster,
		OwnerID: o.AccountID, ARN: o.arn("ec2", "security-group/"+id),
		Ingress: []resource.GroupRule{{Protocol: "-1", Self: true}},
		Egress: []resource.GroupRule{
			{Protocol: "-1", CidrBlocks: []string{everywhere}},
			{Protocol: "-1", Self: true},
		},
	}
	return id
}

// createClusterInterfaces puts the control plane's interfaces into the subnets, which
// is why subnets and groups cannot go before the cluster.
// Source: EKS user guide, "Subnet requirements": 2 to 4 interfaces.
func (o *op) createClusterInterfaces(in *resource.Cluster) error {
	groups := append([]string{in.VpcConfig.ClusterSecurityGroupID}, in.VpcConfig.SecurityGroupIDs...)
	for _, subnetID := range in.VpcConfig.SubnetIDs {
		address, err := o.nextAddress(subnetID)
		if err != nil {
			return err
		}
		o.Interfaces[newID("eni")] = &networkInterface{
			SubnetID: subnetID, SecurityGroups: groups, Owner: "eks:" + in.Name, InterfaceType: "interface", PrivateIP: address,
		}
	}
	return nil
}
