package nccl

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// end is one direction between a member and a peer, as the member printed it.
type end struct {
	peer     int32
	receives bool
	channels int32
}

// addEnd counts channel lines for the pictures. Neighboring lines mostly name
// the same peer, and the peers of rings and trees are few.
func (t *tally) addEnd(ch *channelLine, lines int) {
	peer, receives := ch.peer(), ch.dir == receiving
	for i := len(t.ends) - 1; i >= 0; i-- {
		if e := &t.ends[i]; e.peer == peer && e.receives == receives {
			e.channels += int32(lines)
			return
		}
	}
	if len(t.ends) < maxPeers {
		t.ends = append(t.ends, end{peer, receives, int32(lines)})
	}
}

// edges joins what the ranks of the communicator printed about each direction.
// Both ends print a network channel: the larger of their counts stands.
func (c *comm) edges() []report.Edge {
	type key struct {
		from, to int32
		label    string
	}
	counts := map[key][2]int32{}
	for _, cl := range c.claims {
		clean := cl.clean()
		for _, m := range cl.members {
			if clean && m.proc.file.repeats > 0 {
				continue // a driver's copy of the same lines
			}
			for i := range m.tallies {
				for _, e := range m.tallies[i].ends {
					k, side := key{cl.rank, e.peer, m.tallies[i].label}, 0
					if e.receives {
						k.from, k.to, side = e.peer, cl.rank, 1
					}
					n, known := counts[k]
					if !known && len(counts) >= report.MaxEdges {
						continue
					}
					n[side] += e.channels
					counts[k] = n
				}
			}
		}
	}
	out := make([]report.Edge, 0, len(counts))
	for k, n := range counts {
		out = append(out, report.Edge{From: int(k.from), To: int(k.to), Transport: clean(k.label), Channels: int(max(n[0], n[1]))})
	}
	slices.SortFunc(out, func(a, b report.Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Transport, b.Transport))
	})
	return out
}
