package preflight_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// nvidiaSet is NVIDIA's DaemonSet as its chart makes it, with our settings.
func nvidiaSet() *appsv1.DaemonSet {
	term := func(key, value string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
		}}
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "nvidia-device-plugin", Namespace: "kube-system"}}
	set.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{"role": "gpu-worker"},
		Tolerations:  []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				term("feature.node.kubernetes.io/pci-10de.present", "true"), term("nvidia.com/gpu.present", "true"),
			}},
		}},
	}
	return set
}

func TestAbsentPluginIsExplained(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		harm func(*corev1.Node, *appsv1.DaemonSet)
		want string
	}{
		{"nothing is amiss", func(*corev1.Node, *appsv1.DaemonSet) {}, ""},
		{"the label is missing", func(n *corev1.Node, _ *appsv1.DaemonSet) { delete(n.Labels, "nvidia.com/gpu.present") },
			"its DaemonSet kube-system/nvidia-device-plugin requires a label feature.node.kubernetes.io/pci-10de.present=true, " +
				"or nvidia.com/gpu.present=true, which the node does not have"},
		{"the toleration is missing", func(_ *corev1.Node, d *appsv1.DaemonSet) { d.Spec.Template.Spec.Tolerations = nil },
			"its DaemonSet kube-system/nvidia-device-plugin lacks a toleration of the node's taint nvidia.com/gpu=present:NoSchedule"},
		{"the selector means other nodes", func(_ *corev1.Node, d *appsv1.DaemonSet) { d.Spec.Template.Spec.NodeSelector["role"] = "system" },
			"its DaemonSet kube-system/nvidia-device-plugin selects nodes with role=system, and the node has role=gpu-worker"},
		{"the chart does not list the type", func(_ *corev1.Node, d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].
				MatchExpressions = []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"p5.48xlarge", "p4d.24xlarge"},
			}}
			d.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[1].
				MatchExpressions[0].Key = "other"
		}, "its DaemonSet kube-system/nvidia-device-plugin does not list the node's type g6.12xlarge"},
		{"the node is cordoned for a moment", func(n *corev1.Node, _ *appsv1.DaemonSet) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule})
		}, ""},
		{"another chart", func(_ *corev1.Node, d *appsv1.DaemonSet) { d.Name = "aws-node" },
			"it has no DaemonSet: its chart is not installed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			machine, set := node("n1", 1), nvidiaSet()
			machine.Labels["role"], machine.Labels["nvidia.com/gpu.present"] = "gpu-worker", "true"
			machine.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
			test.harm(machine, set)
			client := rayapi.New(rayapi.Options{
				Transport: http.DefaultTransport, BaseURL: "http://127.0.0.1:0",
				Sleep: func(context.Context, time.Duration) error { return nil },
			})
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wanted().Namespace}}
			facts, err := preflight.Gather(t.Context(), fake.NewClientset(namespace, machine, set), client, wanted())
			require.NoError(t, err)
			assert.Equal(t, test.want, facts.Nodes[0].GPUPlugin.Absent)
			assert.Equal(t, strings.Contains(test.want, "list the node's type"), facts.Nodes[0].GPUPlugin.UnlistedType)
		})
	}
}
