package verdict

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// tables writes the tables of a report: all communicators, and the ranks of the run that decided the
// verdict, each with the communicator that decided about it.
func tables(ev *model.Evidence, runs []*model.Run, decided *model.Run) report.Report {
	r := report.Report{Communicators: []report.Communicator{}, Ranks: []report.Rank{}}
	r.Rehearsed = slices.ContainsFunc(ev.Files, func(f *model.File) bool { return f.Rehearsed })
	runOf := map[*model.Communicator]int{}
	for i, run := range runs {
		for _, c := range run.Comms {
			runOf[c] = i + 1
		}
	}
	j := &runJudge{ev: ev}
	for _, c := range ev.Comms {
		row := j.communicatorRow(c)
		row.Run = runOf[c]
		r.Communicators = append(r.Communicators, row)
	}
	comms := relevant(decided)
	if len(comms) == 0 {
		return r
	}
	w := comms[0]
	if w.Size > 0 {
		size := int(w.Size)
		r.WorldSize = &size
	}
	seen := len(w.Ranks)
	r.RanksSeen = &seen
	if n := w.NodeCount(); n > 0 {
		r.Nodes = &n
	}
	l := newRankList(j)
	for _, c := range comms {
		l.add(c)
	}
	for i := range l.rows {
		l.rows[i].Run = runOf[l.numbered[i]]
	}
	r.Ranks = l.rows
	r.Edges = l.edges(comms)
	return r
}

// relevant returns the communicators that decide the verdict, largest first: those that span nodes
// or several hosts or, if there are none, all.
func relevant(run *model.Run) []*model.Communicator {
	comms := slices.Clone(run.Comms)
	counts := func(c *model.Communicator) bool { return c.Spans() || c.Contradicts() }
	if slices.ContainsFunc(comms, counts) {
		comms = slices.DeleteFunc(comms, func(c *model.Communicator) bool { return !counts(c) })
	}
	slices.SortStableFunc(comms, func(a, b *model.Communicator) int { return model.CompareSize(b, a) })
	return comms
}

// rankList builds the table of ranks. Communicators are added from the largest on: a process gets
// its row from the first one that it joined, and a later one decides about the row when its traffic
// is worse.
type rankList struct {
	judge *runJudge
	rows  []report.Rank
	// numbered has the communicator that gave a row its number.
	numbered []*model.Communicator
	// rowsOf lists the rows of a process: more than one where threads are ranks.
	rowsOf map[*model.Process][]int
	// rowOf has the row of a rank.
	rowOf map[*model.Rank]int
}

func newRankList(j *runJudge) *rankList {
	return &rankList{
		judge: j, rows: []report.Rank{},
		rowsOf: map[*model.Process][]int{}, rowOf: map[*model.Rank]int{},
	}
}

func (l *rankList) add(c *model.Communicator) {
	shown := shownIn(c)
	for _, rk := range c.Ranks {
		traffic := l.judge.traffic(c, rk, shown)
		rows := l.find(c, rk)
		if len(rows) == 0 {
			rows = []int{l.newRow(c, rk, traffic)}
		}
		l.rowOf[rk] = rows[0]
		for _, i := range rows {
			row := &l.rows[i]
			if row.Traffic != traffic && row.Traffic.Worse(traffic) == traffic {
				l.fill(row, c, rk, traffic)
			}
		}
	}
}

// find lists the rows that may be the rank's: of several in one process the one with its number or,
// because smaller communicators have their own numbering, all of them.
func (l *rankList) find(c *model.Communicator, rk *model.Rank) []int {
	var rows []int
	for _, v := range rk.Views {
		for _, i := range l.rowsOf[v.Proc] {
			if l.numbered[i] != c && !slices.Contains(rows, i) {
				rows = append(rows, i)
			}
		}
	}
	if len(rows) > 1 {
		same := func(i int) bool { return l.rows[i].Rank == int(rk.Rank) }
		if i := slices.IndexFunc(rows, same); i >= 0 {
			return rows[i : i+1]
		}
	}
	return rows
}

func (l *rankList) newRow(c *model.Communicator, rk *model.Rank, traffic report.Traffic) int {
	p := rk.Views[0].Proc
	row := report.Rank{Rank: int(rk.Rank), Host: Clean(p.Host), PID: int(p.PID), File: p.File.Name}
	l.fill(&row, c, rk, traffic)
	at := len(l.rows)
	l.rows, l.numbered = append(l.rows, row), append(l.numbered, c)
	for _, v := range rk.Views {
		if !slices.Contains(l.rowsOf[v.Proc], at) {
			l.rowsOf[v.Proc] = append(l.rowsOf[v.Proc], at)
		}
	}
	return at
}

