package verdict

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// edgesOf joins what the ranks of the communicator printed about each direction.
// Both ends print a network channel: the larger of their counts is used.
func edgesOf(c *model.Communicator) []report.Edge {
	type key struct {
		from, to int32
		label    string
	}
	counts := map[key][2]int32{}
	for _, rk := range c.Ranks {
		clean := rk.Clean()
		for _, m := range rk.Views {
			if clean && m.Proc.File.Repeats > 0 {
				continue // a driver's copy of the same lines
			}
			for i := range m.Tallies {
				for _, e := range m.Tallies[i].Ends {
					k, side := key{rk.Rank, e.Peer, m.Tallies[i].Label}, 0
					if e.Receives {
						k.from, k.to, side = e.Peer, rk.Rank, 1
					}
					n, known := counts[k]
					if !known && len(counts) >= report.MaxEdges {
						continue
					}
					n[side] += e.Channels
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
