package nodeagent

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fieldSource answers the downward API for one pod.
type fieldSource struct {
	pod         *corev1.Pod
	podIP       string
	hostIP      string
	allocatable corev1.ResourceList
}

// field gives the value of a fieldRef's path.
func (f fieldSource) field(path string) (string, error) {
	if key, ok := subscript(path, "metadata.labels"); ok {
		return f.pod.Labels[key], nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return f.pod.Annotations[key], nil
	}
	switch path {
	case "metadata.name":
		return f.pod.Name, nil
	case "metadata.namespace":
		return f.pod.Namespace, nil
	case "metadata.uid":
		return string(f.pod.UID), nil
	case "metadata.labels":
		return formatMap(f.pod.Labels), nil
	case "metadata.annotations":
		return formatMap(f.pod.Annotations), nil
	case "spec.nodeName":
		return f.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return f.pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return f.podIP, nil
	case "status.hostIP", "status.hostIPs":
		return f.hostIP, nil
	}
	return "", fmt.Errorf("field path %q: not one that the downward API gives", path)
}

func subscript(path, of string) (string, bool) {
	rest, ok := strings.CutPrefix(path, of+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// formatMap writes one key="escaped value" per line, sorted, as the downward
// API does for all labels or annotations.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, m[key]))
	}
	return strings.Join(lines, "\n")
}

// resource gives the value of a resourceFieldRef. A container without a limit
// is told what the node has, and values are rounded up to whole divisors.
func (f fieldSource) resource(ref *corev1.ResourceFieldSelector, container string) (string, error) {
	if ref.ContainerName != "" {
		container = ref.ContainerName
	}
	for _, c := range slices.Concat(f.pod.Spec.InitContainers, f.pod.Spec.Containers) {
		if c.Name == container {
			return f.containerResource(ref, c)
		}
	}
	return "", fmt.Errorf("container %q not found in pod %q", container, f.pod.Name)
}

func (f fieldSource) containerResource(ref *corev1.ResourceFieldSelector, c corev1.Container) (string, error) {
	kind, name, _ := strings.Cut(ref.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = c.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		var set bool
		if quantity, set = c.Resources.Limits[corev1.ResourceName(name)]; !set {
			quantity = f.allocatable[corev1.ResourceName(name)]
		}
	default:
		return "", fmt.Errorf("resource %q: want requests.NAME or limits.NAME", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return strconv.FormatInt(int64(math.Ceil(float64(quantity.MilliValue())/float64(divisor.MilliValue()))), 10), nil
	}
	return strconv.FormatInt(int64(math.Ceil(float64(quantity.Value())/float64(divisor.Value()))), 10), nil
}
