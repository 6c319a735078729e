package nodeagent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func podOf(policy corev1.RestartPolicy, inits []corev1.Container, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: policy, InitContainers: inits, Containers: containers}}
}

func named(name string) corev1.Container { return corev1.Container{Name: name} }

func sidecar(name string) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{Name: name, RestartPolicy: &always}
}

func up() *containerState {
	return &containerState{running: true, started: true, ready: true, upOnce: true}
}

func endedWith(code int32) *containerState {
	return &containerState{ended: &corev1.ContainerStateTerminated{ExitCode: code}}
}

func TestNextStepsAndPhase(t *testing.T) {
	t.Parallel()
	always, onFailure, never := corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	now := time.Unix(1000, 0)
	waiting := endedWith(1)
	waiting.notBefore = now.Add(10 * time.Second)
	starting := up()
	starting.started, starting.upOnce = false, false
	tests := []struct {
		name  string
		pod   *corev1.Pod
		in    map[string]*containerState
		start []string
		wake  time.Time
		phase corev1.PodPhase
	}{
		{"all at once", podOf(always, nil, named("a"), named("b")), nil, []string{"a", "b"}, time.Time{}, corev1.PodPending},
		{"first init first", podOf(always, []corev1.Container{named("i"), named("j")}, named("a")), nil, []string{"i"}, time.Time{}, corev1.PodPending},
		{"init runs", podOf(always, []corev1.Container{named("i")}, named("a")), map[string]*containerState{"i": up()}, nil, time.Time{}, corev1.PodPending},
		{"init done", podOf(always, []corev1.Container{named("i")}, named("a")), map[string]*containerState{"i": endedWith(0)}, []string{"a"}, time.Time{}, corev1.PodPending},
		{"init failed, again", podOf(always, []corev1.Container{named("i")}, named("a")), map[string]*containerState{"i": endedWith(1)}, []string{"i"}, time.Time{}, corev1.PodPending},
		{"init failed for good", podOf(never, []corev1.Container{named("i")}, named("a")), map[string]*containerState{"i": endedWith(1)}, nil, time.Time{}, corev1.PodFailed},
		{"sidecar holds back until started", podOf(always, []corev1.Container{sidecar("s")}, named("a")), map[string]*containerState{"s": starting}, nil, time.Time{}, corev1.PodPending},
		{"sidecar up", podOf(always, []corev1.Container{sidecar("s")}, named("a")), map[string]*containerState{"s": up()}, []string{"a"}, time.Time{}, corev1.PodPending},
		{"sidecar restarts beside", podOf(never, []corev1.Container{sidecar("s")}, named("a")),
			map[string]*containerState{"s": {upOnce: true, ended: &corev1.ContainerStateTerminated{ExitCode: 1}}, "a": up()}, []string{"s"}, time.Time{}, corev1.PodRunning},
		{"running", podOf(always, nil, named("a")), map[string]*containerState{"a": up()}, nil, time.Time{}, corev1.PodRunning},
		{"ended, always", podOf(always, nil, named("a")), map[string]*containerState{"a": endedWith(0)}, []string{"a"}, time.Time{}, corev1.PodRunning},
		{"succeeded", podOf(onFailure, nil, named("a")), map[string]*containerState{"a": endedWith(0)}, nil, time.Time{}, corev1.PodSucceeded},
		{"failed, again", podOf(onFailure, nil, named("a")), map[string]*containerState{"a": endedWith(2)}, []string{"a"}, time.Time{}, corev1.PodRunning},
		{"failed for good", podOf(never, nil, named("a"), named("b")), map[string]*containerState{"a": endedWith(2), "b": endedWith(0)}, nil, time.Time{}, corev1.PodFailed},
		{"one of two still runs", podOf(never, nil, named("a"), named("b")), map[string]*containerState{"a": endedWith(2), "b": up()}, nil, time.Time{}, corev1.PodRunning},
		{"backs off", podOf(always, nil, named("a")), map[string]*containerState{"a": waiting}, nil, waiting.notBefore, corev1.PodRunning},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := &podState{containers: map[string]*containerState{}}
			for name, s := range test.in {
				copied := *s
				state.containers[name] = &copied
			}
			next := nextSteps(test.pod, state, now)
			assert.Equal(t, test.start, next.start)
			assert.Equal(t, test.wake, next.wake)
			assert.Equal(t, test.phase, phaseOf(test.pod, state))
		})
	}
}

