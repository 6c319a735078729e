package nccl

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// conclude judges everything and writes the report.
func conclude(files []*logFile, opts Options) report.Report {
	ev := unify(files)
	r := report.Report{}
	var tables sync.WaitGroup
	tables.Go(func() { fill(&r, ev) }) // reads the evidence only, as the judge does
	found := newFindings()
	verdict := report.EFA
	runs := ev.judged()
	shared := runJudge{opts: opts, ev: ev, found: found}
	shared.everyRun()
	for _, r := range runs {
		j := shared
		j.run = r
		verdict = worse(verdict, j.judge())
	}
	if len(runs) > 1 {
		found.add(SeveralRuns, -1, runs[1].comms[0].claims[0].first(), "")
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
func (ev *evidence) judged() []*run {
	var wide []*run
	for _, r := range ev.runs {
		if slices.ContainsFunc(r.comms, (*comm).spans) {
			wide = append(wide, r)
		}
	}
	if len(wide) > 0 {
		return wide
	}
	return []*run{{comms: ev.comms}}
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
func failedAlone(ev *evidence, found *findings, runs int) bool {
	attached := map[*process]bool{}
	for _, parts := range ev.aux {
		for _, p := range parts {
			attached[p] = true
		}
	}
	failed := false
	for _, f := range ev.files {
		for _, p := range f.procs {
			alone := len(p.members) == 0 && !attached[p]
			if !p.gaveUp() && (!alone || !p.offEFA()) {
				continue
			}
			failed = true
			if runs > 0 {
				found.add(AttemptFailed, -1, p.first, "")
			}
		}
	}
	return failed
}

// gaveUp reports whether the process found no network, or chose one that is not
// EFA's for a communicator that it never named.
func (p *process) gaveUp() bool {
	return p.codes.has(PinnedNetworkAbsent) ||
		slices.ContainsFunc(p.waiting, func(w waitingNet) bool { return !efaNetwork(w.name) })
}

// offEFA reports whether a process that joined nothing would not have used EFA.
// One that would may only have made a unique id, as up to 2.12 some rank does.
func (p *process) offEFA() bool {
	name, failed := p.provided()
	return p.codes.has(SocketInterfaceWrong) || failed || name != "" && name != efaProvider
}

// fill writes the tables of the report.
func fill(r *report.Report, ev *evidence) {
	r.Communicators, r.Ranks = []report.Communicator{}, []report.Rank{}
	for _, c := range ev.comms {
		r.Communicators = append(r.Communicators, c.row(ev))
	}
	w := widest(ev.comms)
	if w == nil {
		return
	}
	if w.size > 0 {
		size := int(w.size)
		r.WorldSize = &size
	}
	seen := len(w.claims)
	r.RanksSeen = &seen
	if n := w.nodeCount(); n > 0 {
		r.Nodes = &n
	}
	for _, cl := range w.claims {
		r.Ranks = append(r.Ranks, cl.row(ev))
	}
	r.Edges = w.edges()
}

// prove lists one line of each kind that the verdict rests on.
func prove(ev *evidence, found *findings, v report.Verdict) {
	w := widest(ev.comms)
	if w == nil {
		return
	}
	for _, cl := range w.claims {
		for _, m := range cl.members {
			found.proof(ProofProvider, cl.rank, m.proc.chosen)
			found.proof(ProofNetwork, cl.rank, m.netRef)
			found.proof(ProofConnected, cl.rank, m.joinRef)
			for i := range m.tallies {
				if t := &m.tallies[i]; t.proves(v) {
					found.proof(ProofChannel, cl.rank, t.first)
				}
			}
		}
	}
}

// proves reports whether the tally's channels are what the verdict rests on:
// network channels and, where the verdict is that no EFA was used, not those
// that were on it.
func (t *tally) proves(v report.Verdict) bool {
	onEFA := efaNetwork(networkOf(t.label)) && t.provider == efaProvider
	return t.medium == mediumNet && (v != report.NotEFA || !onEFA)
}

// row renders a communicator.
func (c *comm) row(ev *evidence) report.Communicator {
	out := report.Communicator{ID: clean(c.key), RanksSeen: len(c.claims), Channels: map[string]int{}}
	if c.size > 0 {
		size := int(c.size)
		out.Size = &size
	}
	if c.nodes > 0 {
		nodes := int(c.nodes)
		out.Nodes = &nodes
	}
	var nets, providers nameSet
	counts := map[string]int{}
	joined := 0
	for _, cl := range c.claims {
		for _, u := range cl.nets {
			nets.add(u.name)
		}
		cl.providers(ev, &providers)
		cl.tallyInto(counts)
		if cl.joined(c.silent) {
			joined++
		}
	}
	for label, n := range counts {
		out.Channels[clean(label)] += n
	}
	out.Network, out.Provider = nets.join(), providers.join()
	out.Connected = len(c.claims) > 0 && joined == len(c.claims)
	return out
}

// row renders a rank.
func (c *claim) row(ev *evidence) report.Rank {
	p := c.members[0].proc
	out := report.Rank{
		Rank: int(c.rank), Host: clean(p.host), PID: int(p.pid), File: p.file.name,
		Channels: map[string]int{},
	}
	var nets, providers nameSet
	for _, u := range c.nets {
		nets.add(u.name)
	}
	c.providers(ev, &providers)
	out.Network, out.Provider = nets.join(), providers.join()
	for _, m := range c.members {
		for i := range m.tallies {
			out.Channels[clean(m.tallies[i].label)] += m.tallies[i].count
		}
	}
	return out
}

// providers adds what the rank's process, in all its views, ended up with.
func (c *claim) providers(ev *evidence, to *nameSet) {
	for _, m := range c.members {
		to.addProvider(m.proc)
		for _, p := range ev.aux[m.proc] {
			to.addProvider(p)
		}
	}
}

func (c *claim) tallyInto(counts map[string]int) {
	for _, m := range c.members {
		for i := range m.tallies {
			counts[m.tallies[i].label] += m.tallies[i].count
		}
	}
}

// joined reports whether the rank told that it was connected.
func (c *claim) joined(silent bool) bool {
	for _, m := range c.members {
		if m.connections(silent) > 0 {
			_, open := m.proc.dangling(silent)
			return !open
		}
	}
	return false
}

// nameSet is a set of a few names.
type nameSet []string

func (s *nameSet) add(name string) {
	if !slices.Contains(*s, name) {
		*s = append(*s, name)
	}
}

// addProvider adds the provider that the process ended up with, if any.
func (s *nameSet) addProvider(p *process) {
	if name, failed := p.provided(); name != "" && !failed {
		s.add(name)
	}
}

// join renders the set in order.
func (s nameSet) join() string {
	slices.Sort(s)
	return clean(strings.Join(s, ", "))
}

func sortedKeys(m map[string]ref) []string { return slices.Sorted(maps.Keys(m)) }

// anyRef is the first of the refs by file and line.
func anyRef(m map[string]ref) ref {
	refs := slices.Collect(maps.Values(m))
	return slices.MinFunc(refs, func(a, b ref) int {
		return cmp.Or(cmp.Compare(a.file.index, b.file.index), cmp.Compare(a.line, b.line))
	})
}

// ranksByHost counts the communicator's ranks on each host.
func (c *comm) ranksByHost() map[string]int {
	n := map[string]int{}
	for _, cl := range c.claims {
		n[cl.host]++
	}
	return n
}
