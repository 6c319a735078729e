package model

import "slices"

// Class says what a channel proves about inter-node traffic.
type Class uint8

const (
	ClassLocal   Class = iota // stays inside a node
	ClassEFA                  // on EFA
	ClassOther                // between nodes, on something else
	ClassUnknown              // between nodes, and the evidence does not say on what
)

// Mnnvl says what NVLink channels of a rank mean. NCCL prints P2P/MNNVL for
// every pair once multi-node NVLink is on, inside a host too. Between hosts it
// is an inter-node transport that is not EFA: such a run has not proven EFA,
// however fast it is. Where hosts may share a name, it is unknown.
func (c *Communicator) Mnnvl(rk *Rank, t *Tally) Class {
	if len(t.peers) > maxPeers {
		return ClassUnknown
	}
	shared := int32(c.Hosts()) < c.Nodes
	for _, peer := range t.peers {
		i, ok := slices.BinarySearchFunc(c.Ranks, peer, func(x *Rank, r int32) int { return int(x.Rank - r) })
		switch {
		case !ok:
			return ClassUnknown
		case c.Ranks[i].Host != rk.Host:
			return ClassOther
		case shared:
			return ClassUnknown
		}
	}
	return ClassLocal
}
