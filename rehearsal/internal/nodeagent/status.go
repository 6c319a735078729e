package nodeagent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podStatus builds the status that the agent reports for a pod. Old is what it
// reported last, from which times of transition are taken over.
func podStatus(pod *corev1.Pod, state *podState, old []corev1.PodCondition, now time.Time) corev1.PodStatus {
	phase := phaseOf(pod, state)
	status := corev1.PodStatus{
		Phase:    phase,
		QOSClass: qosClass(pod),
		HostIP:   state.hostIP,
		HostIPs:  []corev1.HostIP{{IP: state.hostIP}},
	}
	start := metav1.NewTime(state.startTime)
	status.StartTime = &start
	if state.podIP != "" {
		status.PodIP, status.PodIPs = state.podIP, []corev1.PodIP{{IP: state.podIP}}
	}
	if state.rejected != nil {
		status.Reason, status.Message = state.rejected.reason, state.rejected.message
	}
	passed := initialized(pod, state)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(c, state, true, passed))
	}
	for i := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(&pod.Spec.Containers[i], state, false, passed))
	}
	status.Conditions = conditions(pod, &status, state, old, now)
	return status
}

func containerStatus(c *corev1.Container, state *podState, isInit, initialized bool) corev1.ContainerStatus {
	s := state.container(c.Name)
	started := s.running && s.started
	status := corev1.ContainerStatus{
		Name:         c.Name,
		Image:        c.Image,
		ImageID:      s.imageID,
		ContainerID:  s.containerID,
		RestartCount: s.restarts,
		Started:      &started,
		Ready:        s.running && s.started && s.ready,
	}
	if isInit && !isSidecar(c) {
		status.Ready = !s.running && s.ended != nil && s.ended.ExitCode == 0
	}
	status.LastTerminationState.Terminated = s.previous
	if s.waiting != nil && s.ended != nil && !s.running {
		status.LastTerminationState.Terminated = s.ended
	}
	initializing := !isInit && !initialized || isInit && len(state.containers) > 0 && state.sandboxed
	status.State = s.state(initializing)
	return status
}

// state is what the container does at the moment. initializing tells what one
// waits for that never ran.
func (s *containerState) state(initializing bool) corev1.ContainerState {
	switch {
	case s.running:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.startedAt)}}
	case s.waiting != nil:
		return corev1.ContainerState{Waiting: s.waiting}
	case s.ended != nil:
		return corev1.ContainerState{Terminated: s.ended}
	case initializing:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	default:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	}
}

// conditions builds the conditions that a kubelet owns. Times of transition move
// only with the status.
func conditions(pod *corev1.Pod, status *corev1.PodStatus, state *podState, old []corev1.PodCondition, now time.Time) []corev1.PodCondition {
	unready, incomplete := unreadyContainers(pod, status, state)
	containersReady := containersReadyCondition(status.Phase, unready)
	ready := containersReady
	ready.Type = corev1.PodReady
	if missing := missingGates(pod); ready.Status == corev1.ConditionTrue && len(missing) > 0 {
		ready.Status, ready.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
		ready.Message = fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", missing[0])
	}
	passed := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		passed.Reason = "PodCompleted"
	}
	if !initialized(pod, state) {
		passed.Status, passed.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
		passed.Message = fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(incomplete, " "))
	}
	sandbox := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}
	if state.sandboxed {
		sandbox.Status = corev1.ConditionTrue
	}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	ours := []corev1.PodCondition{sandbox, passed, ready, containersReady, scheduled}
	for i := range ours {
		ours[i].ObservedGeneration = pod.Generation
		ours[i].LastTransitionTime = metav1.NewTime(now)
		if before, ok := conditionOf(old, ours[i].Type); ok && before.Status == ours[i].Status {
			ours[i].LastTransitionTime = before.LastTransitionTime
		}
	}
	return ours
}

// unreadyContainers names the containers that are not ready, and the init
// containers that are not through.
func unreadyContainers(pod *corev1.Pod, status *corev1.PodStatus, state *podState) (unready, incomplete []string) {
	for _, c := range status.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	passed := initialized(pod, state)
	for i, c := range status.InitContainerStatuses {
		if isSidecar(&pod.Spec.InitContainers[i]) && !c.Ready && passed {
			unready = append(unready, c.Name)
		}
		if !initPassed(&pod.Spec.InitContainers[i], state.container(c.Name)) {
			incomplete = append(incomplete, c.Name)
		}
	}
	return unready, incomplete
}

// containersReadyCondition is False, with the kubelet's reason, when the pod is
// over or names unready containers.
func containersReadyCondition(phase corev1.PodPhase, unready []string) corev1.PodCondition {
	condition := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}
	switch {
	case phase == corev1.PodSucceeded:
		condition.Reason = "PodCompleted"
	case phase == corev1.PodFailed:
		condition.Reason = "PodFailed"
	case len(unready) > 0:
		condition.Reason = "ContainersNotReady"
		condition.Message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	default:
		condition.Status = corev1.ConditionTrue
	}
	return condition
}

// isOurs says whether a condition is one that conditions builds.
func isOurs(kind corev1.PodConditionType) bool {
	switch kind {
	case corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled:
		return true
	}
	return false
}

func conditionOf(list []corev1.PodCondition, kind corev1.PodConditionType) (corev1.PodCondition, bool) {
	i := slices.IndexFunc(list, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}, false
	}
	return list[i], true
}

func missingGates(pod *corev1.Pod) []corev1.PodConditionType {
	var missing []corev1.PodConditionType
	for _, gate := range pod.Spec.ReadinessGates {
		if c, ok := conditionOf(pod.Status.Conditions, gate.ConditionType); !ok || c.Status != corev1.ConditionTrue {
			missing = append(missing, gate.ConditionType)
		}
	}
	return missing
}

// qosClass is Guaranteed if every container's limits are set and equal its
// requests, BestEffort if there are none at all, else Burstable
// (kubernetes.io/docs/concepts/workloads/pods/pod-qos).
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	guaranteed, bound := true, false
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			bound = bound || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case !bound:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
