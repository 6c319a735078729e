package eks

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// NodeGroups is the token of NodeGroup.
const NodeGroups store.Token[NodeGroup] = "aws:eks/nodeGroup:NodeGroup"

func nodeGroupType() store.Type[NodeGroup] {
	return store.Type[NodeGroup]{
		Service:   "EKS",
		CreateAPI: "CreateNodegroup", UpdateAPI: "UpdateNodegroupConfig",
		DeleteAPI:     "DeleteNodegroup",
		CreateSeconds: 150, // EKS user guide: a few minutes
		UpdateSeconds: 60,  // EKS user guide: scaling takes about as long as a boot
		DeleteSeconds: 240, // EKS user guide: drains, then terminates
		Token:         NodeGroups,
		Blocks:        func(row *NodeGroup) string { return row.NodeRoleARN },
		Item:          store.HoldsName[NodeGroup],
		Create:        createNodeGroup,
		Update:        updateNodeGroup,
		Delete: func(_ *store.Op, _ string, gone *NodeGroup) error {
			gone.Status = StatusDeleting
			return nil
		},
		FinishCreate: func(ctx context.Context, a *store.Store, id string) error {
			return finishNodeGroup(ctx, a, id)
		},
		FinishUpdate: func(ctx context.Context, a *store.Store, id string, old NodeGroup) error {
			return finishNodeGroupUpdate(ctx, a, id, old)
		},
		FinishDelete: func(ctx context.Context, a *store.Store, id string) error {
			return finishNodeGroupDelete(ctx, a, id)
		},
	}
}

func createNodeGroup(o *store.Op, in *NodeGroup) (string, error) {
	cluster, err := activeCluster(o, in.ClusterName)
	if err != nil {
		return "", err
	}
	in.NodeGroupName = store.Named(in.NodeGroupName, in.NodeGroupNamePrefix)
	id := in.ClusterName + ":" + in.NodeGroupName
	if _, taken := NodeGroups.In(o)[id]; taken {
		return "", api.Errorf("ResourceInUseException",
			"NodeGroup already exists with name %s and cluster name %s", in.NodeGroupName,
			in.ClusterName).WithStatus(
			409,
		)
	}
	if err := checkNodeRole(o, in.NodeRoleARN); err != nil {
		return "", err
	}
	if err := checkNodeSubnets(o, in, cluster); err != nil {
		return "", err
	}
	if err := checkNodeGroup(o, in, cluster); err != nil {
		return "", err
	}
	completeNodeGroup(o, in, cluster)
	return id, nil
}

// checkNodeRole checks that EC2 may assume a role and that it has the worker policies.
// Source: EKS's InvalidParameterException on CreateNodegroup; EKS user guide, "Amazon
// EKS node IAM role". The CNI policy is not checked here: without it, nodes stay NotReady.
func checkNodeRole(o *store.Op, arn string) error {
	role, ok := iam.RoleByARN(o, arn)
	if !ok {
		return invalidParameter(
			"The role with name %s cannot be found. (Service: AmazonIdentityManagement; Error "+
				"Code: NoSuchEntity)",
			arn)
	}
	if !iam.Trusts(role, "ec2.amazonaws.com") {
		return invalidParameter(
			"Following required service principals [ec2.amazonaws.com] were not found in the "+
				"trust relationships of nodeRole %s",
			arn)
	}
	has := iam.PoliciesOf(o, role)
	worker := []string{
		iam.ManagedPolicy + "AmazonEKSWorkerNodePolicy",
		iam.ManagedPolicy + "AmazonEKSWorkerNodeMinimalPolicy",
	}
	registry := []string{
		iam.ManagedPolicy + "AmazonEC2ContainerRegistryReadOnly",
		iam.ManagedPolicy + "AmazonEC2ContainerRegistryPullOnly",
	}
	for _, need := range [][]string{worker, registry} {
		if !ec2.Intersect(has, need) {
			return invalidParameter(
				"The provided role doesn't have the Amazon EKS Managed Policies associated with "+
					"it. Please ensure the following policies [%s] are attached",
				need[0])
		}
	}
	return nil
}

