package preflight_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestPatienceEndsWhereWaitingCannotHelp(t *testing.T) {
	t.Parallel()
	noEFA := func(plugin preflight.Plugin) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.Nodes[0].EFA, f.Nodes[0].EFAPlugin = 0, plugin }
	}
	unscheduled := func(why string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.Pods[0] = preflight.Pod{Name: "head", Head: true, Reason: why} }
	}
	tests := []struct {
		name string
		harm func(*preflight.Facts)
		want bool
	}{
		{"a plugin that can have no pod on the node", noEFA(preflight.Plugin{Absent: "its DaemonSet lacks a toleration"}), true},
		{"a plugin's pod is on its way", noEFA(preflight.Plugin{}), false},
		{"a plugin's image is being pulled", noEFA(preflight.Plugin{Pod: "a/b", Reason: "container efa: ContainerCreating"}), false},
		{"a plugin crashes", noEFA(preflight.Plugin{Pod: "a/b", Reason: "container efa: CrashLoopBackOff"}), true},
		{"a plugin just crashed", noEFA(preflight.Plugin{Pod: "a/b", Reason: "container efa: exit status 1"}), true},
		{"a plugin runs without a device", noEFA(preflight.Plugin{Pod: "a/b"}), true},
		{"a GPU plugin runs without a device", func(f *preflight.Facts) { f.Nodes[1].GPUs = 3 }, true},
		{"the node is not ready", func(f *preflight.Facts) { f.Nodes[0].Ready, f.Nodes[0].EFA = false, 0 }, false},
		{"no node has the CPU", unscheduled("Unschedulable: 0/3 nodes are available: 1 Insufficient cpu"), true},
		{"a node is not ready yet", unscheduled("Unschedulable: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }"), false},
		{"a node is missing", func(f *preflight.Facts) {
			unscheduled("Unschedulable: 1 Insufficient cpu")(f)
			f.Nodes = f.Nodes[:1]
		}, false},
		{"devices are still to come", func(f *preflight.Facts) {
			unscheduled("Unschedulable: 2 Insufficient vpc.amazonaws.com/efa")(f)
			noEFA(preflight.Plugin{})(f)
		}, false},
		{"a pod starts", func(f *preflight.Facts) { f.Pods[1].Ready = false }, false},
		{"the head rejects the token", func(f *preflight.Facts) {
			f.RayError = &rayapi.APIError{Status: http.StatusForbidden}
		}, true},
		{"the head answers with an error", func(f *preflight.Facts) {
			f.RayError = &rayapi.APIError{Status: http.StatusInternalServerError}
		}, false},
		{"an image cannot be pulled", func(f *preflight.Facts) {
			f.Pods[1].Ready, f.Pods[1].Reason = false, "container ray-worker: ImagePullBackOff Back-off pulling image"
		}, true},
		{"an image is being pulled", func(f *preflight.Facts) {
			f.Pods[1].Ready, f.Pods[1].Reason = false, "container ray-worker: ContainerCreating "
		}, false},
		{"a container crashes", func(f *preflight.Facts) {
			f.Pods[0].Ready, f.Pods[0].Reason = false, "container ray-head: CrashLoopBackOff back-off 40s"
		}, true},
		{"a container just crashed", func(f *preflight.Facts) {
			f.Pods[0].Ready, f.Pods[0].Reason = false, "container ray-head: exit status 1"
		}, true},
		{"pods cannot be created", func(f *preflight.Facts) {
			f.Pods, f.Warnings = nil, []string{"FailedToCreateHeadPod: exceeded quota"}
		}, true},
		{"pods are not created yet", func(f *preflight.Facts) { f.Pods = nil }, false},
		{"an old warning, all pods exist", func(f *preflight.Facts) { f.Warnings = []string{"Failed: once"} }, false},
		{"workers ask for no EFA", func(f *preflight.Facts) { f.Pods[1].EFA = 0 }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy()
			test.harm(&facts)
			var progress preflight.Progress
			start := time.Unix(0, 0)
			assert.False(t, progress.Stalled(facts, wanted(), start))
			assert.False(t, progress.Stalled(facts, wanted(), start.Add(50*time.Second)))
			assert.Equal(t, test.want, progress.Stalled(facts, wanted(), start.Add(70*time.Second)))
		})
	}
}

func TestPatienceStartsAnewAfterMotion(t *testing.T) {
	t.Parallel()
	stuck := healthy()
	stuck.Nodes[0].EFA = 0
	var progress preflight.Progress
	start := time.Unix(0, 0)
	assert.False(t, progress.Stalled(stuck, wanted(), start))
	assert.False(t, progress.Stalled(healthy(), wanted(), start.Add(50*time.Second)))
	assert.False(t, progress.Stalled(stuck, wanted(), start.Add(70*time.Second)))
	assert.True(t, progress.Stalled(stuck, wanted(), start.Add(130*time.Second)))
}
