package eks

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// States of clusters, node groups and add-ons. Source: EKS API, ClusterStatus,
// NodegroupStatus and AddonStatus.
const (
	StatusCreating     = "CREATING"
	StatusActive       = "ACTIVE"
	statusFailed       = "FAILED"
	StatusCreateFailed = "CREATE_FAILED"
	statusDegraded     = "DEGRADED"
	StatusDeleting     = "DELETING"
)

// Clusters is the token of Cluster.
const Clusters store.Token[Cluster] = "aws:eks/cluster:Cluster"

func clusterType() store.Type[Cluster] {
	return store.Type[Cluster]{
		Service:   "EKS",
		CreateAPI: "CreateCluster", UpdateAPI: "UpdateClusterConfig", DeleteAPI: "DeleteCluster",
		CreateSeconds: 600, // EKS user guide: about 10 minutes
		UpdateSeconds: 120, // Terraform provider: a few minutes
		DeleteSeconds: 180, // EKS user guide: several minutes
		Token:         Clusters,
		Background:    writeLogs,
		Item: func(*store.Op, *Cluster) api.Item {
			return store.Bills(capacity.EKSClusterUSD, "")
		},
		Create: createCluster,
		Update: updateCluster,
		Delete: deleteCluster,
		FinishCreate: func(ctx context.Context, a *store.Store, id string) error {
			return finishCluster(ctx, a, id)
		},
		FinishDelete: func(ctx context.Context, a *store.Store, id string) error {
			if a.Runtime() == nil {
				return nil
			}
			return a.Runtime().ClusterDeleted(ctx, id)
		},
		Deleted: clusterDeleted,
	}
}