func checkNodeSubnets(o *store.Op, in *NodeGroup, cluster *Cluster) error {
	if len(in.SubnetIDs) == 0 {
		return invalidParameter("Subnets must not be empty.")
	}
	for _, id := range in.SubnetIDs {
		subnet, ok := ec2.Subnets.In(o)[id]
		if !ok {
			return invalidParameter("The subnet ID '%s' does not exist", id)
		}
		if subnet.VpcID != cluster.VpcConfig.VpcID {
			return invalidParameter("Subnet %s does not belong to the cluster's VPC %s.", id,
				cluster.VpcConfig.VpcID)
		}
	}
	return nil
}

// checkNodeGroup validates a new or changed node group.
func checkNodeGroup(o *store.Op, in *NodeGroup, cluster *Cluster) error {
	if err := checkScaling(in); err != nil {
		return err
	}
	if err := checkLabelsAndTaints(in); err != nil {
		return err
	}
	if err := checkUpdateConfig(in.UpdateConfig); err != nil {
		return err
	}
	if err := checkAMI(in, cluster); err != nil {
		return err
	}
	types := in.InstanceTypes
	if in.LaunchTemplate != nil {
		version, err := templateVersion(o, in.LaunchTemplate)
		if err != nil {
			return err
		}
		data := version.LaunchTemplateData
		if err := checkTemplateForEKS(data, in); err != nil {
			return err
		}
		if data.InstanceType != "" {
			types = []string{data.InstanceType}
		}
		for _, name := range typesOrDefault(types) {
			if t, ok := ec2.FindInstanceType(name); ok {
				if err := ec2.CheckTemplateForEC2(o, data, t); err != nil {
					return err
				}
			}
		}
	}
	return checkTypes(typesOrDefault(types), in.AmiType)
}

// Source: EKS API, NodegroupScalingConfig, and EKS's responses to CreateNodegroup.
func checkScaling(in *NodeGroup) error {
	s := in.ScalingConfig
	switch {
	case s.MinSize < 0 || s.MaxSize < 1:
		return invalidParameter("minSize must be 0 or more and maxSize 1 or more, got %d and %d",
			s.MinSize, s.MaxSize)
	case s.MinSize > s.DesiredSize:
		return invalidParameter("Minimum capacity %d can't be greater than desired size %d",
			s.MinSize, s.DesiredSize)
	case s.DesiredSize > s.MaxSize:
		return invalidParameter("desired capacity %d can't be greater than max size %d",
			s.DesiredSize, s.MaxSize)
	case in.CapacityType != "" &&
		!slices.Contains([]string{"ON_DEMAND", "SPOT", "CAPACITY_BLOCK"}, in.CapacityType):
		return invalidParameter(
			"expected capacityType to be one of [ON_DEMAND SPOT CAPACITY_BLOCK], got %s",
			in.CapacityType)
	}
	return nil
}

// typesOrDefault is what EKS launches. Source: EKS API, CreateNodegroup: t3.medium.
func typesOrDefault(types []string) []string {
	if len(types) == 0 {
		return []string{"t3.medium"}
	}
	return types
}

// checkTypes checks that types exist and that the AMI fits them.
// Source: EKS's InvalidParameterException on CreateNodegroup.
func checkTypes(types []string, amiType string) error {
	for _, name := range types {
		t, ok := ec2.FindInstanceType(name)
		if !ok {
			return invalidParameter("The following supplied instance types do not exist: [%s]",
				name)
		}
		wrongArch := strings.Contains(amiType, "ARM_64")
		needsGPU := strings.Contains(amiType, "NVIDIA") || strings.HasSuffix(amiType, "_GPU")
		if wrongArch || needsGPU && t.GPU.Count == 0 || strings.Contains(amiType, "NEURON") {
			return invalidParameter("[%s] is not a valid instance type for requested amiType %s",
				name, amiType)
		}
	}
	return nil
}

