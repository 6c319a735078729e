package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxPrepareDelay bounds the distance between attempts at preparing a pod whose
// volumes wait for an object.
const maxPrepareDelay = 8 * time.Second

// prepare makes the pod's network, files and volumes. It returns when to try
// again, or zero if all is there.
func (w *worker) prepare(ctx context.Context) (again time.Time) {
	if wait := w.retryAt; wait.After(time.Now()) {
		return wait
	}
	err := w.prepareSandbox()
	if err == nil {
		if err = w.volumes.prepare(ctx, w.fields()); err != nil {
			w.event(corev1.EventTypeWarning, "FailedMount", err.Error())
		}
	} else {
		w.event(corev1.EventTypeWarning, "FailedCreatePodSandBox", err.Error())
	}
	if err == nil {
		w.state.sandboxed, w.retries = true, 0
		return time.Time{}
	}
	w.retryAt = time.Now().Add(min(500*time.Millisecond<<min(w.retries, 10), maxPrepareDelay))
	w.retries++
	return w.retryAt
}

func (w *worker) prepareSandbox() error {
	if w.sandbox == nil {
		if w.pod.Spec.HostNetwork {
			w.sandbox = w.agent.network.Host()
		} else {
			sandbox, err := w.agent.network.NewSandbox()
			if err != nil {
				return err
			}
			w.sandbox = sandbox
		}
		w.state.podIP = w.sandbox.Address.String()
	}
	hostname := w.hostname()
	fqdn := ""
	if w.pod.Spec.Subdomain != "" {
		fqdn = hostname + "." + w.pod.Spec.Subdomain + "." + w.namespace + ".svc.cluster.local"
	}
	etc := filepath.Join(w.folder, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"hosts":       hostsFile(w.state.podIP, hostname, fqdn, w.pod.Spec.HostAliases),
		"hostname":    hostname + "\n",
		"resolv.conf": resolvConf(w.pod, w.agent.config.ClusterDNS.String()),
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hostname is the pod's, at most as long as Linux and Kubernetes allow.
func (w *worker) hostname() string {
	const longest = 63
	name := w.name
	switch {
	case w.pod.Spec.HostNetwork:
		name = w.agent.config.Spec.Name
	case w.pod.Spec.Hostname != "":
		name = w.pod.Spec.Hostname
	}
	return name[:min(len(name), longest)]
}

func (w *worker) fields() fieldSource {
	return fieldSource{pod: w.pod, podIP: w.state.podIP, hostIP: w.state.hostIP, allocatable: w.agent.allocatable()}
}

func (w *worker) refreshVolumes(ctx context.Context) {
	if !w.state.sandboxed || w.settled || w.stopping {
		return
	}
	if err := w.volumes.prepare(ctx, w.fields()); err != nil {
		// What is mounted stays as it is: the pod goes on with the old content.
		w.event(corev1.EventTypeWarning, "FailedMount", err.Error())
	}
}

// publish reports the pod's status if it has changed. It returns when to try
// again if that failed.
func (w *worker) publish(ctx context.Context) (again time.Time) {
	const retry = time.Second
	var old []corev1.PodCondition
	if w.published != nil {
		old = w.published.Conditions
	}
	status := podStatus(w.pod, &w.state, append(old, w.pod.Status.Conditions...), time.Now())
	if w.stopping {
		w.finalPhase(&status)
	}
	if w.published != nil && equality.Semantic.DeepEqual(*w.published, status) {
		return time.Time{}
	}
	patch, err := statusPatch(w.uid, w.reported(), status)
	if err == nil {
		_, err = w.agent.client.CoreV1().Pods(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	switch {
	case err == nil:
		w.published = &status
		return time.Time{}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), errors.Is(err, context.Canceled):
		return time.Time{} // the pod is gone, and a watch event is on its way
	}
	w.agent.config.Log.Warn("reporting pod status", "pod", w.namespace+"/"+w.name, "error", err)
	return time.Now().Add(retry)
}

// reported is what the API server holds of what the agent reports: what it was
// told last, or what an earlier run of the node left. Conditions of others are
// left out, or the patch would remove them.
func (w *worker) reported() corev1.PodStatus {
	if w.published != nil {
		return *w.published
	}
	status := *w.pod.Status.DeepCopy()
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool { return !isOurs(c.Type) })
	return status
}

// statusPatch is the difference between two statuses of one pod. Its lists are
// merged by key, so what is to go has to be said.
func statusPatch(uid types.UID, before, after corev1.PodStatus) ([]byte, error) {
	old, err := json.Marshal(corev1.Pod{Status: before})
	if err != nil {
		return nil, err
	}
	// The identity is part of the patch, which so fails on a pod of the same
	// name that came after this one.
	changed, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: after})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(old, changed, corev1.Pod{})
}

// finalPhase is the phase of a pod that is being deleted and whose containers
// have all ended.
func (w *worker) finalPhase(status *corev1.PodStatus) {
	if isOver(status.Phase) {
		return
	}
	phase := corev1.PodSucceeded
	for i := range w.pod.Spec.Containers {
		switch s := w.state.container(w.pod.Spec.Containers[i].Name); {
		case s.running:
			return
		case s.ended == nil || s.ended.ExitCode != 0:
			phase = corev1.PodFailed
		}
	}
	status.Phase = phase
}