func createCluster(o *store.Op, in *Cluster) (string, error) {
	// Source: EKS API, CreateCluster, parameter name.
	if !regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`).MatchString(in.Name) {
		return "", invalidParameter(
			"The cluster name %q can have at most 100 letters, digits, hyphens and underscores "+
				"and begins with a letter or digit.",
			in.Name)
	}
	if _, taken := Clusters.In(o)[in.Name]; taken {
		return "", api.Errorf("ResourceInUseException", "Cluster already exists with name: %s",
			in.Name).WithStatus(
			409,
		)
	}
	if float64(len(Clusters.In(o))) >= ec2.AppliedQuota(o, ec2.QuotaClusters) {
		return "", api.Errorf("ResourceLimitExceededException",
			"Cluster limit exceeded for account.")
	}
	if in.Version == "" {
		in.Version = DefaultVersion()
	}
	if _, ok := findVersion(in.Version); !ok {
		return "", invalidParameter("unsupported Kubernetes version %q; supported are %s",
			in.Version, versionNames())
	}
	vpcID, err := checkCluster(o, in)
	if err != nil {
		return "", err
	}
	if err := chooseServiceCIDR(o, in, vpcID); err != nil {
		return "", err
	}
	completeCluster(o, in, vpcID)
	return in.Name, createClusterInterfaces(o, in)
}

// checkCluster validates a new or changed cluster.
func checkCluster(o *store.Op, in *Cluster) (vpcID string, err error) {
	if err := checkClusterRole(o, in.RoleARN); err != nil {
		return "", err
	}
	zones := map[string]bool{}
	for _, id := range in.VpcConfig.SubnetIDs {
		subnet, ok := ec2.Subnets.In(o)[id]
		if !ok {
			return "", invalidParameter(
				"The subnet ID '%s' does not exist (Service: AmazonEC2; Error Code: "+
					"InvalidSubnetID.NotFound)",
				id)
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
		group, ok := ec2.SecurityGroups.In(o)[id]
		if !ok || group.VpcID != vpcID {
			return "", invalidParameter("The security group '%s' does not exist in VPC '%s'", id,
				vpcID)
		}
	}
	if err := checkEndpointAccess(in.VpcConfig); err != nil {
		return "", err
	}
	if err := checkLogTypes(in.EnabledClusterLogTypes); err != nil {
		return "", err
	}
	if in.EncryptionConfig != nil {
		// Source: EKS API, EncryptionConfig: resources is ["secrets"].
		if !slices.Equal(in.EncryptionConfig.Resources, []string{"secrets"}) {
			return "", invalidParameter("encryptionConfig.resources must be [secrets], got %v",
				in.EncryptionConfig.Resources)
		}
		if _, err := kms.UsableKey(o, in.EncryptionConfig.Provider.KeyARN); err != nil {
			return "", err
		}
	}
	return vpcID, nil
}

// checkClusterRole checks that EKS may assume a role and that it has the cluster policy.
// Source: EKS's InvalidParameterException on CreateCluster; EKS user guide, "Amazon EKS
// cluster IAM role".
func checkClusterRole(o *store.Op, arn string) error {
	role, ok := iam.RoleByARN(o, arn)
	if !ok || !iam.Trusts(role, "eks.amazonaws.com") {
		return invalidParameter(
			"Role with arn: %s, could not be assumed because it does not exist or the trusted "+
				"entity is not correct",
			arn)
	}
	if !slices.Contains(iam.PoliciesOf(o, role), iam.ManagedPolicy+"AmazonEKSClusterPolicy") {
		return invalidParameter(
			"The provided role doesn't have the Amazon EKS Managed Policies associated with it. "+
				"Please ensure the following policies [%sAmazonEKSClusterPolicy] are attached",
			iam.ManagedPolicy)
	}
	return nil
}

// checkEndpointAccess checks who may reach the API server.
// Source: EKS user guide, "Cluster API server endpoint".
func checkEndpointAccess(config ClusterVpcConfig) error {
	if !publicAccess(config) && !config.EndpointPrivateAccess {
		return invalidParameter("Private and public endpoint access cannot be false")
	}
	for _, text := range config.PublicAccessCidrs {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return invalidParameter("Invalid CIDR %q in publicAccessCidrs.", text)
		}
		if block.Addr().IsPrivate() || block.Addr().IsLoopback() ||
			block.Addr().IsLinkLocalUnicast() {
			return invalidParameter(
				"The following CIDRs are not allowed in publicAccessCidrs: [%s]", text)
		}
	}
	return nil
}

func publicAccess(config ClusterVpcConfig) bool {
	return config.EndpointPublicAccess == nil || *config.EndpointPublicAccess
}

// chooseServiceCIDR fills in the range of service addresses.
// Source: EKS API, KubernetesNetworkConfigRequest: 172.20.0.0/16 or 10.100.0.0/16,
// whichever does not conflict with the VPC, /24 to /12, inside the private ranges.
func chooseServiceCIDR(o *store.Op, in *Cluster, vpcID string) error {
	if in.KubernetesNetworkConfig == nil {
		in.KubernetesNetworkConfig = &KubernetesNetworkConfig{}
	}
	network := in.KubernetesNetworkConfig
	if network.IPFamily == "" {
		network.IPFamily = "ipv4"
	}
	vpcBlock := netip.MustParsePrefix(ec2.Vpcs.In(o)[vpcID].CidrBlock)
	if network.ServiceIpv4Cidr == "" {
		network.ServiceIpv4Cidr = "172.20.0.0/16"
		if netip.MustParsePrefix(network.ServiceIpv4Cidr).Overlaps(vpcBlock) {
			network.ServiceIpv4Cidr = "10.100.0.0/16"
		}
	}
	block, err := netip.ParsePrefix(network.ServiceIpv4Cidr)
	if err != nil || !block.Addr().IsPrivate() || block.Bits() < 12 || block.Bits() > 24 {
		return invalidParameter(
			"The serviceIpv4Cidr %q must be a private block between /24 and /12.",
			network.ServiceIpv4Cidr)
	}
	if block.Overlaps(vpcBlock) {
		return invalidParameter("The serviceIpv4Cidr %s overlaps with the VPC's %s.",
			network.ServiceIpv4Cidr, vpcBlock)
	}
	return nil
}

// completeCluster sets the properties that EKS chooses.
func completeCluster(o *store.Op, in *Cluster, vpcID string) {
	hex := strings.ToUpper(store.RandomHex(32))
	in.ARN = o.ARN("eks", "cluster/"+in.Name)
	in.CreatedAt = o.Now.Format(time.RFC3339)
	in.PlatformVersion = "eks.1"
	in.Status = StatusCreating
	in.Identities = []Identity{{Oidcs: []IdentityOidc{{
		Issuer: fmt.Sprintf("https://oidc.eks.%s.amazonaws.com/id/%s", o.Region, hex),
	}}}}
	on := true
	if in.VpcConfig.EndpointPublicAccess == nil {
		in.VpcConfig.EndpointPublicAccess = &on
	}
	if len(in.VpcConfig.PublicAccessCidrs) == 0 && publicAccess(in.VpcConfig) {
		in.VpcConfig.PublicAccessCidrs = []string{ec2.AnyIPv4}
	}
	if in.AccessConfig == nil {
		in.AccessConfig = &AccessConfig{}
	}
	if in.AccessConfig.AuthenticationMode == "" {
		// Source: EKS API, CreateAccessConfigRequest.
		in.AccessConfig.AuthenticationMode = modeConfigMap
	}
	if in.AccessConfig.BootstrapClusterCreatorAdminPermissions == nil {
		in.AccessConfig.BootstrapClusterCreatorAdminPermissions = &on
	}
	if in.UpgradePolicy == nil {
		in.UpgradePolicy = &UpgradePolicy{SupportType: "EXTENDED"}
	}
	// Source: EKS API, CreateCluster, bootstrapSelfManagedAddons: default true.
	if in.BootstrapSelfManagedAddons == nil || *in.BootstrapSelfManagedAddons {
		for _, name := range []string{"coredns", "kube-proxy", "vpc-cni"} {
			if !slices.Contains(in.DefaultAddonsToRemoves, name) {
				in.SelfManaged = append(in.SelfManaged, name)
			}
		}
	}
	in.VpcConfig.VpcID = vpcID
	in.VpcConfig.ClusterSecurityGroupID = createClusterGroup(o, in.Name, vpcID)
}

// createClusterGroup makes the group that EKS gives to a cluster and its nodes.
// Source: EKS user guide, "Amazon EKS security group requirements": ingress from
// itself, egress to 0.0.0.0/0, and egress to itself for EFA.
func createClusterGroup(o *store.Op, cluster, vpcID string) string {
	id := store.NewID("sg")
	ec2.SecurityGroups.In(o)[id] = &ec2.SecurityGroup{
		Name: fmt.Sprintf("eks-cluster-sg-%s-%d", cluster, o.Now.Unix()),
		Description: "EKS created security group applied to ENI that is attached to EKS Control " +
			"Plane master nodes, as well as any managed workloads.",
		VpcID: vpcID, MadeBy: "eks:" + cluster,
		OwnerID: o.AccountID, ARN: o.ARN("ec2", "security-group/"+id),
		Ingress: []ec2.GroupRule{{Protocol: "-1", Self: true}},
		Egress: []ec2.GroupRule{
			{Protocol: "-1", CidrBlocks: []string{ec2.AnyIPv4}},
			{Protocol: "-1", Self: true},
		},
	}
	return id
}

// createClusterInterfaces creates the control plane's interfaces in the subnets. Subnets and groups
// can only be deleted after the cluster.
// Source: EKS user guide, "Subnet requirements": 2 to 4 interfaces.
func createClusterInterfaces(o *store.Op, in *Cluster) error {
	groups := append(
		[]string{in.VpcConfig.ClusterSecurityGroupID},
		in.VpcConfig.SecurityGroupIDs...)
	for _, subnetID := range in.VpcConfig.SubnetIDs {
		address, err := ec2.NextAddress(o, subnetID)
		if err != nil {
			return err
		}
		ec2.Interfaces.In(o)[store.NewID("eni")] = &ec2.NetworkInterface{
			SubnetID: subnetID, SecurityGroups: groups, Owner: "eks:" + in.Name,
			InterfaceType: "interface", PrivateIP: address,
		}
	}
	return nil
}

// invalidParameter returns EKS's most common error.
func invalidParameter(format string, args ...any) *api.Error {
	return api.Errorf("InvalidParameterException", format, args...)
}