// checkAMI checks AMI type, version and release.
// Sources: EKS API, Nodegroup.amiType; EKS user guide: Amazon Linux 2 ends with 1.32.
func checkAMI(in *NodeGroup, cluster *Cluster) error {
	valid := []string{
		"AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD", "AL2023_x86_64_NEURON", "AL2023_x86_64_NVIDIA",
		"AL2023_ARM_64_NVIDIA", "BOTTLEROCKET_x86_64", "BOTTLEROCKET_ARM_64", "BOTTLEROCKET_x86_64_NVIDIA",
		"BOTTLEROCKET_ARM_64_NVIDIA", "CUSTOM",
	}
	if in.AmiType != "" && !slices.Contains(valid, in.AmiType) {
		if strings.HasPrefix(in.AmiType, "AL2_") {
			return invalidParameter(
				"Requested Nodegroup amiType %s is not supported for kubernetes version %s",
				in.AmiType, cluster.Version)
		}
		return invalidParameter("expected amiType to be one of [%s], got %s",
			strings.Join(valid, " "), in.AmiType)
	}
	minor := in.Version
	if minor == "" {
		minor = cluster.Version
	}
	version, ok := findVersion(minor)
	if !ok || minor > cluster.Version {
		// Source: EKS user guide, "Kubernetes version skew": nodes are never newer.
		return invalidParameter(
			"Requested Nodegroup kubernetes version %s is not supported with cluster version %s",
			minor, cluster.Version)
	}
	if in.ReleaseVersion != "" && !version.releaseExists(in.ReleaseVersion) {
		return invalidParameter(
			"Requested release version %s is not valid for kubernetes version %s. (rehearsal: "+
				"the newest is %s)",
			in.ReleaseVersion, minor, version.latestRelease())
	}
	return nil
}

// checkLabelsAndTaints refuses labels and taints that EKS reserves.
// Source: EKS API, CreateNodegroup, labels and taints.
func checkLabelsAndTaints(in *NodeGroup) error {
	for key := range in.Labels {
		domain, _, found := strings.Cut(key, "/")
		for _, reserved := range []string{"kubernetes.io", "k8s.io", "eks.amazonaws.com"} {
			if found && (domain == reserved || strings.HasSuffix(domain, "."+reserved)) &&
				domain != "node.kubernetes.io" {
				return invalidParameter(
					"Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, "+
						"eks.amazonaws.com/], got %q",
					key)
			}
		}
	}
	for _, taint := range in.Taints {
		if _, err := kubernetesEffect(taint.Effect); err != nil {
			return err
		}
	}
	return nil
}

func checkUpdateConfig(config *UpdateConfig) error {
	if config == nil {
		return nil
	}
	if config.MaxUnavailable > 0 && config.MaxUnavailablePercentage > 0 {
		return invalidParameter("maxUnavailable and maxUnavailablePercentage cannot both be set.")
	}
	if config.MaxUnavailable > 100 || config.MaxUnavailablePercentage > 100 {
		return invalidParameter("maxUnavailable must be between 1 and 100.")
	}
	return nil
}

// kubernetesEffect turns EKS's spelling of a taint's effect into Kubernetes's.
func kubernetesEffect(effect string) (string, error) {
	switch effect {
	case "NO_SCHEDULE":
		return "NoSchedule", nil
	case "NO_EXECUTE":
		return "NoExecute", nil
	case "PREFER_NO_SCHEDULE":
		return "PreferNoSchedule", nil
	default:
		return "", invalidParameter(
			"expected taint effect to be one of [NO_SCHEDULE NO_EXECUTE PREFER_NO_SCHEDULE], got "+
				"%s",
			effect)
	}
}

