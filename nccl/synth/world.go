package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// world is a job: its ranks, the processes that hold them, its communicators,
// and the lines that the processes have printed so far.
type world struct {
	run   Run
	rng   *rand.Rand
	forms forms
	ranks []*rank
	procs []*process
	comms []*comm
	// damaged is the process that Damage applies to, different the one that Fabric treats differently.
	// They are never the same.
	damaged, different *process
}

// rank is one GPU of the job.
type rank struct {
	id, node, local int
	proc            *process
	tid             int
	stuck           bool // in a connection that never succeeds
}

// process prints lines; it holds one rank, or all of a node.
type process struct {
	index, node, pid int
	host             string
	ranks            []*rank
	fabric           fabricState
	lines            []line
	earlier          []line // of a run before this one, by the same process
}

// comm is one communicator.
type comm struct {
	id                uint64
	members           []*rank
	parent            *comm
	splitCount, color int
	used              bool
	sockets           bool // on sockets whatever the process's plugin is
	pointers          map[int]uint64
	at                map[*rank]int // rank in the communicator
	spans             int           // nodes
	outside           []*rank       // take part in the split and get no communicator
}

func newWorld(r Run, rng *rand.Rand) *world {
	w := &world{run: r, rng: rng, forms: forms{r.NCCL}}
	names := w.hostNames()
	basePID := 100 + rng.IntN(30000)
	for node := range r.Nodes {
		for local := range r.GPUs {
			rk := &rank{id: len(w.ranks), node: node, local: local}
			w.ranks = append(w.ranks, rk)
			if local == 0 || !r.OneProcess {
				pid := basePID + local*7
				if r.Hosts != SameNameAndPID {
					pid += node * 97
				}
				w.procs = append(w.procs, &process{
					index: len(w.procs), node: node, pid: pid, host: names[node],
				})
			}
			rk.proc = w.procs[len(w.procs)-1]
			rk.proc.ranks = append(rk.proc.ranks, rk)
			rk.tid = rk.proc.pid
			if r.OneProcess {
				rk.tid += 1 + local
			}
		}
	}
	// Damage applies to the last process, and the first is the different one, so that with two nodes
	// or more something of each kind always remains.
	w.different, w.damaged = w.procs[0], w.procs[len(w.procs)-1]
	w.makeComms()
	for _, p := range w.procs {
		p.fabric = w.fabricOf(p)
	}
	return w
}

// reuse gives this run the hosts and process numbers of an earlier one.
func (w *world) reuse(earlier *world) {
	for i, p := range w.procs {
		if i < len(earlier.procs) {
			q := earlier.procs[i]
			for _, rk := range p.ranks {
				rk.tid += q.pid - p.pid
			}
			p.pid, p.host = q.pid, q.host
		}
	}
}

// append puts the lines of a later run behind those of this one.
func (w *world) append(later *world) {
	for i, p := range later.procs {
		if i < len(w.procs) {
			w.procs[i].earlier = slices.Concat(w.procs[i].earlier, w.procs[i].lines)
			w.procs[i].lines = p.lines
		} else {
			p.index = len(w.procs)
			w.procs = append(w.procs, p)
		}
	}
}

func (w *world) hostNames() []string {
	patterns := []string{"ip-10-0-%d-%d", "gpu-workers-%d-%d", "node_%d%d", "p5-dy-%d-%d", "raycluster-gpu-group-worker-%d%dxk"}
	pattern := patterns[w.rng.IntN(len(patterns))]
	same := []string{"vm", "user", "unknown"}[w.rng.IntN(3)]
	names := make([]string, w.run.Nodes)
	for i := range names {
		switch w.run.Hosts {
		case SameName, SameNameAndPID:
			names[i] = same
		case Pods:
			names[i] = fmt.Sprintf("trainer-%d-%04x", i, w.rng.IntN(1<<16))
		default:
			names[i] = fmt.Sprintf(pattern, i/200, i%200+10)
		}
	}
	return names
}

func (w *world) newComm(members []*rank, parent *comm) *comm {
	c := &comm{
		id: w.rng.Uint64() >> (4 * uint(w.rng.IntN(3))), members: members, parent: parent,
		used: true, pointers: map[int]uint64{}, at: map[*rank]int{},
	}
	for i, m := range members {
		c.pointers[m.id] = 0x7f0000000000 | w.rng.Uint64N(1<<36)<<4
		c.at[m] = i
		if i == 0 || m.node != members[i-1].node {
			c.spans++
		}
	}
	w.comms = append(w.comms, c)
	return c
}

// makeComms creates the communicators of the run's Groups.
func (w *world) makeComms() {
	all := w.newComm(w.ranks, nil)
	switch w.run.Groups {
	case Split, NestedSplit, UnusedWorld:
		w.split(all, 1, func(rk *rank) int { return rk.local })
		inside := w.split(all, 2, func(rk *rank) int { return rk.node })
		if w.run.Groups == NestedSplit {
			for _, c := range inside {
				w.split(c, 1, func(rk *rank) int { return rk.local % 2 })
			}
			w.split(all, 3, func(*rank) int { return 0 })
		}
		all.used = w.run.Groups != UnusedWorld
	case Subsets:
		w.subsets(all)
	case Second:
		second := w.newComm(w.ranks, nil)
		second.pointers = all.pointers
	case UnusedSecond:
		w.newComm(w.ranks, nil).used = false
	case UnusedAll:
		all.used = false
	}
	if w.run.Fabric == SocketSecondComm {
		w.newComm(w.ranks, nil).sockets = true
	}
}

func (w *world) split(parent *comm, count int, color func(*rank) int) []*comm {
	groups := map[int][]*rank{}
	var colors []int
	for _, m := range parent.members {
		k := color(m)
		if groups[k] == nil {
			colors = append(colors, k)
		}
		groups[k] = append(groups[k], m)
	}
	made := make([]*comm, 0, len(colors))
	for _, k := range colors {
		c := w.newComm(groups[k], parent)
		c.splitCount, c.color = count, k
		made = append(made, c)
	}
	return made
}

// subsets splits off the ranks of each place in a node, and those of each node.
func (w *world) subsets(all *comm) {
	count := 0
	one := func(in func(*rank) bool) {
		var members, outside []*rank
		for _, rk := range all.members {
			if in(rk) {
				members = append(members, rk)
			} else {
				outside = append(outside, rk)
			}
		}
		count++
		c := w.newComm(members, all)
		c.splitCount, c.color, c.outside = count, 1000+count, outside
	}
	for local := range w.run.GPUs {
		one(func(rk *rank) bool { return rk.local == local })
	}
	for node := range w.run.Nodes {
		one(func(rk *rank) bool { return rk.node == node })
	}
}

// rankOf returns the rank of member m in the communicator.
func (c *comm) rankOf(m *rank) int { return c.at[m] }

// nodes counts the nodes that the communicator spans.
func (c *comm) nodes() int { return c.spans }

// localRanks counts the members on m's node, and how many of them come before m.
func (c *comm) localRanks(m *rank) (count, before int) {
	for _, o := range c.members {
		if o.node == m.node {
			if o.id < m.id {
				before++
			}
			count++
		}
	}
	return count, before
}

// ring returns the order of the members in the ring of a channel: node by node, and
// rotated inside each node so that channels leave the node at different GPUs.
func (c *comm) ring(channel int) []int {
	order := make([]int, 0, len(c.members))
	for start := 0; start < len(c.members); {
		end := start
		for end < len(c.members) && c.members[end].node == c.members[start].node {
			end++
		}
		for i := range end - start {
			order = append(order, start+(i+channel)%(end-start))
		}
		start = end
	}
	return order
}
