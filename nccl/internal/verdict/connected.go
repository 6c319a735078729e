package verdict

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// connected checks that a rank of a communicator with collective channels says
// that it was connected. A channel line is printed at set-up, so it proves
// nothing by itself: with a closed security group the job hangs right after it.
// In releases that are silent about it, the end of the initialization is
// the proof.
func (j *runJudge) connected(c *model.Communicator, rk *model.Rank, held map[*model.Process]int) {
	joined, clean := 0, rk.Clean()
	for _, m := range rk.Views {
		p := m.Proc
		if clean && p.File.Repeats > 0 {
			continue // a driver's copy, in no reliable order
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
		j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, rk.First(), "communicator "+c.Key+": Connected lines of another communicator only")
		return
	}
	if rk.SilentInUse(c.NoConnectedLines) {
		j.blockVariant(efaOrOff(rk), finding.NeverConnected, rk.Rank, rk.First(), "communicator "+c.Key+": others' channels only, none of this rank")
	}
}

// efaOrOff is the circumstance of a finding about the rank's channels: the
// security group of EFA is not to blame for other networks.
func efaOrOff(r *model.Rank) finding.Variant {
	for _, v := range r.Views {
		for i := range v.Tallies {
			t := &v.Tallies[i]
			if t.Medium == record.MediumNet && record.IsEFANetwork(record.NetworkOf(t.Label)) {
				return finding.Plain
			}
		}
	}
	return finding.OffEFA
}
