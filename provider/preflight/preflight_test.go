package preflight_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

const wantedDigest = "sha256:aaaa"

func wanted() preflight.Wanted {
	return preflight.Wanted{
		InstanceType: "g6.12xlarge", Nodes: 2, GPUsPerNode: 4, EFAPerNode: 1,
		ImageDigest: "repo@" + wantedDigest, Namespace: "ray", RayCluster: "train",
		Templates: preflight.Templates{"gpu": {"mark": "new"}},
	}
}

func healthy() preflight.Facts {
	node := func(name string) preflight.Node {
		return preflight.Node{
			Name: name, Ready: true, GPUs: 4, EFA: 1,
			EFAPlugin: preflight.Plugin{Pod: "kube-system/efa-" + name}, GPUPlugin: preflight.Plugin{Pod: "nvidia/gpu-" + name},
		}
	}
	pod := func(name string, head bool) preflight.Pod {
		return preflight.Pod{
			Name: name, Head: head, Node: "n", Ready: true, CPU: "44", EFA: 1, ImageID: "registry/other-name@" + wantedDigest,
		}
	}
	worker := func(id string) rayapi.Node {
		return rayapi.Node{ID: id, State: rayapi.Alive, Resources: map[string]float64{"GPU": 4}}
	}
	return preflight.Facts{
		Nodes: []preflight.Node{node("n1"), node("n2")},
		Pods:  []preflight.Pod{pod("head", true), pod("w1", false), pod("w2", false)},
		Ray:   []rayapi.Node{{ID: "h", State: rayapi.Alive, IsHead: true}, worker("1"), worker("2")},
	}
}

func codes(found []report.Finding) []string {
	list := []string{}
	for _, f := range found {
		list = append(list, f.Code)
	}
	return list
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		harm func(*preflight.Facts)
		want []string
		says string
	}{
		{"healthy", func(*preflight.Facts) {}, []string{}, ""},
		{
			"a pod of an older template",
			func(f *preflight.Facts) {
				f.Pods[1].Group, f.Pods[1].Annotations = "gpu", map[string]string{"mark": "old"}
			},
			[]string{"pod-outdated"}, "w1",
		},
		{"a pod without an image id", func(f *preflight.Facts) { f.Pods[2].ImageID = "" }, []string{"image-unknown"}, "w2"},
		{"a node is missing", func(f *preflight.Facts) { f.Nodes = f.Nodes[:1] }, []string{"gpu-nodes-missing"}, "1 of 2"},
		{"a node is not ready", func(f *preflight.Facts) { f.Nodes[1].Ready = false }, []string{"node-not-ready"}, "n2"},
		{
			"the EFA plugin has no pod on a node",
			func(f *preflight.Facts) {
				f.Nodes[0].EFA, f.Nodes[0].EFAPlugin = 0, preflight.Plugin{Absent: "its DaemonSet lacks a toleration"}
			},
			[]string{"efa-device-missing"}, "toleration",
		},
		{
			"the EFA plugin's pod is is starting",
			func(f *preflight.Facts) { f.Nodes[0].EFA, f.Nodes[0].EFAPlugin = 0, preflight.Plugin{} },
			[]string{"efa-device-missing"}, "is starting",
		},
		{
			"the EFA plugin crashes, as it does without an EFA interface",
			func(f *preflight.Facts) {
				f.Nodes[0].EFA, f.Nodes[0].EFAPlugin.Reason = 0, "CrashLoopBackOff"
			},
			[]string{"efa-device-missing"}, "launch template",
		},
		{
			"the GPU plugin has no pod on a node",
			func(f *preflight.Facts) { f.Nodes[0].GPUs, f.Nodes[0].GPUPlugin = 0, preflight.Plugin{} },
			[]string{"gpu-device-missing"}, "NVIDIA",
		},
		{
			"a worker waits for a node",
			func(f *preflight.Facts) {
				f.Pods[1] = preflight.Pod{Name: "w1", EFA: 1, Reason: "Unschedulable: 0/3 nodes are available: Insufficient vpc.amazonaws.com/efa"}
			},
			[]string{"ray-pod-not-ready"}, "devices",
		},
		{
			"the head asks for more CPU than its node has",
			func(f *preflight.Facts) {
				f.Pods[0] = preflight.Pod{Name: "head", Head: true, CPU: "4", Reason: "Unschedulable: 0/3 nodes are available: 1 Insufficient cpu"}
			},
			[]string{"ray-pod-not-ready"}, "the Ray head requests 4 CPU",
		},
		{
			"the workers do not ask for EFA",
			func(f *preflight.Facts) { f.Pods[2].EFA = 0 },
			[]string{"efa-not-requested"}, "requests 0 vpc.amazonaws.com/efa",
		},
		{"the chart does not list the instance type", func(f *preflight.Facts) {
			f.Nodes[0].EFA = 0
			f.Nodes[0].EFAPlugin = preflight.Plugin{Absent: "its DaemonSet does not list the node's type g6.12xlarge", UnlistedType: true}
		}, []string{"efa-device-missing"}, "does not list the node's type g6.12xlarge"},
		{"a worker pod cannot be created", func(f *preflight.Facts) {
			f.Pods, f.Warnings = f.Pods[:2], []string{"FailedToCreateWorkerPod: exceeded quota"}
		}, []string{"ray-pods-missing"}, "cannot create the pods: FailedToCreateWorkerPod: exceeded quota"},
		{"a worker pod is missing", func(f *preflight.Facts) { f.Pods = f.Pods[:2] }, []string{"ray-pods-missing"}, "1 worker"},
		{
			"a pod runs another image",
			func(f *preflight.Facts) { f.Pods[2].ImageID = "repo@sha256:bbbb" },
			[]string{"image-digest-mismatch"}, "sha256:bbbb",
		},
		{"Ray does not answer", func(f *preflight.Facts) { f.RayError = errors.New("refused") }, []string{"ray-unreachable"}, "refused"},
		{"a Ray worker is dead", func(f *preflight.Facts) { f.Ray[1].State = "DEAD" }, []string{"ray-nodes-missing"}, "reports 1"},
		{"a Ray worker has no GPUs", func(f *preflight.Facts) { f.Ray[1].Resources = nil }, []string{"ray-nodes-missing"}, "reports 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy()
			test.harm(&facts)
			found := preflight.Check(facts, wanted())
			assert.Equal(t, test.want, codes(found))
			for _, f := range found {
				assert.Contains(t, f.Text+" "+f.Cause, test.says)
				assert.NotEmpty(t, f.Next, "every finding names the next command")
				assert.Equal(t, report.Error, f.Severity)
			}
		})
	}
}

