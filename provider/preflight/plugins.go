package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// kind is one of the two device plugins.
type kind string

const (
	nvidiaPlugin kind = "nvidia"
	efaPlugin    kind = "efa"
)

// of tells whether a pod spec is the plugin's. The charts' own names are
// settings, so any name in it may tell.
func (k kind) of(name string, spec *corev1.PodSpec) bool {
	text := name
	for _, container := range spec.Containers {
		text += " " + container.Image
	}
	return strings.Contains(text, string(k)) && strings.Contains(text, "plugin")
}

// absence says why a plugin has no pod on a node: what a DaemonSet that cannot
// have one there never says itself. It is empty while a pod is on its way.
func absence(k kind, sets []appsv1.DaemonSet, node *corev1.Node) string {
	reason := "there is no DaemonSet of it: its chart is not installed"
	for i := range sets {
		set := &sets[i]
		spec := &set.Spec.Template.Spec
		if !k.of(set.Name, spec) {
			continue
		}
		mismatch := refuses(spec, node)
		if mismatch == "" {
			return ""
		}
		reason = fmt.Sprintf("its DaemonSet %s/%s %s", set.Namespace, set.Name, mismatch)
	}
	return reason
}

// refuses says why pods of a DaemonSet do not go to a node; empty when they do.
func refuses(spec *corev1.PodSpec, node *corev1.Node) string {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if want, have := spec.NodeSelector[key], node.Labels[key]; have != want {
			return fmt.Sprintf("selects the label %s=%s, and the node has %s", key, want, labelOf(node, key))
		}
	}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(node)
	if err != nil || !fits {
		return "wants " + affinity(spec) + ", and the node has none of that"
	}
	taint, found := schedule.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, spec.Tolerations, keepsAway, false)
	if found {
		return fmt.Sprintf("lacks a toleration of the node's taint %s=%s:%s", taint.Key, taint.Value, taint.Effect)
	}
	return ""
}

// keepsAway is true of taints that a DaemonSet's pod must tolerate by itself;
// the controller adds tolerations of Kubernetes' own, which come and go.
func keepsAway(taint *corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule && !strings.HasPrefix(taint.Key, "node.kubernetes.io/")
}

func labelOf(node *corev1.Node, key string) string {
	if have, ok := node.Labels[key]; ok {
		return key + "=" + have
	}
	return "no such label"
}

// affinity writes the required node affinity in one line.
func affinity(spec *corev1.PodSpec) string {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return "no label"
	}
	var terms []string
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var parts []string
		for _, expression := range term.MatchExpressions {
			parts = append(parts, requirement(expression))
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return "a label " + strings.Join(terms, ", or ")
}

func requirement(r corev1.NodeSelectorRequirement) string {
	if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
		return r.Key + "=" + r.Values[0]
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, "|")))
}
