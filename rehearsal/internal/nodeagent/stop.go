package nodeagent

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startProbes starts the container's probes: the startup probe first, the
// others once that has succeeded.
func (w *worker) startProbes(ctx context.Context, c *corev1.Container, s *containerState, run *containerRun) {
	s.started, s.ready = c.StartupProbe == nil, c.ReadinessProbe == nil
	p := &prober{container: c, process: run.process, sandbox: w.sandbox, env: run.env}
	p.failed = func(kind probeKind, reason error) {
		w.post(func() {
			w.containerEvent(c, corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", kind, reason)
		})
	}
	rest := func() {
		s.started, s.upOnce = true, true
		if c.ReadinessProbe != nil {
			go p.run(ctx, readinessProbe, c.ReadinessProbe)
		}
		if c.LivenessProbe != nil {
			go p.run(ctx, livenessProbe, c.LivenessProbe)
		}
	}
	p.decided = func(kind probeKind, ok bool) {
		w.post(func() {
			if ctx.Err() != nil {
				return // of a run that has ended meanwhile
			}
			switch {
			case kind == readinessProbe:
				s.ready = ok
			case kind == startupProbe && ok:
				rest()
			case !ok:
				w.containerEvent(c, corev1.EventTypeNormal, "Killing", "failed its %s probe, will be restarted", kind)
				w.kill(run, w.gracePeriod(c))
			}
		})
	}
	if c.StartupProbe != nil {
		go p.run(ctx, startupProbe, c.StartupProbe)
		return
	}
	rest()
}

func (w *worker) gracePeriod(c *corev1.Container) time.Duration {
	if c.LivenessProbe != nil && c.LivenessProbe.TerminationGracePeriodSeconds != nil {
		return time.Duration(*c.LivenessProbe.TerminationGracePeriodSeconds) * time.Second
	}
	if seconds := w.pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// kill asks a container to end, and makes it once the grace period is over.
func (w *worker) kill(run *containerRun, grace time.Duration) {
	if run.killing {
		return
	}
	run.killing = true
	run.stop()
	if grace > 0 {
		run.process.signal(unix.SIGTERM)
	}
	go func() {
		select {
		case <-run.process.done:
		case <-time.After(grace):
			run.process.signal(unix.SIGKILL)
		}
	}()
}

// terminate carries out a deletion: containers first, then sidecars, then the
// object. It returns when to look again.
func (w *worker) terminate(ctx context.Context) time.Time {
	const retry = 2 * time.Second
	w.stopping = true
	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if w.pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*w.pod.DeletionGracePeriodSeconds) * time.Second
	}
	if w.stopAll(grace) {
		return w.publish(ctx) // an exit will be the next event
	}
	w.settle()
	if again := w.publish(ctx); !again.IsZero() {
		return again
	}
	now := int64(0)
	err := w.agent.client.CoreV1().Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
	if ignoreNotFound(err) != nil && ctx.Err() == nil {
		w.agent.config.Log.Warn("deleting a pod that has ended", "pod", w.namespace+"/"+w.name, "error", err)
	}
	return time.Now().Add(retry) // finalizers can hold the object
}

// stopAll asks what runs to end, sidecars only once they are alone. It says
// whether anything still runs.
func (w *worker) stopAll(grace time.Duration) (running bool) {
	for _, sidecars := range []bool{false, true} {
		for _, name := range containerNames(w.pod) {
			c, _ := findContainer(w.pod, name)
			if isSidecar(c) != sidecars || !w.state.container(name).running {
				continue
			}
			running = true
			w.mu.Lock()
			run := w.runs[name]
			w.mu.Unlock()
			w.kill(run, grace)
		}
		if running {
			return true
		}
	}
	return false
}

// settle gives back what a pod holds that has ended for good.
func (w *worker) settle() {
	w.stopping = true
	if w.stopAll(w.gracePeriod(&corev1.Container{})) {
		return // sidecars of a finished pod; their exits lead here again
	}
	w.settled = true
	w.agent.devices.release(w.uid)
}

// teardown ends everything of the pod at once.
func (w *worker) teardown() {
	w.mu.Lock()
	runs := w.runs
	w.mu.Unlock()
	for _, run := range runs {
		run.stop()
		run.process.signal(unix.SIGKILL)
	}
	for _, run := range runs {
		<-run.process.done
	}
	w.agent.devices.release(w.uid)
	w.volumes.release()
	if w.sandbox != nil && w.sandbox != w.agent.network.Host() {
		_ = w.sandbox.Close() // only descriptors
	}
	// A node that is switched off keeps its disk: logs may be wanted.
	w.mu.Lock()
	gone := w.gone
	w.mu.Unlock()
	if gone {
		_ = os.RemoveAll(w.folder) // what is busy is removed at the node's next start
	}
}