func TestBackoffDelay(t *testing.T) {
	t.Parallel()
	b := Backoff{Initial: 10 * time.Second, Max: 5 * time.Minute}
	for n, want := range []time.Duration{0, 0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute} {
		assert.Equal(t, want, b.delay(n), n)
	}
	assert.Equal(t, b.Max, b.delay(1000))
}

func TestPodStatus(t *testing.T) {
	t.Parallel()
	now := time.Unix(2000, 0)
	pod := podOf(corev1.RestartPolicyAlways, []corev1.Container{named("i")}, named("a"), named("b"))
	state := &podState{
		sandboxed: true, podIP: "10.0.128.2", hostIP: "10.0.1.10",
		containers: map[string]*containerState{"i": endedWith(0), "a": up(), "b": {
			restarts: 3, ended: &corev1.ContainerStateTerminated{ExitCode: 9},
			waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"},
		}},
	}
	before := metav1.NewTime(time.Unix(1000, 0))
	old := []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: before},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: before},
	}
	got := podStatus(pod, state, old, now)
	assert.Equal(t, corev1.PodRunning, got.Phase)
	assert.Equal(t, "10.0.128.2", got.PodIP)
	assert.True(t, got.InitContainerStatuses[0].Ready)
	assert.True(t, got.ContainerStatuses[0].Ready)
	assert.Equal(t, "CrashLoopBackOff", got.ContainerStatuses[1].State.Waiting.Reason)
	assert.Equal(t, int32(9), got.ContainerStatuses[1].LastTerminationState.Terminated.ExitCode)

	ready, _ := conditionOf(got.Conditions, corev1.PodReady)
	assert.Equal(t, corev1.ConditionFalse, ready.Status)
	assert.Equal(t, "containers with unready status: [b]", ready.Message)
	assert.Equal(t, now, ready.LastTransitionTime.Time, "the status changed")
	passed, _ := conditionOf(got.Conditions, corev1.PodInitialized)
	assert.Equal(t, before, passed.LastTransitionTime, "the status did not change")
}

func TestStatusPatchReplacesAddressesAndKeepsOthersConditions(t *testing.T) {
	t.Parallel()
	condition := func(kind corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue}
	}
	held := corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.128.2"}}, Conditions: []corev1.PodCondition{condition(corev1.PodReady), condition("example.com/gate")}}
	w := &worker{pod: &corev1.Pod{Status: held}}
	patch, err := statusPatch("u-1", w.reported(), corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.129.1"}}, Conditions: []corev1.PodCondition{condition(corev1.PodReady)}})
	require.NoError(t, err)
	before, err := json.Marshal(corev1.Pod{Status: held})
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	require.NoError(t, err)
	var got corev1.Pod
	require.NoError(t, json.Unmarshal(after, &got))
	assert.Equal(t, []corev1.PodIP{{IP: "10.0.129.1"}}, got.Status.PodIPs)
	assert.Len(t, got.Status.Conditions, 2)
	assert.Equal(t, "u-1", string(got.UID))
}

func TestWaitingReasonsBeforeTheStart(t *testing.T) {
	t.Parallel()
	pod := podOf(corev1.RestartPolicyAlways, []corev1.Container{named("i")}, named("a"))
	state := &podState{containers: map[string]*containerState{}}
	got := podStatus(pod, state, nil, time.Unix(0, 0))
	assert.Equal(t, "PodInitializing", got.ContainerStatuses[0].State.Waiting.Reason)
	assert.Equal(t, "ContainerCreating", podStatus(podOf(corev1.RestartPolicyAlways, nil, named("a")), state, nil, time.Unix(0, 0)).ContainerStatuses[0].State.Waiting.Reason)
}

