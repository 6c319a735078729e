package verdict

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Conclude judges everything and writes the report.
func Conclude(files []*model.File, opts Expected) report.Report {
	ev := model.Join(files)
	r := report.Report{}
	var tables sync.WaitGroup
	tables.Go(func() { fill(&r, ev) }) // reads the evidence only, as the judge does
	found := newFindings()
	verdict := report.EFA
	runs := judged(ev)
	shared := runJudge{opts: opts, ev: ev, found: found}
	shared.everyRun()
	for _, r := range runs {
		j := shared
		j.run = r
		verdict = worse(verdict, j.judge())
	}
	if len(runs) > 1 {
		found.add(finding.SeveralRuns, -1, runs[1].Comms[0].Ranks[0].First(), "")
	}
	if failedAlone(ev, found, len(runs)) || len(runs) == 0 {
		verdict = worse(verdict, report.Inconclusive)
	}
	diagnose(ev, verdict, found)
	tables.Wait()
	prove(ev, found, verdict)
	r.Verdict = verdict
	r.Findings = found.list(verdict)
	return r
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

// failedAlone finds processes that gave up before they joined anything, or
// anything more: an attempt of their own, which proves nothing.
func failedAlone(ev *model.Evidence, found *findings, runs int) bool {
	attached := map[*model.Process]bool{}
	for _, parts := range ev.Parts {
		for _, p := range parts {
			attached[p] = true
		}
	}
	failed := false
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			alone := len(p.Views) == 0 && !attached[p]
			if !p.GaveUp() && (!alone || !p.OffEFA()) {
				continue
			}
			failed = true
			if runs > 0 {
				found.add(finding.AttemptFailed, -1, p.First, "")
			}
		}
	}
	return failed
}

// fill writes the tables of the report.
func fill(r *report.Report, ev *model.Evidence) {
	r.Communicators, r.Ranks = []report.Communicator{}, []report.Rank{}
	for _, c := range ev.Comms {
		r.Communicators = append(r.Communicators, communicatorRow(c, ev))
	}
	w := model.Widest(ev.Comms)
	if w == nil {
		return
	}
	if w.Size > 0 {
		size := int(w.Size)
		r.WorldSize = &size
	}
	seen := len(w.Ranks)
	r.RanksSeen = &seen
	if n := w.NodeCount(); n > 0 {
		r.Nodes = &n
	}
	for _, rk := range w.Ranks {
		r.Ranks = append(r.Ranks, rankRow(rk, ev))
	}
	r.Edges = edgesOf(w)
}

// prove lists one line of each kind that the verdict rests on.
func prove(ev *model.Evidence, found *findings, v report.Verdict) {
	w := model.Widest(ev.Comms)
	if w == nil {
		return
	}
	for _, rk := range w.Ranks {
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

// communicatorRow renders a communicator.
func communicatorRow(c *model.Communicator, ev *model.Evidence) report.Communicator {
	out := report.Communicator{ID: clean(c.Key), RanksSeen: len(c.Ranks), Channels: map[string]int{}}
	if c.Size > 0 {
		size := int(c.Size)
		out.Size = &size
	}
	if c.Nodes > 0 {
		nodes := int(c.Nodes)
		out.Nodes = &nodes
	}
	var nets, providers nameSet
	counts := map[string]int{}
	joined := 0
	for _, rk := range c.Ranks {
		for _, u := range rk.Networks {
			nets.add(u.Name)
		}
		addProviders(&providers, rk, ev)
		countChannels(counts, rk)
		if rk.Joined(c.NoConnectedLines) {
			joined++
		}
	}
	for label, n := range counts {
		out.Channels[clean(label)] += n
	}
	out.Network, out.Provider = nets.join(), providers.join()
	out.Connected = len(c.Ranks) > 0 && joined == len(c.Ranks)
	return out
}

// rankRow renders a rank.
func rankRow(c *model.Rank, ev *model.Evidence) report.Rank {
	p := c.Views[0].Proc
	out := report.Rank{
		Rank: int(c.Rank), Host: clean(p.Host), PID: int(p.PID), File: p.File.Name,
		Channels: map[string]int{},
	}
	var nets, providers nameSet
	for _, u := range c.Networks {
		nets.add(u.Name)
	}
	addProviders(&providers, c, ev)
	out.Network, out.Provider = nets.join(), providers.join()
	for _, m := range c.Views {
		for i := range m.Tallies {
			out.Channels[clean(m.Tallies[i].Label)] += m.Tallies[i].Count
		}
	}
	return out
}

// addProviders adds what the rank's process, in all its views, ended up with.
func addProviders(to *nameSet, c *model.Rank, ev *model.Evidence) {
	for _, m := range c.Views {
		to.addProvider(m.Proc)
		for _, p := range ev.Parts[m.Proc] {
			to.addProvider(p)
		}
	}
}

// countChannels adds the rank's channels by transport.
func countChannels(counts map[string]int, c *model.Rank) {
	for _, m := range c.Views {
		for i := range m.Tallies {
			counts[m.Tallies[i].Label] += m.Tallies[i].Count
		}
	}
}

// nameSet is a set of a few names.
type nameSet []string

func (s *nameSet) add(name string) {
	if !slices.Contains(*s, name) {
		*s = append(*s, name)
	}
}

// addProvider adds the provider that the process ended up with, if any.
func (s *nameSet) addProvider(p *model.Process) {
	if name, failed := p.Provided(); name != "" && !failed {
		s.add(name)
	}
}

// join renders the set in order.
func (s nameSet) join() string {
	slices.Sort(s)
	return clean(strings.Join(s, ", "))
}

func sortedKeys(m map[string]model.Ref) []string { return slices.Sorted(maps.Keys(m)) }

// anyRef is the first of the refs by file and line.
func anyRef(m map[string]model.Ref) model.Ref {
	refs := slices.Collect(maps.Values(m))
	return slices.MinFunc(refs, func(a, b model.Ref) int {
		return cmp.Or(cmp.Compare(a.File.Index, b.File.Index), cmp.Compare(a.Line, b.Line))
	})
}
