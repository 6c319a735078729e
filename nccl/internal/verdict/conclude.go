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

// Outcome is a report, and whether later lines can still make its verdict efa.
type Outcome struct {
	report.Report
	// Failed reports that no later line can: a channel between nodes is on another network.
	Failed bool
}

// Conclude judges everything and writes the report. It changes none of the files, so that they may
// go on and be judged again.
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

// judged lists the runs that count: those that span nodes or, when none does,
// everything as one, so that its emptiness is explained.
func judged(ev *model.Evidence) []*model.Run {
	var wide []*model.Run
	for _, r := range ev.Runs {
		if slices.ContainsFunc(r.Comms, (*model.Communicator).Spans) {
			wide = append(wide, r)
		}
	}
	if len(wide) > 0 {
		return wide
	}
	return []*model.Run{{Comms: ev.Comms}}
}

// worse orders verdicts over several runs: proof that EFA was not used outweighs
// a mixture, which outweighs doubt.
func worse(a, b report.Verdict) report.Verdict {
	rank := func(v report.Verdict) int {
		return slices.Index([]report.Verdict{report.EFA, report.Inconclusive, report.Mixed, report.NotEFA}, v)
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// failedAlone finds processes that failed before they joined anything, or
// anything more: an attempt of their own, which proves nothing.
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

// prove lists one line of each kind that the verdict is based on, from the communicator that decided.
func prove(ev *model.Evidence, decided *model.Run, found *findings, v report.Verdict) {
	j := &runJudge{ev: ev}
	var from *model.Communicator
	worst := report.TrafficNone
	for _, c := range weighed(decided) {
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
	for _, f := range ev.Files { // the provider is always shown, also where nothing joined
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

// proves reports whether the tally's channels are what the verdict rests on:
// network channels and, where the verdict is that no EFA was used, not those
// that were on it.
func proves(t *model.Tally, v report.Verdict) bool {
	onEFA := record.IsEFANetwork(record.NetworkOf(t.Label)) && t.Provider == record.EFAProvider
	return t.Medium == record.MediumNet && (v != report.NotEFA || !onEFA)
}

func sortedKeys(m map[string]model.Ref) []string { return slices.Sorted(maps.Keys(m)) }

// anyRef is the first of the refs by file and line.
func anyRef(m map[string]model.Ref) model.Ref {
	refs := slices.Collect(maps.Values(m))
	return slices.MinFunc(refs, func(a, b model.Ref) int {
		return cmp.Or(cmp.Compare(a.File.Index, b.File.Index), cmp.Compare(a.Line, b.Line))
	})
}