func node(name string, efa int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6.12xlarge"}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				preflight.GPUResource: *resource.NewQuantity(4, resource.DecimalSI),
				preflight.EFAResource: *resource.NewQuantity(efa, resource.DecimalSI),
			},
		},
	}
}

func rayPod(name, kind string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ray", Labels: map[string]string{
			"ray.io/cluster": "train", "ray.io/node-type": kind,
		}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "ray", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{preflight.EFAResource: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("44")},
		}}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "sidecar", ImageID: "x@sha256:cccc"}, {Name: "ray", ImageID: "x@" + wantedDigest},
			},
		},
	}
}

func TestGather(t *testing.T) {
	t.Parallel()
	ray := raytest.New()
	defer ray.Close()
	client := rayapi.New(rayapi.Options{
		Transport: http.DefaultTransport, BaseURL: ray.URL(),
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	waiting := rayPod("w2", "worker")
	waiting.Spec.NodeName = ""
	waiting.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"},
	}}
	crashing := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "aws-efa-k8s-device-plugin-x", Namespace: "kube-system"},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "efa", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}},
	}
	other := node("n3", 0)
	other.Labels = map[string]string{corev1.LabelInstanceTypeStable: "m7i.xlarge"}
	event := func(name, kind, typ string, age time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: wanted().Namespace},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: wanted().RayCluster},
			Type:           typ, Reason: "FailedToCreateWorkerPod", Message: name, LastTimestamp: metav1.NewTime(time.Now().Add(-age)),
		}
	}
	kube := fake.NewClientset(node("n1", 0), node("n2", 1), other, rayPod("head", "head"), rayPod("w1", "worker"), waiting, crashing,
		event("exceeded quota", "RayCluster", corev1.EventTypeWarning, time.Second),
		event("old", "RayCluster", corev1.EventTypeWarning, time.Hour),
		event("no warning", "RayCluster", corev1.EventTypeNormal, time.Second),
		event("another object", "Pod", corev1.EventTypeWarning, time.Second))

	facts, err := preflight.Gather(t.Context(), kube, client, wanted())
	require.NoError(t, err)
	require.Len(t, facts.Nodes, 2)
	assert.Equal(t, preflight.Plugin{
		Pod: "kube-system/aws-efa-k8s-device-plugin-x", Reason: "container efa: CrashLoopBackOff ",
	}, facts.Nodes[0].EFAPlugin)
	assert.Equal(t, int64(1), facts.Nodes[1].EFA)
	require.Len(t, facts.Pods, 3)
	assert.Equal(t, "44", facts.Pods[0].CPU)
	assert.Equal(t, int64(1), facts.Pods[0].EFA)
	assert.Equal(t, "x@"+wantedDigest, facts.Pods[0].ImageID, "the Ray container's, not the sidecar's")
	assert.Len(t, facts.Ray, 1)
	assert.Equal(t, []string{"FailedToCreateWorkerPod: exceeded quota"}, facts.Warnings)

	got := codes(preflight.Check(facts, wanted()))
	assert.Equal(t, []string{"efa-device-missing", "ray-pod-not-ready", "ray-nodes-missing"}, got)
	assert.True(t, strings.HasPrefix(facts.Pods[2].Reason, "Unschedulable"))
}
