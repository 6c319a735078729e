package nodeagent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// containerState is what the agent knows of one container. The zero value is a
// container that was never started.
type containerState struct {
	running   bool
	startedAt time.Time
	// ended is how the latest run ended, previous the one before it.
	ended, previous *corev1.ContainerStateTerminated
	restarts        int32
	// imageID is set once the image was resolved.
	imageID     string
	containerID string
	// waiting is why the container is not running, if that is not plain.
	waiting *corev1.ContainerStateWaiting
	// notBefore is when the next attempt may be made; failures counts those
	// since the last success and sets the distance.
	notBefore time.Time
	failures  int
	// started and ready are what the probes say, or true without any.
	started, ready bool
	// upOnce is true once started was.
	upOnce bool
}

// podState is what the agent knows of one pod besides its specification.
type podState struct {
	containers map[string]*containerState
	// rejected is set if the node did not admit the pod.
	rejected *rejection
	// sandboxed is true once the pod's network and volumes are there.
	sandboxed bool
	startTime time.Time
	podIP     string
	hostIP    string
}

type rejection struct{ reason, message string }

func (s *podState) container(name string) *containerState {
	c, ok := s.containers[name]
	if !ok {
		c = &containerState{}
		s.containers[name] = c
	}
	return c
}

// isSidecar says whether an init container keeps running beside the others.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restartPolicy is the policy that holds for one container.
func restartPolicy(pod *corev1.Pod, c *corev1.Container, isInit bool) corev1.RestartPolicy {
	switch {
	case isSidecar(c):
		return corev1.RestartPolicyAlways
	case isInit && pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.RestartPolicyOnFailure // an init container that succeeded is done
	}
	return pod.Spec.RestartPolicy
}

// runsAgain says whether a container that ended is to be started again.
func runsAgain(policy corev1.RestartPolicy, code int32) bool {
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// plan is what to do next for a pod.
type plan struct {
	// start names containers to start now.
	start []string
	// wake is when to look again even if nothing happens; zero for never.
	wake time.Time
}

func (p *plan) consider(c *corev1.Container, state *containerState, now time.Time) {
	if state.notBefore.After(now) {
		if p.wake.IsZero() || state.notBefore.Before(p.wake) {
			p.wake = state.notBefore
		}
		return
	}
	p.start = append(p.start, c.Name)
}

// nextSteps decides which containers of a pod are due: init containers one by
// one in order, sidecars as soon as their turn has come, the others together
// once all of those are through.
func nextSteps(pod *corev1.Pod, state *podState, now time.Time) plan {
	var p plan
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s := state.container(c.Name)
		due := !s.running && (s.ended == nil || runsAgain(restartPolicy(pod, c, true), s.ended.ExitCode))
		if due {
			p.consider(c, s, now)
		}
		if !initPassed(c, s) {
			return p
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := state.container(c.Name)
		if !s.running && (s.ended == nil || runsAgain(pod.Spec.RestartPolicy, s.ended.ExitCode)) {
			p.consider(c, s, now)
		}
	}
	return p
}

// initPassed says whether the containers after this one may start.
func initPassed(c *corev1.Container, s *containerState) bool {
	if isSidecar(c) {
		return s.upOnce // a restart later on holds nobody back
	}
	return !s.running && s.ended != nil && s.ended.ExitCode == 0
}

// initialized says whether all init containers are through.
func initialized(pod *corev1.Pod, state *podState) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if !initPassed(c, state.container(c.Name)) {
			return false
		}
	}
	return true
}

// initFailed says whether an init container that must end well did not.
func initFailed(pod *corev1.Pod, state *podState) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s := state.container(c.Name)
		if !isSidecar(c) && !s.running && s.ended != nil && s.ended.ExitCode != 0 {
			return true
		}
	}
	return false
}

// phaseOf is the pod's phase, by the kubelet's rules.
func phaseOf(pod *corev1.Pod, state *podState) corev1.PodPhase {
	if state.rejected != nil {
		return corev1.PodFailed
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && initFailed(pod, state) {
		return corev1.PodFailed
	}
	if !initialized(pod, state) {
		return corev1.PodPending
	}
	succeeded := 0
	allEnded := true
	for i := range pod.Spec.Containers {
		s := state.container(pod.Spec.Containers[i].Name)
		switch {
		case s.running:
			allEnded = false
		case s.ended == nil:
			return corev1.PodPending
		case s.ended.ExitCode == 0:
			succeeded++
		}
	}
	switch {
	case !allEnded || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case succeeded == len(pod.Spec.Containers):
		return corev1.PodSucceeded
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}

// delay is the distance before the attempt that follows the n-th failure in a
// row. The first restart is immediate, as a kubelet's is.
func (b Backoff) delay(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	// Shifting further would overflow, and Max is reached long before.
	return min(b.Initial<<min(n-2, 16), b.Max)
}

// containerNames lists all containers of a pod in the order of their start.
func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// findContainer finds a container by name, and whether it is an init container.
func findContainer(pod *corev1.Pod, name string) (c *corev1.Container, isInit bool) {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return &pod.Spec.InitContainers[i], true
		}
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i], false
		}
	}
	return nil, false
}
