package eks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// nodesOf lists the nodes that a cluster should have, in order of their instances' ids.
func nodesOf(o *store.Op, cluster string) []api.NodeSpec {
	var nodes []api.NodeSpec
	for _, id := range ec2.Instances.In(o).IDs() {
		found := ec2.Instances.In(o)[id]
		group, ok := NodeGroups.In(o)[cluster+":"+found.NodeGroup]
		if ok && found.Cluster == cluster && found.Joined {
			nodes = append(nodes, nodeSpec(o, id, found, group))
		}
	}
	return nodes
}

func nodeSpec(o *store.Op, id string, found *ec2.Instance, group *NodeGroup) api.NodeSpec {
	t, _ := ec2.FindInstanceType(found.Type)
	name := "ip-" + store.Dashed(found.PrivateIP) + "." + o.Region + ".compute.internal"
	memory, allocatable := t.Memory()
	facts := networkFacts(o, id, name, found)
	spec := api.NodeSpec{
		Name: name, InstanceID: id, ProviderID: "aws:///" + found.Zone + "/" + id,
		NodeGroup: group.NodeGroupName, InstanceType: found.Type, Region: o.Region,
		Zone: found.Zone, PrivateIP: found.PrivateIP,
		Labels:    nodeLabels(o, name, found, group),
		CPUMillis: t.VCPU * 1000, AllocatableCPUMillis: t.AllocatableCPU(),
		MemoryMiB: memory, AllocatableMemoryMiB: allocatable, MaxPods: t.MaxPods(),
		GPUs: facts.GPUs, EFAInterfaces: facts.EFAInterfaces, Facts: facts,
	}
	for _, taint := range group.Taints {
		// The effect was checked when the group was created.
		effect, err := kubernetesEffect(taint.Effect)
		if err == nil {
			spec.Taints = append(spec.Taints,
				api.Taint{Key: taint.Key, Value: taint.Value, Effect: effect})
		}
	}
	return spec
}

// nodeLabels are the group's labels and those of EKS, the kubelet and the cloud provider.
// Source: labels of managed nodes in the EKS user guide and Kubernetes's well-known labels.
func nodeLabels(o *store.Op, name string, found *ec2.Instance, group *NodeGroup) map[string]string {
	zoneID := ""
	if z, err := ec2.PickZone(o, found.Zone, ""); err == nil {
		zoneID = z.ID
	}
	labels := map[string]string{
		"kubernetes.io/arch":               "amd64",
		"kubernetes.io/os":                 "linux",
		"beta.kubernetes.io/arch":          "amd64",
		"beta.kubernetes.io/os":            "linux",
		"beta.kubernetes.io/instance-type": found.Type,
		"kubernetes.io/hostname":           name,
		"node.kubernetes.io/instance-type": found.Type,
		"topology.kubernetes.io/region":    o.Region,
		"topology.kubernetes.io/zone":      found.Zone,
		"topology.k8s.aws/zone-id":         zoneID,
		"eks.amazonaws.com/nodegroup":      group.NodeGroupName,
		"eks.amazonaws.com/capacityType":   group.CapacityType,
		// The image id is derived from the release.
		"eks.amazonaws.com/nodegroup-image": "ami-" + store.StableHex(found.AmiType+found.Release,
			17),
	}
	if found.TemplateID != "" {
		labels["eks.amazonaws.com/sourceLaunchTemplateId"] = found.TemplateID
		labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = strconv.Itoa(
			found.TemplateVersion)
	}
	for key, value := range group.Labels {
		labels[key] = value
	}
	return labels
}

// networkFacts returns what decides whether NCCL can use EFA on a node.
func networkFacts(o *store.Op, id, name string, found *ec2.Instance) nodefacts.Facts {
	t, _ := ec2.FindInstanceType(found.Type)
	facts := nodefacts.Facts{
		Rehearsed: true, Node: name, InstanceID: id, InstanceType: found.Type, Zone: found.Zone,
		SubnetID: found.SubnetID, VPCID: found.VpcID, PrivateIP: found.PrivateIP,
		PlacementGroup: found.Placement, DeviceBroken: found.DeviceBroken,
		SecurityGroups: []nodefacts.SecurityGroup{},
	}
	if group := ec2.PlacementNamed(o, found.Placement); group != nil {
		facts.PlacementStrategy = group.Strategy
	}
	// Only the NVIDIA variants carry the driver.
	// Source: EKS user guide, "Use EKS-optimized accelerated AMIs for GPU instances".
	if hasDriver(found.AmiType) {
		facts.GPUs, facts.DriverVersion = t.GPU.Count, nvidiaDriver
	}
	groups := ec2.PrimaryGroups(o, found)
	for _, interfaceID := range found.Interfaces {
		nic := ec2.Interfaces.In(o)[interfaceID]
		if nic.InterfaceType == "efa" || nic.InterfaceType == "efa-only" {
			if facts.EFAInterfaces == 0 {
				groups = nil
			}
			facts.EFAInterfaces++
			groups = union(groups, nic.SecurityGroups)
		}
	}
	for _, groupID := range groups {
		ingress, egress := ec2.AllowsSelf(o, groupID)
		sg := nodefacts.SecurityGroup{ID: groupID, SelfIngress: ingress, SelfEgress: egress}
		if group, ok := ec2.SecurityGroups.In(o)[groupID]; ok {
			sg.Name = group.Name
		}
		facts.SecurityGroups = append(facts.SecurityGroups, sg)
	}
	return facts
}

// nvidiaDriver is the driver of the NVIDIA variants' AMIs. Source of the branch: the EKS AMIs'
// release notes of 2026 (580.x); the patch is the rehearsal's own.
const nvidiaDriver = "580.95.05"

func hasDriver(amiType string) bool {
	switch amiType {
	case "AL2023_x86_64_NVIDIA",
		"AL2023_ARM_64_NVIDIA",
		"BOTTLEROCKET_x86_64_NVIDIA",
		"BOTTLEROCKET_ARM_64_NVIDIA":
		return true
	default:
		return false
	}
}

// union returns the elements of a, then those that only b has.
func union(a, b []string) []string {
	for _, one := range b {
		if !slices.Contains(a, one) {
			a = append(a, one)
		}
	}
	return a
}

// logGroupOf is the log group of a cluster's control plane.
// Source: EKS user guide, "Send control plane logs to CloudWatch Logs".
func logGroupOf(cluster string) string { return "/aws/eks/" + cluster + "/cluster" }

// writeLogs creates the log group of a control plane if it is missing, without retention, as EKS
// does. Such a group outlives the cluster.
func writeLogs(o *store.Op, id string, cluster *Cluster) {
	group := logGroupOf(id)
	if _, exists := logs.LogGroups.In(o)[group]; exists ||
		len(cluster.EnabledClusterLogTypes) == 0 {
		return
	}
	logs.LogGroups.In(o)[group] = &logs.LogGroup{
		Name: group, LogGroupClass: "STANDARD", MadeBy: id, ARN: o.ARN("logs", "log-group:"+group),
	}
}

// checkLogTypes checks the names of the control plane's logs.
// Source: EKS API, LogSetup.
func checkLogTypes(types []string) error {
	valid := []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}
	for _, one := range types {
		if !slices.Contains(valid, one) {
			return invalidParameter("expected enabledClusterLogTypes to be of %s, got %s",
				strings.Join(valid, ", "), one)
		}
	}
	return nil
}