func TestReadinessGateHoldsReadyBack(t *testing.T) {
	t.Parallel()
	pod := podOf(corev1.RestartPolicyAlways, nil, named("a"))
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	state := &podState{containers: map[string]*containerState{"a": up()}}
	ready, _ := conditionOf(podStatus(pod, state, nil, time.Unix(0, 0)).Conditions, corev1.PodReady)
	assert.Equal(t, "ReadinessGatesNotReady", ready.Reason)
	pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/gate", Status: corev1.ConditionTrue}}
	ready, _ = conditionOf(podStatus(pod, state, nil, time.Unix(0, 0)).Conditions, corev1.PodReady)
	assert.Equal(t, corev1.ConditionTrue, ready.Status)
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func TestQOSClass(t *testing.T) {
	t.Parallel()
	c := func(requests, limits corev1.ResourceList) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	tests := []struct {
		name string
		in   []corev1.Container
		want corev1.PodQOSClass
	}{
		{"nothing", []corev1.Container{c(nil, nil)}, corev1.PodQOSBestEffort},
		{"equal", []corev1.Container{c(resources("1", "1Gi"), resources("1", "1Gi"))}, corev1.PodQOSGuaranteed},
		{"limits alone", []corev1.Container{c(nil, resources("1", "1Gi"))}, corev1.PodQOSGuaranteed},
		{"lower request", []corev1.Container{c(resources("500m", "1Gi"), resources("1", "1Gi"))}, corev1.PodQOSBurstable},
		{"one container without", []corev1.Container{c(nil, resources("1", "1Gi")), c(nil, nil)}, corev1.PodQOSBurstable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, qosClass(podOf(corev1.RestartPolicyAlways, nil, test.in...)))
		})
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	allocatable := resources("4", "14Gi")
	allocatable[corev1.ResourcePods] = resource.MustParse("2")
	asks := func(cpu string) *corev1.Pod {
		return podOf(corev1.RestartPolicyAlways, nil, corev1.Container{Resources: corev1.ResourceRequirements{Requests: resources(cpu, "1Gi")}})
	}
	assert.Nil(t, admit(asks("2"), []*corev1.Pod{asks("2")}, allocatable))
	r := admit(asks("2500m"), []*corev1.Pod{asks("2")}, allocatable)
	assert.Equal(t, "OutOfcpu", r.reason)
	assert.Contains(t, r.message, "requested: 2500, used: 2000, capacity: 4000")
	assert.Equal(t, "OutOfpods", admit(asks("1"), []*corev1.Pod{asks("1"), asks("1")}, allocatable).reason)
}

func TestDevicesComeWithTheirPlugin(t *testing.T) {
	t.Parallel()
	d := newDevices(Spec{GPUs: 4, EFAInterfaces: 1})
	_, err := d.allocate("pod-1", ResourceGPU, 4)
	assert.ErrorContains(t, err, "Requested: 4, Available: 0")
	d.plugin(ResourceGPU, 1)
	present, lost := d.resources()
	gpus, efa := present[ResourceGPU], present[ResourceEFA]
	assert.Equal(t, int64(4), gpus.Value())
	assert.True(t, efa.IsZero())
	assert.False(t, lost[ResourceGPU])

	got, err := d.allocate("pod-1", ResourceGPU, 3)
	assert.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2}, got)
	_, err = d.allocate("pod-2", ResourceGPU, 2)
	assert.ErrorContains(t, err, "Requested: 2, Available: 1")
	d.release("pod-1")
	_, err = d.allocate("pod-2", ResourceGPU, 4)
	assert.NoError(t, err)

	d.plugin(ResourceGPU, -1)
	_, lost = d.resources()
	assert.True(t, lost[ResourceGPU], "known, but not to be had")
}

func TestANodeWithoutDevicesNeverOffersThem(t *testing.T) {
	t.Parallel()
	d := newDevices(Spec{})
	d.plugin(ResourceEFA, 1)
	present, _ := d.resources()
	assert.Empty(t, present)
}

func TestGrantFor(t *testing.T) {
	t.Parallel()
	got := grantFor(map[corev1.ResourceName][]int{ResourceGPU: {0, 3}, ResourceEFA: {0, 1}})
	assert.Equal(t, grant{env: []string{"NVIDIA_VISIBLE_DEVICES=0,3"}, files: []string{"infiniband/uverbs0", "infiniband/uverbs1"}}, got)
	assert.Equal(t, grant{}, grantFor(nil), "a pod without devices sees none")
}
