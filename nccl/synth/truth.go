package synth

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// truthOf returns the correct verdict of the generated run: the fabric of every connection is
// known, and so is which lines are left to prove it.
func truthOf(r Run, w *world) Truth {
	t := Truth{WorldSize: r.Nodes * r.GPUs, Nodes: r.Nodes, Completed: r.Completed}
	t.expect(r.Expect)
	onEFA, onOther, unknown := w.channels()
	if r.NextInSameFiles {
		t.unnamed = r.Damage == MaskNet || r.Damage == CutHead
		t.moved = r.Layout == RaySession
	}
	t.onEFA, t.blank = onEFA || unknown, r.Nodes < 2 || (!onEFA && !onOther && !unknown)
	t.Verdict = w.verdict(onEFA, onOther)
	t.Accept = []report.Verdict{t.Verdict}
	if unknown {
		t.accept(report.NotEFA, report.Inconclusive)
	}
	w.lenience(&t, onEFA && !onOther && w.proven())
	t.Codes = r.codes()
	return t
}

// verdict returns the correct one for connections on EFA, on another network, or both.
func (w *world) verdict(onEFA, onOther bool) report.Verdict {
	switch {
	case w.run.Nodes < 2:
		return report.Inconclusive
	case onEFA && onOther:
		return report.Mixed
	case onOther:
		return report.NotEFA
	case onEFA && w.run.Launcher != RayDedup && w.proven():
		return report.EFA
	default:
		return report.Inconclusive
	}
}

// expect sets what the judge is asked to expect.
func (t *Truth) expect(e Expect) {
	switch e {
	case Met:
		t.ExpectWorldSize, t.ExpectNodes = t.WorldSize, t.Nodes
	case MoreRanks:
		t.ExpectWorldSize = t.WorldSize + 8
	case MoreNodes:
		t.ExpectNodes = t.Nodes + 1
	}
}

func (t *Truth) accept(more ...report.Verdict) {
	for _, v := range more {
		if !t.Allows(v) {
			t.Accept = append(t.Accept, v)
		}
	}
}

// offEFA reports whether something used another network than EFA.
func (t Truth) offEFA() bool {
	return t.Allows(report.NotEFA) || t.Allows(report.Mixed)
}

// channels returns the networks of the remaining channel lines.
func (w *world) channels() (onEFA, onOther, unknown bool) {
	for _, p := range w.procs {
		for _, l := range p.lines {
			if l.role != roleChannel {
				continue
			}
			switch l.truth {
			case carrierEFA:
				onEFA = true
			case carrierOther:
				onOther = true
			default:
				unknown = true
			}
		}
	}
	return onEFA, onOther, unknown
}

// proven reports whether a run whose channels are all on EFA is fully proven by
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
