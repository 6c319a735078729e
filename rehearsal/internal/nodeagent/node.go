package nodeagent

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeObject is the node as its kubelet registers it.
func nodeObject(spec Spec) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:           spec.Name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelInstanceTypeStable: spec.InstanceType,
		corev1.LabelTopologyRegion:     spec.Region,
		corev1.LabelTopologyZone:       spec.Zone,
	}
	maps.Copy(labels, spec.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: spec.ProviderID, Taints: spec.Taints},
	}
}

// nodeStatus is what the kubelet reports. Devices come from running plugins.
func nodeStatus(c Config, port int32, devices corev1.ResourceList, lost map[corev1.ResourceName]bool, started, now time.Time) corev1.NodeStatus {
	spec := c.Spec
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              spec.CPU,
		corev1.ResourceMemory:           spec.Memory,
		corev1.ResourcePods:             spec.Pods,
		corev1.ResourceEphemeralStorage: resource.MustParse("80Gi"),
	}
	allocatable := maps.Clone(capacity)
	allocatable[corev1.ResourceCPU], allocatable[corev1.ResourceMemory] = spec.AllocatableCPU, spec.AllocatableMemory
	for name, quantity := range devices {
		capacity[name], allocatable[name] = quantity, quantity
		if lost[name] {
			// The plugin is gone: its devices are known, but not to be had.
			allocatable[name] = *resource.NewQuantity(0, resource.DecimalSI)
		}
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: allocatable,
		Conditions:  nodeConditions(started, now),
		Addresses: []corev1.NodeAddress{
			// The API server reaches the kubelet here; the address that other
			// pods know is the VPC's, which only pods can reach.
			{Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
			{Type: corev1.NodeHostName, Address: spec.Name},
			{Type: corev1.NodeInternalDNS, Address: spec.Name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               strings.ReplaceAll(spec.ProviderID, "/", "-"),
			SystemUUID:              spec.ProviderID,
			BootID:                  fmt.Sprintf("%s-%d", spec.Name, started.Unix()),
			KernelVersion:           "rehearsed",
			OSImage:                 "Rehearsed machine (local processes)",
			ContainerRuntimeVersion: "rehearsal://1",
			KubeletVersion:          c.KubeletVersion,
			OperatingSystem:         "linux",
			Architecture:            "amd64",
		},
	}
}

func nodeConditions(started, now time.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(started),
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// addressFromName reads the address out of a private DNS name of EC2,
// ip-10-0-1-23.us-east-2.compute.internal; any other name gives the zero value.
func addressFromName(name string) netip.Addr {
	match := regexp.MustCompile(`^ip-(\d+)-(\d+)-(\d+)-(\d+)(\.|$)`).FindStringSubmatch(name)
	if match == nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(strings.Join(match[1:5], "."))
	if err != nil {
		return netip.Addr{}
	}
	return address
}
