package synth

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// lenience adds the answers that are right too, where the run destroys lines at
// random, hides which process wrote a line, or where the contract leaves the
// choice. It adds `efa` only where everything used EFA and the lines left can be
// read as a proof; onlyEFA says so of what the processes printed.
func (w *world) lenience(t *Truth, onlyEFA bool) {
	if w.linesHidden() {
		t.accept(report.Inconclusive)
		if t.Verdict == report.Mixed {
			t.accept(report.NotEFA)
		}
	}
	r := w.run
	if r.Text == TornAny || r.Text == JoinedTight {
		// Whichever line is lost may be the one that distinguishes networks.
		t.accept(report.NotEFA, report.Mixed)
	}
	if r.Hosts == SameName || r.Hosts == SameNameAndPID {
		w.lenienceOfNames(t)
	}
	if r.OneProcess && r.Fabric == OnEFAReselected && !r.NCCL.AtLeast(20, 3) {
		// No line shows the number of nodes, so that one host may be several.
		t.accept(report.Inconclusive)
	}
	if r.OneProcess && r.Damage == NetworkLineLost && t.onEFA && t.Verdict == report.Inconclusive {
		// The other ranks of the process name its network.
		t.accept(report.EFA)
	}
	if r.Launcher == RayDedup {
		w.lenienceOfDriver(t, onlyEFA)
	}
}

// lenienceOfNames adds those for hosts that share a name.
func (w *world) lenienceOfNames(t *Truth) {
	r := w.run
	switch {
	case r.Expect == Met && !r.NCCL.AtLeast(20, 3):
		// No line shows the number of nodes.
		t.accept(report.Inconclusive)
	case r.OneProcess && r.Fabric == OnEFAReselected:
		// The first selection may be another host's last one.
		t.accept(report.Inconclusive)
	case r.OneProcess && (r.Groups == Split || r.Groups == Subsets):
		// Connected lines name no communicator, and a process prints those of several ranks in
		// several communicators.
		t.accept(report.Inconclusive)
	case r.Text == TornNoise:
		// A Bootstrap line, whose address identifies the host, may be incomplete.
		t.accept(report.Inconclusive)
	}
}

// linesHidden reports whether lines were hidden that show which process or provider
// another line belongs to.
func (w *world) linesHidden() bool {
	r := w.run
	switch {
	case r.Text == TornAny, r.Text == JoinedTight, r.Launcher == TimeGlued, r.Launcher == RayDedup, r.Layout == RaySession:
		return true
	case r.NCCL.AtLeast(26, 2) && r.Stamp == Tight:
		return true
	case !w.forms.tellsConnected() && r.Text == TornNoise:
		return true // the version that makes the missing Connected lines normal
	case w.forms.sharesNetwork() && r.Text == TornNoise && (r.OneProcess || r.Groups == Second):
		return true // the version that makes one network line for several ranks normal
	}
	switch r.Damage {
	case MaskNet, ProviderLineLost, NetworkLineLost, CutHead:
		return true
	default:
		return false
	}
}

// lenienceOfDriver adds those for the log of Ray's driver, in which repeated lines are dropped and
// moved.
func (w *world) lenienceOfDriver(t *Truth, onlyEFA bool) {
	if w.run.Fabric == OnEFAReselected || w.run.Fabric == ProviderReselectedTCP {
		// The last selection may not be the last printed.
		t.accept(report.Mixed)
	}
	if len(w.procs) == 2 && onlyEFA {
		// Of two processes' lines, some may be moved and none dropped.
		t.accept(report.EFA)
	}
	if t.Verdict == report.NotEFA {
		// A dropped line may belong to unknown ranks.
		t.Verdict = report.Inconclusive
	}
}

// worst joins the truths of two runs in one body of evidence.
func worst(a, b Truth) Truth {
	if a.Allows(report.EFA) && b.Allows(report.EFA) {
		a.accept(b.Accept...)
		a.Codes = nil
		return a
	}
	out := a
	out.Accept, out.Codes, out.onEFA, out.blank = nil, nil, a.onEFA || b.onEFA, a.blank && b.blank
	for _, v := range append(append([]report.Verdict{}, a.Accept...), b.Accept...) {
		if v != report.EFA {
			out.accept(v)
		}
	}
	if out.onEFA && (a.offEFA() || b.offEFA()) {
		// The worse run's verdict, or one for the body of evidence as a whole.
		out.accept(report.NotEFA, report.Mixed)
	}
	merged(a, b, &out)
	if (a.blank && b.Allows(report.EFA)) || (b.blank && a.Allows(report.EFA)) {
		// A run without a connection looks like communicators that were not used.
		out.accept(report.EFA)
	}
	out.Verdict = out.Accept[0]
	return out
}

// merged adds the answers that are right where lines of the first run cannot be
// distinguished from those of the second, by the same process.
func merged(a, b Truth, out *Truth) {
	if a.onEFA && b.onEFA && a.unnamed {
		out.accept(b.Accept...)
	}
	if a.moved || a.unnamed && b.offEFA() {
		out.accept(report.Mixed)
	}
}
