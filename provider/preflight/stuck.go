package preflight

import (
	"slices"
	"strings"
	"time"
)

// stallTimeout is how long the preflight waits without progress for a device or for a node for a
// pod. Both normally take seconds.
const stallTimeout = time.Minute

// dashboardTimeout is how long the dashboard of a ready head may be unreachable. A restarting head
// takes up to two minutes.
const dashboardTimeout = 3 * time.Minute

// Progress distinguishes a cluster that is still starting from one that will never be ready. The
// zero value is ready to use.
type Progress struct {
	since map[string]time.Time
}

// Stalled reports whether something that waiting does not fix has lasted too long.
func (p *Progress) Stalled(facts Facts, want Wanted, now time.Time) bool {
	stuck := map[string]time.Time{}
	stalled := false
	for what, limit := range standstills(facts, want) {
		since, known := p.since[what]
		if !known {
			since = now
		}
		stuck[what] = since
		stalled = stalled || now.Sub(since) >= limit
	}
	p.since = stuck // an entry that made progress starts again
	return stalled
}

// standstills returns the problems that waiting does not fix, with their time limits: devices whose
// plugin will add no more, pods that cannot be scheduled although every node has its devices, a dashboard
// that cannot be reached although its head is ready, and a token that the head rejects.
func standstills(facts Facts, want Wanted) map[string]time.Duration {
	found := map[string]time.Duration{}
	complete := len(facts.Nodes) >= want.Nodes
	for _, node := range facts.Nodes {
		devices := true
		if node.GPUs < int64(want.GPUsPerNode) {
			devices = false
			if node.Ready && node.GPUPlugin.finished() {
				found[node.Name+" "+GPUResource] = stallTimeout
			}
		}
		if node.EFA < int64(want.EFAPerNode) {
			devices = false
			if node.Ready && node.EFAPlugin.finished() {
				found[node.Name+" "+EFAResource] = stallTimeout
			}
		}
		complete = complete && node.Ready && devices
	}
	for _, pod := range facts.Pods {
		if complete && pod.unschedulable() || pod.lacksEFA(want) || pod.cannotStart() {
			found[pod.Name] = stallTimeout
		}
	}
	if len(facts.Pods) < 1+want.Nodes && len(facts.Warnings) > 0 {
		found["RayCluster"] = stallTimeout
	}
	if facts.dashboardDown() {
		found["dashboard"] = dashboardTimeout
	}
	if facts.tokenRejected() {
		found["token"] = stallTimeout
	}
	return found
}

// finished reports whether a plugin will add no more devices: it runs, crashes, or cannot run on
// the node.
func (p Plugin) finished() bool {
	if p.Pod == "" {
		return p.Absent != ""
	}
	return p.Reason == "" || strings.Contains(p.Reason, "CrashLoopBackOff") ||
		strings.Contains(p.Reason, "exit status")
}

// unschedulable reports whether the scheduler found no node for a pod. The node groups have a fixed
// size, so no other node will come.
func (p Pod) unschedulable() bool {
	return p.Node == "" && strings.HasPrefix(p.Reason, "Unschedulable") &&
		!strings.Contains(p.Reason, "node.kubernetes.io/")
}

// cannotStart reports whether a container of the pod cannot be started, or crashes again and again. A
// container that crashes is in turn terminated and backing off.
// Source of the reasons: k8s.io/kubernetes/pkg/kubelet/images/types.go and kubelet/container/sync_result.go.
func (p Pod) cannotStart() bool {
	return slices.ContainsFunc([]string{
		"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull",
		"CreateContainerConfigError", "CreateContainerError", "CrashLoopBackOff", ": exit status ",
	}, func(reason string) bool { return strings.Contains(p.Reason, reason) })
}

// lacksEFA reports whether a worker does not request its node's EFA devices.
func (p Pod) lacksEFA(want Wanted) bool {
	return !p.Head && p.EFA < int64(want.EFAPerNode)
}