// fill fills a row with what a rank of a communicator used.
func (l *rankList) fill(
	row *report.Rank, c *model.Communicator, rk *model.Rank, traffic report.Traffic,
) {
	var u usage
	u.add(rk, l.judge.ev)
	row.Network, row.Provider, row.Channels = u.networks.join(), u.providers.join(), u.cleanChannels()
	row.Communicator, row.Traffic = Clean(c.Key), traffic
}

// traffic returns the worst traffic of a rank of a communicator, as the tables show it.
func (j *runJudge) traffic(
	c *model.Communicator, rk *model.Rank, shown func(report.Traffic) report.Traffic,
) report.Traffic {
	worst := report.TrafficNone
	for _, traffic := range j.tallies(c, rk) {
		worst = worst.Worse(shown(traffic))
	}
	return worst
}

// shownIn returns the traffic of a communicator's channels as the tables show it, consistent with
// the verdict. Inside one node all is local, unless several hosts contradict that. EFA inside one
// host is local, and unknown where the evidence does not distinguish hosts.
func shownIn(c *model.Communicator) func(report.Traffic) report.Traffic {
	spans, several := c.Spans(), c.Contradicts()
	efa := report.TrafficEFA
	if missing, _ := c.Missing(); missing == 0 && c.DistinctHosts() < 2 {
		efa = report.TrafficUnknown
		if c.HostsCertain() {
			efa = report.TrafficLocal
		}
	}
	return func(traffic report.Traffic) report.Traffic {
		switch {
		case traffic == report.TrafficEFA && spans:
			return efa
		case traffic == report.TrafficOther && several, spans:
			return traffic
		default:
			return report.TrafficLocal
		}
	}
}

// communicatorRow renders a communicator.
func (j *runJudge) communicatorRow(c *model.Communicator) report.Communicator {
	out := report.Communicator{ID: Clean(c.Key), RanksSeen: len(c.Ranks), Traffic: report.TrafficNone}
	if c.Size > 0 {
		size := int(c.Size)
		out.Size = &size
	}
	if c.Nodes > 0 {
		nodes := int(c.Nodes)
		out.Nodes = &nodes
	}
	var u usage
	joined, shown := 0, shownIn(c)
	for _, rk := range c.Ranks {
		u.add(rk, j.ev)
		out.Traffic = out.Traffic.Worse(j.traffic(c, rk, shown))
		if rk.Joined(c.NoConnectedLines) {
			joined++
		}
	}
	out.Network, out.Provider, out.Channels = u.networks.join(), u.providers.join(), u.cleanChannels()
	out.Connected = len(c.Ranks) > 0 && joined == len(c.Ranks)
	return out
}

// usage collects what ranks used.
type usage struct {
	networks, providers nameSet
	channels            map[string]int
}

// add adds a rank's networks and channels, and the last provider of its process in all its views.
func (u *usage) add(rk *model.Rank, ev *model.Evidence) {
	for _, n := range rk.Networks {
		u.networks.add(n.Name)
	}
	if u.channels == nil {
		u.channels = map[string]int{}
	}
	for _, v := range rk.Views {
		u.providers.addProvider(v.Proc)
		for _, p := range ev.Parts[v.Proc] {
			u.providers.addProvider(p)
		}
		for i := range v.Tallies {
			u.channels[v.Tallies[i].Label] += v.Tallies[i].Count
		}
	}
}

// cleanChannels counts the channels by transport, in printable text.
func (u *usage) cleanChannels() map[string]int {
	counts := make(map[string]int, len(u.channels))
	for label, n := range u.channels {
		counts[Clean(label)] += n
	}
	return counts
}

// nameSet is a set of a few names.
type nameSet []string

func (s *nameSet) add(name string) {
	if !slices.Contains(*s, name) {
		*s = append(*s, name)
	}
}

// addProvider adds the last provider of the process, if any.
func (s *nameSet) addProvider(p *model.Process) {
	if name, failed := p.Provided(); name != "" && !failed {
		s.add(name)
	}
}

// join renders the set in order.
func (s nameSet) join() string {
	slices.Sort(s)
	return Clean(strings.Join(s, ", "))
}
