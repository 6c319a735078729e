package verdict

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// connected checks that a rank with collective channels printed that it was connected. A channel
// line is printed before the connection, so it is no proof: if a security group blocks traffic, the
// job hangs after it. In releases without a Connected line, the end of the initialization is the
// proof.
func (j *runJudge) connected(c *model.Communicator, rk *model.Rank, held map[*model.Process]int) {
	joined, clean := 0, rk.Clean()
	for _, m := range rk.Views {
		p := m.Proc
		if clean && p.File.Repeats > 0 {
			continue // from the driver's log, which is not in order
		}
		if where, open := p.Unconnected(c.NoConnectedLines); open {
			j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, where, "communicator "+c.Key)
			return
		}
		// Another member is another view of the same lines, so the fullest counts.
		var view model.Connections
		view.Add(p, c.NoConnectedLines)
		for _, q := range j.ev.Parts[p] {
			view.Add(q, c.NoConnectedLines)
		}
		joined = max(joined, view.Most())
	}
	// Where a process holds several ranks, each prints every kind of line.
	if joined < max(1, held[rk.Views[0].Proc]) {
		j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, rk.First(), "communicator "+c.Key+": no Connected line of this rank")
		return
	}
	if p := rk.Views[0].Proc; c.AmbiguousHosts && held[p] > 1 && c.JoinedIn(p) < held[p] {
		j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, rk.First(), "communicator "+c.Key+": only Connected lines of another communicator")
		return
	}
	if rk.SilentInUse(c.NoConnectedLines) {
		j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, rk.First(), "communicator "+c.Key+": only channels of other ranks")
	}
}

// efaOrOff returns the variant of a finding about the rank's channels: the EFA security group does
// not affect other networks.
func efaOrOff(r *model.Rank) finding.Variant {
	for _, v := range r.Views {
		if slices.ContainsFunc(v.Tallies, mayBeEFA) {
			return finding.Plain
		}
	}
	return finding.OffEFA
}

// mayBeEFA reports whether channels use the plugin's network, and no other provider than efa was
// selected before them.
func mayBeEFA(t model.Tally) bool {
	return t.Medium == record.MediumNet && record.IsEFANetwork(record.NetworkOf(t.Label)) &&
		(t.Provider == "" || t.Provider == record.EFAProvider)
}
