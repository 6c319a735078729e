package model

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Communicator is one communicator across all processes.
type Communicator struct {
	Key           string
	Size          int32
	SizesConflict bool // members disagree about the size, or a rank is outside it
	Nodes         int32
	Ranks         []*Rank // by rank
	// NoConnectedLines reports whether its run's NCCL prints no Connected lines.
	NoConnectedLines bool
	// AmbiguousHosts reports whether hosts share a name, so that a process may be several.
	AmbiguousHosts bool
	// mixed is set where no line says which rank is in which of several splits.
	mixed *mixture
	// hosts is set by evidentHosts.
	hosts *hosts
	// Stale reports whether another process has one of these ranks as well.
	Stale bool
}

func (c *Communicator) take(rk *Rank) {
	c.Ranks = append(c.Ranks, rk)
	for _, m := range rk.Views {
		if c.Size != 0 && m.size != c.Size || m.Rank >= m.size {
			c.SizesConflict = true
		}
		c.Size = max(c.Size, m.size)
		c.Nodes = max(c.Nodes, m.nodes)
	}
}

// Hosts counts the different host names of the communicator's ranks.
func (c *Communicator) Hosts() int {
	names := map[string]bool{}
	for _, rk := range c.Ranks {
		names[rk.Host] = true
	}
	return len(names)
}

// Spans reports whether the communicator joins nodes, or may: NCCL says so, or,
// where no line has nNodes, a network channel means two nodes, and so do
// two hosts and a rank that is not in evidence. An initialization that hangs prints
// START and gets no further. NCCL counts a whole NVLink domain as one node, whose
// hosts NVLink then joins.
func (c *Communicator) Spans() bool {
	return c.Nodes > 1 || c.Nodes < 1 && (c.Crosses() || c.scattered()) || c.bridges()
}

// scattered reports whether the communicator's ranks are not all on one host.
func (c *Communicator) scattered() bool {
	n, _ := c.Missing()
	return n > 0 || c.Hosts() > 1
}

// bridges reports whether multi-node NVLink joins ranks of two hosts.
func (c *Communicator) bridges() bool {
	for _, rk := range c.Ranks {
		for _, m := range rk.Views {
			for i := range m.Tallies {
				if t := &m.Tallies[i]; t.Medium == record.MediumMNNVL && c.MNNVL(rk, t) != report.TrafficLocal {
					return true
				}
			}
		}
	}
	return false
}

// Crosses reports whether any rank opened a channel that can leave its node.
func (c *Communicator) Crosses() bool {
	for _, rk := range c.Ranks {
		for _, m := range rk.Views {
			for i := range m.Tallies {
				if m.Tallies[i].Medium != record.MediumLocal {
					return true
				}
			}
		}
	}
	return false
}

// Missing counts the ranks that are not in evidence and names the first few.
func (c *Communicator) Missing() (n int, first []int32) {
	next := int32(0)
	for _, rk := range c.Ranks {
		for ; next < rk.Rank && next < c.Size && len(first) < 8; next++ {
			first = append(first, next)
		}
		next = max(next, rk.Rank+1)
	}
	for ; next < c.Size && len(first) < 8; next++ {
		first = append(first, next)
	}
	return max(0, int(c.Size)-len(c.Ranks)), first
}

// Largest returns the largest communicator, nil without any.
func Largest(comms []*Communicator) *Communicator {
	if len(comms) == 0 {
		return nil
	}
	return slices.MaxFunc(comms, CompareSize)
}

// CompareSize orders communicators: those that span nodes last, then by size, then those in use.
func CompareSize(a, b *Communicator) int {
	return cmp.Or(
		cmp.Compare(truth(a.Spans()), truth(b.Spans())),
		cmp.Compare(a.Size, b.Size),
		cmp.Compare(truth(a.Crosses()), truth(b.Crosses())),
		cmp.Compare(len(a.Ranks), len(b.Ranks)),
	)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// RanksByHost counts the communicator's ranks on each host.
func (c *Communicator) RanksByHost() map[string]int {
	n := map[string]int{}
	for _, rk := range c.Ranks {
		n[rk.Host]++
	}
	return n
}

// NodeCount returns NCCL's count of nodes, or the number of hosts in evidence where that is certain
// and all ranks are there; 0 when unknown, as when hosts share a name.
func (c *Communicator) NodeCount() int {
	missing, _ := c.Missing()
	hosts := c.DistinctHosts()
	switch {
	case missing == 0 && c.Nodes > int32(hosts) && c.HostsCertain():
		return hosts
	case c.Nodes > 0:
		return int(c.Nodes)
	case missing == 0 && hosts > 1:
		return hosts
	}
	return 0
}
