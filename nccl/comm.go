package nccl

import (
	"cmp"
	"slices"
)

// comm is one communicator across all processes.
type comm struct {
	key    string
	size   int32
	sizes  bool // members disagree about the size, or a rank is outside it
	nodes  int32
	claims []*claim // by rank
	// silent says that its run's NCCL prints no Connected lines.
	silent bool
	// alike says that hosts share a name, so that a process may be several.
	alike bool
	// stale says that another process claims one of these ranks as well.
	stale bool
}

func (c *comm) take(cl *claim) {
	c.claims = append(c.claims, cl)
	for _, m := range cl.members {
		if c.size != 0 && m.size != c.size || m.rank >= m.size {
			c.sizes = true
		}
		c.size = max(c.size, m.size)
		c.nodes = max(c.nodes, m.nodes)
	}
}

// hosts counts the different host names of the communicator's ranks.
func (c *comm) hosts() int {
	names := map[string]bool{}
	for _, cl := range c.claims {
		names[cl.host] = true
	}
	return len(names)
}

// spans reports whether the communicator joins nodes, or may: NCCL says so, or,
// where no line tells nNodes, a network channel stands for two nodes, and so do
// two hosts and a rank that nobody claims. An initialisation that hangs prints
// START and gets no further. NCCL counts a whole NVLink domain as one node, whose
// hosts NVLink then joins.
func (c *comm) spans() bool {
	return c.nodes > 1 || c.nodes < 1 && (c.crosses() || c.scattered()) || c.bridges()
}

// scattered reports whether the communicator's ranks are not all on one host.
func (c *comm) scattered() bool {
	n, _ := c.missing()
	return n > 0 || c.hosts() > 1
}

// bridges reports whether multi-node NVLink joins ranks of two hosts.
func (c *comm) bridges() bool {
	for _, cl := range c.claims {
		for _, m := range cl.members {
			for i := range m.tallies {
				if t := &m.tallies[i]; t.medium == mediumMNNVL && c.mnnvl(cl, t) != classLocal {
					return true
				}
			}
		}
	}
	return false
}

// crosses reports whether any rank opened a channel that can leave its node.
func (c *comm) crosses() bool {
	for _, cl := range c.claims {
		for _, m := range cl.members {
			for i := range m.tallies {
				if m.tallies[i].medium != mediumLocal {
					return true
				}
			}
		}
	}
	return false
}

// missing counts the ranks that nobody claims and names the first few.
func (c *comm) missing() (n int, first []int32) {
	next := int32(0)
	for _, cl := range c.claims {
		for ; next < cl.rank && next < c.size && len(first) < 8; next++ {
			first = append(first, next)
		}
		next = max(next, cl.rank+1)
	}
	for ; next < c.size && len(first) < 8; next++ {
		first = append(first, next)
	}
	return max(0, int(c.size)-len(c.claims)), first
}

// widest orders communicators: those that span nodes first, then by size, then
// those in use.
func widest(comms []*comm) *comm {
	if len(comms) == 0 {
		return nil
	}
	return slices.MaxFunc(comms, func(a, b *comm) int {
		return cmp.Or(
			cmp.Compare(truth(a.spans()), truth(b.spans())),
			cmp.Compare(a.size, b.size),
			cmp.Compare(truth(a.crosses()), truth(b.crosses())),
			cmp.Compare(len(a.claims), len(b.claims)),
		)
	})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
