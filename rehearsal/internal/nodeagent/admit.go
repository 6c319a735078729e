package nodeagent

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// admit checks what the scheduler must have checked already, as a kubelet does:
// a pod can be bound to a node by hand, or when the node has changed meanwhile.
// It looks at CPU, memory and the number of pods; devices.allocate looks at
// devices.
func admit(pod *corev1.Pod, others []*corev1.Pod, allocatable corev1.ResourceList) *rejection {
	if limit := allocatable[corev1.ResourcePods]; int64(len(others)+1) > limit.Value() {
		return outOf(corev1.ResourcePods, 1, int64(len(others)), limit.Value())
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		wanted, used, limit := requested(pod, name), resource.Quantity{}, allocatable[name]
		for _, other := range others {
			used.Add(requested(other, name))
		}
		total := used.DeepCopy()
		total.Add(wanted)
		if wanted.IsZero() || total.Cmp(limit) <= 0 {
			continue
		}
		amount := (*resource.Quantity).Value
		if name == corev1.ResourceCPU {
			amount = (*resource.Quantity).MilliValue
		}
		return outOf(name, amount(&wanted), amount(&used), amount(&limit))
	}
	return nil
}

func outOf(name corev1.ResourceName, wanted, used, limit int64) *rejection {
	return &rejection{
		reason:  "OutOf" + string(name),
		message: fmt.Sprintf("Pod was rejected: Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, wanted, used, limit),
	}
}

// requested is what a pod asks for: its containers and sidecars together, or
// its greediest init container if that is more.
func requested(pod *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	var sum, most resource.Quantity
	for _, c := range pod.Spec.InitContainers {
		request := c.Resources.Requests[name]
		if isSidecar(&c) {
			sum.Add(request)
			continue
		}
		peak := sum.DeepCopy()
		peak.Add(request)
		if peak.Cmp(most) > 0 {
			most = peak
		}
	}
	for _, c := range pod.Spec.Containers {
		sum.Add(c.Resources.Requests[name])
	}
	if most.Cmp(sum) > 0 {
		return most
	}
	return sum
}

// deviceRequests lists the extended resources that a container asks for.
func deviceRequests(c *corev1.Container) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name, quantity := range c.Resources.Limits {
		if isExtended(name) && !quantity.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
