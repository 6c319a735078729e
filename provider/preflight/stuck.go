package preflight

import (
	"strings"
	"time"
)

// settled is how long a cluster may show no motion towards a device or a place
// before it is given up: a started plugin makes its devices allocatable, and the
// scheduler finds a place, within seconds. Waiting on would only cost money.
const settled = time.Minute

// Patience tells a cluster that is still starting from one that will never be
// ready. The zero value has seen nothing.
type Patience struct {
	since map[string]time.Time
}

// Over looks at the facts of a moment and says whether something that waiting
// does not mend has stood for long enough.
func (p *Patience) Over(facts Facts, want Wanted, now time.Time) bool {
	stuck := map[string]time.Time{}
	over := false
	for _, what := range standstills(facts, want) {
		since, known := p.since[what]
		if !known {
			since = now
		}
		stuck[what] = since
		over = over || now.Sub(since) >= settled
	}
	p.since = stuck // what moved in between starts anew
	return over
}

// standstills names what waiting does not mend: devices whose plugin had its
// chance, and pods that no node takes although every node has its devices.
func standstills(facts Facts, want Wanted) []string {
	var found []string
	complete := len(facts.Nodes) >= want.Nodes
	for _, node := range facts.Nodes {
		devices := true
		if node.GPUs < int64(want.GPUsPerNode) {
			devices = false
			if node.Ready && node.GPUPlugin.spent() {
				found = append(found, node.Name+" "+GPUResource)
			}
		}
		if node.EFA < int64(want.EFAPerNode) {
			devices = false
			if node.Ready && node.EFAPlugin.spent() {
				found = append(found, node.Name+" "+EFAResource)
			}
		}
		complete = complete && node.Ready && devices
	}
	for _, pod := range facts.Pods {
		if complete && pod.unplaced() || pod.lacksEFA(want) {
			found = append(found, pod.Name)
		}
	}
	return found
}

// spent is true of a plugin that will bring no more devices: it runs, it
// crashes, or it can have no pod on the node.
func (p Plugin) spent() bool {
	if p.Pod == "" {
		return p.Absent != ""
	}
	return p.Trouble == "" || strings.Contains(p.Trouble, "CrashLoopBackOff") || strings.Contains(p.Trouble, "exit status")
}

// unplaced is true of a pod that the scheduler tried to place, on nodes that
// are there: the node groups have a fixed size, so no other node will come.
func (p Pod) unplaced() bool {
	return p.Node == "" && strings.HasPrefix(p.Trouble, "Unschedulable") && !strings.Contains(p.Trouble, "node.kubernetes.io/")
}

// lacksEFA is true of a worker that does not ask for its node's EFA devices.
func (p Pod) lacksEFA(want Wanted) bool {
	return !p.Head && p.EFA < int64(want.EFAPerNode)
}
