package verdict

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// edgeKey is one direction between two rows of the table of ranks.
type edgeKey struct {
	from, to int
	label    string
}

// edgeCount counts the channels that the ranks printed for one direction. Both ends print each
// network channel, so the larger count is used.
type edgeCount struct {
	sent, received int32
	traffic        report.Traffic
}

// edges joins what the ranks of the communicators printed about each direction.
func (l *rankList) edges(comms []*model.Communicator) []report.Edge {
	total := map[edgeKey]report.Edge{}
	for _, c := range comms {
		for k, n := range l.edgesOf(c, len(total)) {
			e, known := total[k]
			if !known {
				e = report.Edge{From: k.from, To: k.to, Transport: k.label, Traffic: n.traffic}
			}
			e.Channels += int(max(n.sent, n.received))
			e.Traffic = e.Traffic.Worse(n.traffic)
			total[k] = e
		}
	}
	out := make([]report.Edge, 0, len(total))
	for _, e := range total {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b report.Edge) int {
		return cmp.Or(
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Transport, b.Transport),
		)
	})
	return out
}

// edgesOf counts one communicator's channels by direction; have is the number of directions that are
// known already.
func (l *rankList) edgesOf(c *model.Communicator, have int) map[edgeKey]edgeCount {
	counts := map[edgeKey]edgeCount{}
	shown := shownIn(c)
	for _, rk := range c.Ranks {
		self := l.rows[l.rowOf[rk]].Rank
		for t, traffic := range l.judge.tallies(c, rk) {
			traffic = shown(traffic)
			for _, end := range t.Ends {
				peer, known := l.peer(c, rk, end.Peer)
				if !known {
					continue
				}
				k := edgeKey{self, peer, Clean(t.Label)}
				if end.Receives {
					k.from, k.to = peer, self
				}
				n, known := counts[k]
				if !known && have+len(counts) >= report.MaxEdges {
					continue
				}
				if end.Receives {
					n.received += end.Channels
				} else {
					n.sent += end.Channels
				}
				n.traffic = cmp.Or(n.traffic, traffic).Worse(traffic)
				counts[k] = n
			}
		}
	}
	return counts
}

// peer returns the number, in the table of ranks, of a rank's peer in a communicator. A missing
// peer has a number only in the communicator that numbers the table.
func (l *rankList) peer(c *model.Communicator, rk *model.Rank, peer int32) (rank int, known bool) {
	byRank := func(x *model.Rank, n int32) int { return cmp.Compare(x.Rank, n) }
	i, found := slices.BinarySearchFunc(c.Ranks, peer, byRank)
	if found {
		return l.rows[l.rowOf[c.Ranks[i]]].Rank, true
	}
	return int(peer), l.numbered[l.rowOf[rk]] == c
}
