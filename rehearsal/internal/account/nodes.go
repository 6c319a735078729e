package account

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/fabric"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// nodesOf lists the nodes that a cluster should have, in order of their instances' ids.
func (o *op) nodesOf(cluster string) []NodeSpec {
	var nodes []NodeSpec
	for _, id := range o.Instances.sorted() {
		found := o.Instances[id]
		group, ok := o.NodeGroups[cluster+":"+found.NodeGroup]
		if ok && found.Cluster == cluster && found.Joined {
			nodes = append(nodes, o.nodeSpec(id, found, group))
		}
	}
	return nodes
}

func (o *op) nodeSpec(id string, found *instance, group *resource.NodeGroup) NodeSpec {
	t, _ := typeNamed(found.Type)
	name := "ip-" + dashed(found.PrivateIP) + "." + o.Region + ".compute.internal"
	memory, allocatable := t.memory()
	facts := o.fabricOf(id, name, found)
	spec := NodeSpec{
		Name: name, InstanceID: id, ProviderID: "aws:///" + found.Zone + "/" + id,
		NodeGroup: group.NodeGroupName, InstanceType: found.Type, Region: o.Region, Zone: found.Zone, PrivateIP: found.PrivateIP,
		Labels:    o.nodeLabels(name, found, group),
		CPUMillis: t.VCPU * 1000, AllocatableCPUMillis: t.allocatableCPU(),
		MemoryMiB: memory, AllocatableMemoryMiB: allocatable, MaxPods: t.maxPods(),
		GPUs: facts.GPUs, EFAInterfaces: facts.EFAInterfaces, Fabric: facts,
	}
	for _, taint := range group.Taints {
		// The effect was checked when the group was made.
		effect, err := kubernetesEffect(taint.Effect)
		if err == nil {
			spec.Taints = append(spec.Taints, Taint{Key: taint.Key, Value: taint.Value, Effect: effect})
		}
	}
	return spec
}

// nodeLabels are the group's labels and those of EKS, the kubelet and the cloud provider.
// Source: labels of managed nodes in the EKS user guide and Kubernetes's well-known labels.
func (o *op) nodeLabels(name string, found *instance, group *resource.NodeGroup) map[string]string {
	zoneID := ""
	if z, err := o.pickZone(found.Zone, ""); err == nil {
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
		// The image's id follows from the release, so that it is the same on each node.
		"eks.amazonaws.com/nodegroup-image": "ami-" + stableHex(found.AmiType+found.Release, 17),
	}
	if found.TemplateID != "" {
		labels["eks.amazonaws.com/sourceLaunchTemplateId"] = found.TemplateID
		labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = strconv.Itoa(found.TemplateVersion)
	}
	for key, value := range group.Labels {
		labels[key] = value
	}
	return labels
}

// fabricOf gathers what decides whether a node's NCCL rides EFA.
func (o *op) fabricOf(id, name string, found *instance) fabric.Fabric {
	t, _ := typeNamed(found.Type)
	facts := fabric.Fabric{
		Rehearsed: true, Node: name, InstanceID: id, InstanceType: found.Type, Zone: found.Zone,
		SubnetID: found.SubnetID, VPCID: found.VpcID, PrivateIP: found.PrivateIP,
		PlacementGroup: found.Placement, DeviceBroken: found.DeviceBroken,
		SecurityGroups: []fabric.SecurityGroup{},
	}
	if group := o.placementNamed(found.Placement); group != nil {
		facts.PlacementStrategy = group.Strategy
	}
	// Only the NVIDIA variants carry the driver.
	// Source: EKS user guide, "Use EKS-optimized accelerated AMIs for GPU instances".
	if hasDriver(found.AmiType) {
		facts.GPUs, facts.DriverVersion = t.GPU.Count, nvidiaDriver
	}
	groups := o.primaryGroups(found)
	for _, interfaceID := range found.Interfaces {
		nic := o.Interfaces[interfaceID]
		if nic.InterfaceType == "efa" || nic.InterfaceType == "efa-only" {
			if facts.EFAInterfaces == 0 {
				groups = nil
			}
			facts.EFAInterfaces++
			groups = union(groups, nic.SecurityGroups)
		}
	}
	for _, groupID := range groups {
		ingress, egress := o.self(groupID)
		sg := fabric.SecurityGroup{ID: groupID, SelfIngress: ingress, SelfEgress: egress}
		if group, ok := o.SecurityGroups[groupID]; ok {
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
	case "AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA":
		return true
	default:
		return false
	}
}

// union adds to a what b has more.
func union(a, b []string) []string {
	for _, one := range b {
		if !slices.Contains(a, one) {
			a = append(a, one)
		}
	}
	return a
}

// stableHex returns n hexadecimal digits that depend on a text only.
func stableHex(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}
