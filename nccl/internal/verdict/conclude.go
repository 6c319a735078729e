package verdict

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Outcome is a report, and whether its verdict can still change.
type Outcome struct {
	report.Report
	// Failed reports whether a channel between nodes is not on EFA, so that more lines cannot
	// change the verdict to efa.
	Failed bool
}

// Conclude judges the files and returns the report. It does not change the files, so they can grow
// and be judged again.
func Conclude(files []*model.File, opts Expected) Outcome {
	ev := model.Join(files)
	found := newFindings()
	verdict := report.EFA
	runs := judged(ev)
	decided, failed := runs[0], false
	shared := runJudge{opts: opts, ev: ev, found: found, stripped: stripped(ev)}
	shared.everyRun()
	for _, r := range runs {
		j := shared
		j.run = r
		if worst := worse(verdict, j.judge()); worst != verdict {
			verdict, decided = worst, r
		}
		failed = failed || j.failed
	}
	if len(runs) > 1 {
		found.add(finding.SeveralRuns, noRank, runs[1].Comms[0].Ranks[0].First(), "")
	}
	if failedAlone(ev, found) {
		verdict = worse(verdict, report.Inconclusive)
	}
	diagnose(ev, verdict, found)
	prove(ev, decided, found, verdict)
	r := tables(ev, runs, decided)
	r.Verdict = verdict
	r.Findings = found.list(verdict)
	return Outcome{Report: r, Failed: failed}
}

// judged returns the runs that span nodes, or may, or, if there are none, one run with everything.
func judged(ev *model.Evidence) []*model.Run {
	var wide []*model.Run
	for _, r := range ev.Runs {
		if slices.ContainsFunc(r.Comms, func(c *model.Communicator) bool { return c.Spans() || c.Contradicts() }) {
			wide = append(wide, r)
		}
	}
	if len(wide) > 0 {
		return wide
	}
	return []*model.Run{{Comms: ev.Comms}}
}

// worse returns the worse of two verdicts. The order is not-efa, mixed, inconclusive, efa.
func worse(a, b report.Verdict) report.Verdict {
	rank := func(v report.Verdict) int {
		return slices.Index([]report.Verdict{report.EFA, report.Inconclusive, report.Mixed, report.NotEFA}, v)
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// failedAlone adds findings for processes that failed before they joined a communicator.
func failedAlone(ev *model.Evidence, found *findings) bool {
	attached := map[*model.Process]bool{}
	for _, parts := range ev.Parts {
		for _, p := range parts {
			attached[p] = true
		}
	}
	whole := len(ev.Comms) > 0 && !slices.ContainsFunc(ev.Comms, func(c *model.Communicator) bool {
		n, _ := c.Missing()
		return n > 0
	})
	failed := false
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			alone := len(p.Views) == 0 && !attached[p]
			if !p.GaveUp() && (!alone || !p.OffEFA()) {
				continue
			}
			failed = true
			// Where ranks are missing, the process may be one of them, in a log that was cut.
			if whole || len(ev.Comms) > 0 && p.Aborted() {
				found.add(finding.AttemptFailed, noRank, p.First, "")
			}
			intended(p, found)
		}
	}
	return failed
}

// intended reports what a process chose that joined no communicator.
func intended(p *model.Process, found *findings) {
	for _, u := range p.Pending() {
		if !record.IsEFANetwork(u.Name) {
			found.addVariant(finding.Chosen, finding.OtherNetwork, noRank, u.Ref, "the process would use "+u.Name)
		}
	}
	if name, failed := p.Provided(); !failed && name != "" && name != record.EFAProvider {
		found.addVariant(finding.Chosen, finding.ProviderNotEFA, noRank, p.Chosen, "the provider is "+name)
	}
}

// prove lists one line of each kind that the verdict is based on, from the communicator that
// decided it.
func prove(ev *model.Evidence, decided *model.Run, found *findings, v report.Verdict) {
	j := &runJudge{ev: ev}
	var from *model.Communicator
	worst := report.TrafficNone
	for _, c := range relevant(decided) {
		shown := shownIn(c)
		for _, rk := range c.Ranks {
			if t := j.traffic(c, rk, shown); from == nil || t != worst && worst.Worse(t) == t {
				from, worst = c, t
			}
		}
	}
	if from != nil {
		proveBy(from, found, v)
	}
	for _, f := range ev.Files { // the provider is always shown, even if no process joined
		for _, p := range f.Procs {
			found.proof(finding.ProofProvider, model.RankOf(p), p.Chosen)
		}
	}
}

// proveBy lists the lines of one communicator.
func proveBy(c *model.Communicator, found *findings, v report.Verdict) {
	for _, rk := range c.Ranks {
		for _, m := range rk.Views {
			found.proof(finding.ProofProvider, rk.Rank, m.Proc.Chosen)
			found.proof(finding.ProofNetwork, rk.Rank, m.NetRef)
			found.proof(finding.ProofConnected, rk.Rank, m.JoinRef)
			for i := range m.Tallies {
				if t := &m.Tallies[i]; proves(t, v) {
					found.proof(finding.ProofChannel, rk.Rank, t.First)
				}
			}
		}
	}
}

// proves reports whether the channels support the verdict: network channels and, for not-efa, only
// those not on EFA.
func proves(t *model.Tally, v report.Verdict) bool {
	onEFA := record.IsEFANetwork(record.NetworkOf(t.Label)) && t.Provider == record.EFAProvider
	return t.Medium == record.MediumNet && (v != report.NotEFA || !onEFA)
}

func sortedKeys(m map[string]model.Ref) []string { return slices.Sorted(maps.Keys(m)) }

// firstRef returns the first ref by file and line.
func firstRef(m map[string]model.Ref) model.Ref {
	refs := slices.Collect(maps.Values(m))
	return slices.MinFunc(refs, func(a, b model.Ref) int {
		return cmp.Or(cmp.Compare(a.File.Index, b.File.Index), cmp.Compare(a.Line, b.Line))
	})
}
