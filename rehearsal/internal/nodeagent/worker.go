package nodeagent

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// volumeRefresh is how often volumes that objects fill are brought up to date,
// which is also when tokens near their end are replaced; a kubelet takes as long.
const volumeRefresh = time.Minute

// worker runs one pod. Everything in it belongs to its own goroutine, except
// for what mu guards.
type worker struct {
	agent           *agent
	uid             types.UID
	namespace, name string
	folder          string
	volumes         volumes

	pod       *corev1.Pod // as of the current step
	state     podState
	grants    map[string]grant
	sandbox   *podnet.Sandbox
	admitted  bool
	settled   bool // nothing will run (any more)
	stopping  bool
	retries   int // of preparing the pod, in a row
	retryAt   time.Time
	published *corev1.PodStatus
	events    chan func()
	finished  chan struct{}
	notify    chan struct{}

	mu     sync.Mutex
	latest *corev1.Pod
	gone   bool                     // the object is no more
	runs   map[string]*containerRun // by container
}

// containerRun is the latest run of a container, for the worker and for the
// kubelet's API.
type containerRun struct {
	process *process
	attempt int
	env     []string
	dir     string
	stop    context.CancelFunc // of its probes
	killing bool
}

func newWorker(a *agent, pod *corev1.Pod) *worker {
	folder := filepath.Join(a.config.Spec.HostDir, podsFolder, string(pod.UID))
	return &worker{
		agent: a, uid: pod.UID, namespace: pod.Namespace, name: pod.Name, folder: folder, latest: pod,
		volumes: volumes{
			folder: filepath.Join(folder, "volumes"),
			host:   filepath.Join(a.config.Spec.HostDir, "host"),
			source: apiObjects{a.client},
			tokens: newTokens(a.client),
		},
		state:    podState{containers: map[string]*containerState{}, startTime: time.Now(), hostIP: a.network.Host().Address.String()},
		events:   make(chan func()),
		finished: make(chan struct{}),
		notify:   make(chan struct{}, 1),
		runs:     map[string]*containerRun{},
	}
}

// update takes a newer version of the pod.
func (w *worker) update(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	w.latest, w.gone = pod, w.gone || gone
	w.mu.Unlock()
	select {
	case w.notify <- struct{}{}:
	default: // it will look anyway
	}
}

// post has something done on the worker's goroutine.
func (w *worker) post(event func()) {
	select {
	case w.events <- event:
	case <-w.finished:
	}
}

// run takes step after step until the pod is gone or the node is.
func (w *worker) run(ctx context.Context) {
	defer close(w.finished)
	defer w.teardown()
	refresh := time.NewTicker(volumeRefresh)
	defer refresh.Stop()
	for {
		wake, done := w.step(ctx)
		if done {
			return
		}
		var timer <-chan time.Time
		if !wake.IsZero() {
			timer = time.After(time.Until(wake))
		}
		select {
		case <-ctx.Done():
			return
		case event := <-w.events:
			event()
		case <-w.notify:
		case <-timer:
		case <-refresh.C:
			w.refreshVolumes(ctx)
		}
	}
}

// step compares what is with what should be, and does what is due. It returns
// when to look again, and whether the pod needs no further looking.
func (w *worker) step(ctx context.Context) (wake time.Time, done bool) {
	w.mu.Lock()
	w.pod = w.latest
	gone := w.gone
	w.mu.Unlock()
	switch {
	case gone:
		return time.Time{}, true
	case w.pod.DeletionTimestamp != nil:
		return w.terminate(ctx), false
	case w.settled:
		return time.Time{}, false
	case isOver(w.pod.Status.Phase) && w.published == nil:
		w.settled = true // by an earlier run of the node
		return time.Time{}, false
	}
	if !w.admitted {
		w.admitted = true
		w.recover()
		w.state.rejected = w.admit()
	}
	if w.state.rejected != nil {
		w.settled = true
		w.event(corev1.EventTypeWarning, w.state.rejected.reason, w.state.rejected.message)
		return w.publish(ctx), false
	}
	if !w.state.sandboxed {
		if wake := w.prepare(ctx); !wake.IsZero() {
			return earliest(wake, w.publish(ctx)), false
		}
	}
	next := nextSteps(w.pod, &w.state, time.Now())
	for _, name := range next.start {
		w.start(ctx, name)
	}
	if isOver(phaseOf(w.pod, &w.state)) {
		w.settle()
	} else if len(next.start) > 0 {
		// What was started may have failed at once and be due again later.
		next.wake = earliest(next.wake, nextSteps(w.pod, &w.state, time.Now()).wake)
	}
	return earliest(next.wake, w.publish(ctx)), false
}

func isOver(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// recover takes over what an earlier run of the node reported: its processes
// are gone, and the numbers of restarts go on from there.
func (w *worker) recover() {
	for _, old := range append(w.pod.Status.InitContainerStatuses, w.pod.Status.ContainerStatuses...) {
		c, isInit := findContainer(w.pod, old.Name)
		if c == nil || old.ContainerID == "" {
			continue
		}
		s := w.state.container(old.Name)
		s.restarts, s.imageID, s.containerID = old.RestartCount, old.ImageID, old.ContainerID
		s.ended = old.State.Terminated
		if s.ended == nil {
			s.ended = &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "ContainerStatusUnknown", ContainerID: old.ContainerID,
				Message: "The container could not be located when the node came back",
			}
		}
		if isInit && isSidecar(c) {
			s.upOnce = false
		}
	}
}

// admit decides whether the node takes the pod, and gives it its devices.
func (w *worker) admit() *rejection {
	if r := admit(w.pod, w.agent.neighbours(w.uid), w.agent.allocatable()); r != nil {
		return r
	}
	w.grants = map[string]grant{}
	for _, name := range containerNames(w.pod) {
		c, isInit := findContainer(w.pod, name)
		if isInit && !isSidecar(c) {
			continue // devices are for those that stay
		}
		allocated := map[corev1.ResourceName][]int{}
		for _, resource := range deviceRequests(c) {
			quantity := c.Resources.Limits[resource]
			indices, err := w.agent.devices.allocate(w.uid, resource, int(quantity.Value()))
			if err != nil {
				w.agent.devices.release(w.uid)
				return &rejection{reason: "UnexpectedAdmissionError", message: "Pod was rejected: " + err.Error()}
			}
			allocated[resource] = indices
		}
		w.grants[name] = grantFor(allocated)
	}
	return nil
}

// neighbours lists the other pods that take up room on the node.
func (a *agent) neighbours(of types.UID) []*corev1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pods []*corev1.Pod
	for uid, w := range a.workers {
		if uid == of {
			continue
		}
		w.mu.Lock()
		if pod := w.latest; !isOver(pod.Status.Phase) && !w.gone {
			pods = append(pods, pod)
		}
		w.mu.Unlock()
	}
	return pods
}

func (w *worker) event(kind, reason, message string) {
	w.agent.recorder.Event(w.pod, kind, reason, message)
	w.agent.config.Log.Debug("pod event", "pod", w.namespace+"/"+w.name, "reason", reason, "message", message)
}

func (w *worker) containerEvent(c *corev1.Container, kind, reason, format string, args ...any) {
	w.event(kind, reason, fmt.Sprintf("container %q: ", c.Name)+fmt.Sprintf(format, args...))
}
