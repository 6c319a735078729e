package model

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// MNNVL returns the traffic of a rank's NVLink channels. NCCL prints P2P/MNNVL for every pair once
// multi-node NVLink is on, inside a host too. Between hosts it is an inter-node transport that is
// not EFA: such a run does not prove EFA. Where hosts may share a name, it is unknown.
func (c *Communicator) MNNVL(rk *Rank, t *Tally) report.Traffic {
	if len(t.peers) > maxPeers {
		return report.TrafficUnknown
	}
	shared := int32(c.Hosts()) < c.Nodes
	for _, peer := range t.peers {
		i, ok := slices.BinarySearchFunc(c.Ranks, peer, func(x *Rank, r int32) int { return int(x.Rank - r) })
		switch {
		case !ok:
			return report.TrafficUnknown
		case c.Ranks[i].Host != rk.Host:
			return report.TrafficOther
		case shared:
			return report.TrafficUnknown
		}
	}
	return report.TrafficLocal
}
