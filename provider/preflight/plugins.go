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

// owns reports whether a pod spec belongs to the plugin. It looks at all names in the spec, because
// charts can be replaced by settings.
func (k kind) owns(name string, spec *corev1.PodSpec) bool {
	text := name
	for _, container := range spec.Containers {
		text += " " + container.Image
	}
	return strings.Contains(text, string(k)) && strings.Contains(text, "plugin")
}

// absent returns a plugin that has no pod on a node, and why, which the status of a DaemonSet does not
// show. The reason is empty while a pod is starting.
func absent(k kind, sets []appsv1.DaemonSet, node *corev1.Node) Plugin {
	plugin := Plugin{Absent: "it has no DaemonSet: its chart is not installed"}
	for i := range sets {
		set := &sets[i]
		spec := &set.Spec.Template.Spec
		if !k.owns(set.Name, spec) {
			continue
		}
		cause := mismatch(spec, node)
		if cause == "" {
			return Plugin{}
		}
		plugin = Plugin{
			Absent:       fmt.Sprintf("its DaemonSet %s/%s %s", set.Namespace, set.Name, cause),
			UnlistedType: unlisted(spec, node) != "",
		}
	}
	return plugin
}

// mismatch returns why pods of a DaemonSet are not scheduled on a node; empty when they are.
func mismatch(spec *corev1.PodSpec, node *corev1.Node) string {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if want, have := spec.NodeSelector[key], node.Labels[key]; have != want {
			return fmt.Sprintf(
				"selects nodes with %s=%s, and the node has %s",
				key,
				want,
				labelOf(node, key),
			)
		}
	}
	if typ := unlisted(spec, node); typ != "" {
		return "does not list the node's type " + typ
	}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(node)
	if err != nil || !fits {
		return "requires " + affinity(spec) + ", which the node does not have"
	}
	taint, found := schedule.FindMatchingUntoleratedTaint(
		klog.Background(),
		node.Spec.Taints,
		spec.Tolerations,
		mustTolerate,
		false,
	)
	if found {
		return fmt.Sprintf(
			"lacks a toleration of the node's taint %s=%s:%s",
			taint.Key,
			taint.Value,
			taint.Effect,
		)
	}
	return ""
}

// unlisted returns the node's instance type if the pods of a DaemonSet run on listed types only and it
// is none of them, as with EKS's chart of the EFA plugin. The list itself has hundreds of types.
func unlisted(spec *corev1.PodSpec, node *corev1.Node) string {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	typ := node.Labels[corev1.LabelInstanceTypeStable]
	listed := false
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			if expression.Key != corev1.LabelInstanceTypeStable || expression.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			if slices.Contains(expression.Values, typ) {
				return ""
			}
			listed = true
		}
	}
	if !listed {
		return ""
	}
	return typ
}

// mustTolerate reports whether a DaemonSet's pod must tolerate a taint by itself. The controller adds
// tolerations of Kubernetes' own taints.
func mustTolerate(taint *corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
		!strings.HasPrefix(taint.Key, "node.kubernetes.io/")
}

func labelOf(node *corev1.Node, key string) string {
	if have, ok := node.Labels[key]; ok {
		return key + "=" + have
	}
	return "no such label"
}

// affinity returns the required node affinity as one line.
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
	return strings.TrimSpace(
		fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, "|")),
	)
}
