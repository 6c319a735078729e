package synth

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/transport"
)

// truthOf tells the verdict from what was built: the fabric of every connection
// is known, and so is which lines are left to prove it.
func truthOf(r Run, w *world) Truth {
	t := Truth{WorldSize: r.Nodes * r.GPUs, Nodes: r.Nodes, Completed: r.Completed}
	switch r.Expect {
	case Met:
		t.ExpectWorldSize, t.ExpectNodes = t.WorldSize, t.Nodes
	case MoreRanks:
		t.ExpectWorldSize = t.WorldSize + 8
	case MoreNodes:
		t.ExpectNodes = t.Nodes + 1
	}
	onEFA, onOther, unknown := w.channels()
	t.unnamed = r.NextInSameFiles && (r.Damage == MaskNet || r.Damage == CutHead)
	t.moved = r.NextInSameFiles && r.Layout == RaySession
	t.onEFA, t.blank = onEFA || unknown, r.Nodes < 2 || (!onEFA && !onOther && !unknown)
	switch {
	case r.Nodes < 2:
		t.Verdict = transport.Inconclusive
	case onEFA && onOther:
		t.Verdict = transport.Mixed
	case onOther:
		t.Verdict = transport.NotEFA
	case onEFA && r.Launcher != RayDedup && w.proven():
		t.Verdict = transport.EFA
	default:
		t.Verdict = transport.Inconclusive
	}
	t.Accept = []transport.Verdict{t.Verdict}
	if unknown {
		t.accept(transport.NotEFA, transport.Inconclusive)
	}
	w.lenience(&t, onEFA && !onOther && w.proven())
	t.Codes = r.codes()
	return t
}

func (t *Truth) accept(more ...transport.Verdict) {
	for _, v := range more {
		if !t.Allows(v) {
			t.Accept = append(t.Accept, v)
		}
	}
}

// offEFA says whether something rode on another network than EFA.
func (t Truth) offEFA() bool {
	return t.Allows(transport.NotEFA) || t.Allows(transport.Mixed)
}

// channels says on what the channel lines that are left really are.
func (w *world) channels() (onEFA, onOther, unknown bool) {
	for _, p := range w.procs {
		for _, l := range p.lines {
			if l.role != roleChannel {
				continue
			}
			switch l.truth {
			case rodeEFA:
				onEFA = true
			case rodeOther:
				onOther = true
			default:
				unknown = true
			}
		}
	}
	return onEFA, onOther, unknown
}

// proven says whether a run whose channels are all on EFA is fully proven by
// what its processes printed.
func (w *world) proven() bool {
	r := w.run
	switch {
	case !r.NCCL.AtLeast(6, 4), r.Damage != Whole:
		return false
	case r.PointToPoint && !r.Completed, r.Expect == MoreRanks, r.Expect == MoreNodes:
		return false
	}
	for _, c := range w.comms {
		if c.used && !w.connects(c) {
			return false
		}
	}
	return slices.Contains([]Fabric{OnEFA, OnEFAAfterRDMAAttempt, OnEFAReselected, OnEFAStacked}, r.Fabric)
}

// lenience adds the answers that are right too, where the run destroys lines at
// random, hides which process wrote a line, or where the contract leaves the
// choice. It never adds `efa` to a run that is not.
func (w *world) lenience(t *Truth, onlyEFA bool) {
	r := w.run
	glued := r.Launcher == TimeGlued || (r.NCCL.AtLeast(26, 2) && r.Stamp == Tight)
	switch {
	case r.Text == TornAny, r.Text == JoinedTight, glued, r.Launcher == RayDedup, r.Damage == MaskNet,
		r.Damage == ProviderLineLost, r.Damage == NetworkLineLost, r.Damage == CutHead:
		t.accept(transport.Inconclusive)
		if t.Verdict == transport.Mixed {
			t.accept(transport.NotEFA)
		}
	}
	if r.Expect == Met && !r.NCCL.AtLeast(20, 3) && (r.Hosts == SameName || r.Hosts == SameNameAndPID) {
		// No line tells the number of nodes; equal bus ids may.
		t.accept(transport.Inconclusive)
	}
	if r.Text == TornAny || r.Text == JoinedTight {
		// Whichever line is lost may be the one that tells networks apart.
		t.accept(transport.NotEFA, transport.Mixed)
	}
	if r.Layout == RaySession {
		t.accept(transport.Inconclusive)
	}
	if r.OneProcess && r.Damage == NetworkLineLost && t.onEFA && t.Verdict == transport.Inconclusive {
		// The other ranks of the process name its network.
		t.accept(transport.EFA)
	}
	if r.Launcher == RayDedup && (r.Fabric == OnEFAReselected || r.Fabric == ProviderReselectedTCP) {
		// Ray moves lines, so that the last selection may not be the last printed.
		t.accept(transport.Mixed)
	}
	if r.Launcher == RayDedup && len(w.procs) == 2 && onlyEFA {
		// Of two processes' lines, Ray may have moved some and dropped none.
		t.accept(transport.EFA)
	}
	if r.Launcher == RayDedup && t.Verdict == transport.NotEFA {
		// A swallowed line stands for ranks that nobody can name.
		t.Verdict = transport.Inconclusive
	}
}

// worst joins the truths of two runs in one body of evidence.
func worst(a, b Truth) Truth {
	if a.Allows(transport.EFA) && b.Allows(transport.EFA) {
		a.accept(b.Accept...)
		a.Codes = nil
		return a
	}
	out := a
	out.Accept, out.onEFA, out.blank = nil, a.onEFA || b.onEFA, a.blank && b.blank
	for _, t := range []Truth{a, b} {
		for _, v := range t.Accept {
			if v != transport.EFA {
				out.accept(v)
			}
		}
	}
	if (a.onEFA || b.onEFA) && (a.offEFA() || b.offEFA()) {
		// The worse run's verdict, or one for the body of evidence as a whole.
		out.accept(transport.NotEFA, transport.Mixed)
	}
	if a.onEFA && b.onEFA && a.unnamed {
		// Lines of the same process that name no communicator merge with the next run's.
		out.accept(b.Accept...)
	}
	if a.moved || a.unnamed && b.offEFA() {
		out.accept(transport.Mixed)
	}
	if (a.blank && b.Allows(transport.EFA)) || (b.blank && a.Allows(transport.EFA)) {
		// A run without a connection looks like communicators that were not used.
		out.accept(transport.EFA)
	}
	out.Verdict = out.Accept[0]
	out.Codes = nil
	return out
}
