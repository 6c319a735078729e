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
	switch {
	case s.running:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.startedAt)}
	case s.waiting != nil:
		status.State.Waiting = s.waiting
		if s.ended != nil {
			status.LastTerminationState.Terminated = s.ended
		}
	case s.ended != nil:
		status.State.Terminated = s.ended
	case !isInit && !initialized, isInit && len(state.containers) > 0 && state.sandboxed:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	return status
}

// conditions builds the conditions that a kubelet owns. Times of transition move
// only with the status.
func conditions(pod *corev1.Pod, status *corev1.PodStatus, state *podState, old []corev1.PodCondition, now time.Time) []corev1.PodCondition {
	initialized := initialized(pod, state)
	done := status.Phase == corev1.PodSucceeded
	var unready, incomplete []string
	for _, c := range status.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	for i, c := range status.InitContainerStatuses {
		if isSidecar(&pod.Spec.InitContainers[i]) && !c.Ready && initialized {
			unready = append(unready, c.Name)
		}
		if !initPassed(&pod.Spec.InitContainers[i], state.container(c.Name)) {
			incomplete = append(incomplete, c.Name)
		}
	}
	containersReady := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	switch {
	case done:
		containersReady.Status, containersReady.Reason = corev1.ConditionFalse, "PodCompleted"
	case status.Phase == corev1.PodFailed:
		containersReady.Status, containersReady.Reason = corev1.ConditionFalse, "PodFailed"
	case len(unready) > 0:
		containersReady.Status, containersReady.Reason = corev1.ConditionFalse, "ContainersNotReady"
		containersReady.Message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	}
	ready := containersReady
	ready.Type = corev1.PodReady
	if missing := missingGates(pod); ready.Status == corev1.ConditionTrue && len(missing) > 0 {
		ready.Status, ready.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
		ready.Message = fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", missing[0])
	}
	passed := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if done {
		passed.Reason = "PodCompleted"
	}
	if !initialized {
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
	guaranteed, any := true, false
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			any = any || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