// completeNodeGroup sets the properties that EKS chooses.
func completeNodeGroup(o *store.Op, in *NodeGroup, cluster *Cluster) {
	if in.Version == "" {
		in.Version = cluster.Version
	}
	if in.AmiType == "" {
		// Source: EKS user guide: AL2023 standard since 1.30, also on GPU types.
		in.AmiType = "AL2023_x86_64_STANDARD"
	}
	if version, ok := findVersion(in.Version); ok && in.ReleaseVersion == "" {
		in.ReleaseVersion = version.latestRelease()
	}
	if in.CapacityType == "" {
		in.CapacityType = "ON_DEMAND"
	}
	if in.LaunchTemplate == nil {
		in.InstanceTypes = typesOrDefault(in.InstanceTypes)
		if in.DiskSize == 0 {
			in.DiskSize = 20
		}
	} else if found, err := templateVersion(o, in.LaunchTemplate); err == nil {
		in.LaunchTemplate.ID, in.LaunchTemplate.Name = found.ID, ec2.LaunchTemplates.In(o)[found.ID].Name
	}
	if in.UpdateConfig == nil {
		in.UpdateConfig = &UpdateConfig{MaxUnavailable: 1}
	}
	in.Status = StatusCreating
	uuid := store.NewUUID()
	in.ARN = o.ARN("eks", "nodegroup/"+in.ClusterName+"/"+in.NodeGroupName+"/"+uuid)
	in.Resources = []NodeGroupResource{
		{AutoscalingGroups: []AutoscalingGroup{{Name: "eks-" + in.NodeGroupName + "-" + uuid}}},
	}
	grantNodeAccess(o, in, cluster)
}

// grantNodeAccess adds an access entry for the node role, as EKS does for managed node groups.
// Source: EKS user guide, "Grant IAM users access with access entries".
func grantNodeAccess(o *store.Op, in *NodeGroup, cluster *Cluster) {
	id := EntryID(cluster.Name, in.NodeRoleARN)
	if _, there := AccessEntries.In(o)[id]; there ||
		cluster.AccessConfig.AuthenticationMode == modeConfigMap {
		return
	}
	entry := &AccessEntry{
		ClusterName:  cluster.Name,
		PrincipalARN: in.NodeRoleARN,
		Type:         "EC2_LINUX",
		MadeByEKS:    true,
	}
	completeEntry(o, entry)
	AccessEntries.In(o)[id] = entry
}

// sendsNoRequest reports whether an update would make no call to EKS, which then refuses nothing
// and fixes nothing, whatever state the group is in: pulumi-aws reports success.
// Source: terraform-provider-aws, resourceNodeGroupUpdate, which calls EKS only for a change
// of these; pulumi/pulumi#21458 describes the effect.
func sendsNoRequest(old, in *NodeGroup) bool {
	return old.Version == in.Version && old.ReleaseVersion == in.ReleaseVersion &&
		equalOptional(old.LaunchTemplate, in.LaunchTemplate) &&
		old.ScalingConfig == in.ScalingConfig && maps.Equal(old.Labels, in.Labels) &&
		slices.Equal(old.Taints, in.Taints) &&
		equalOptional(old.UpdateConfig,
			in.UpdateConfig) && equalOptional(old.NodeRepairConfig, in.NodeRepairConfig)
}

func equalOptional[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// updateNodeGroup checks what may change in place.
func updateNodeGroup(o *store.Op, id string, old, in *NodeGroup) error {
	if sendsNoRequest(old, in) {
		return nil
	}
	cluster, err := activeCluster(o, in.ClusterName)
	if err != nil {
		return err
	}
	// Source: EKS API, UpdateNodegroupConfig; EKS user guide: delete what failed.
	if old.Status != StatusActive {
		return api.Errorf("InvalidRequestException",
			"Nodegroup '%s' is in %s state and cannot be updated; delete it first: %s", id,
			old.Status, old.Issue)
	}
	templateChanged := old.LaunchTemplate != nil && in.LaunchTemplate != nil &&
		old.LaunchTemplate.Version != in.LaunchTemplate.Version
	if (old.LaunchTemplate == nil) != (in.LaunchTemplate == nil) {
		return invalidParameter(
			"You cannot add a launch template to a node group, or take it away; create a new " +
				"node group.")
	}
	// Source: containers-roadmap#1258: not both in one update. Wording ours.
	if templateChanged && in.Version != old.Version {
		return invalidParameter(
			"You cannot update the Kubernetes version and the launch template version in one " +
				"update.")
	}
	return checkNodeGroup(o, in, cluster)
}
