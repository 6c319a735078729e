package model

import (
	"slices"
	"strings"
)

// attach finds processes that never joined a communicator and are parts of one that did: the same
// host and pid in another file, or, in the same file, a host that is longer or shorter because a
// line is incomplete or joined to another.
func (ev *Evidence) attach() {
	type view struct {
		host string
		pid  int32
	}
	whole := map[view][]*Process{}
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			if len(p.Views) > 0 {
				k := view{p.Host, p.PID}
				whole[k] = append(whole[k], p)
			}
		}
	}
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			if len(p.Views) > 0 {
				continue
			}
			q := sameInFile(f, p)
			if q == nil {
				q = onlyOne(whole[view{p.Host, p.PID}], p)
			}
			// Two processes with Bootstrap lines are different processes.
			if q != nil && (!p.booted || !q.booted) {
				ev.Parts[q] = append(ev.Parts[q], p)
			}
		}
	}
}

// sameInFile finds the one process of the file whose pid is p's and whose host
// ends in p's, or the reverse.
func sameInFile(f *File, p *Process) *Process {
	var found *Process
	for _, q := range f.byPID[p.PID] {
		if len(q.Views) == 0 || q.Host == p.Host ||
			!strings.HasSuffix(q.Host, p.Host) && !strings.HasSuffix(p.Host, q.Host) {
			continue
		}
		if found != nil {
			return nil
		}
		found = q
	}
	return found
}

// onlyOne returns the process among all that p can be a part of: they must be
// views of one process, so each must share a communicator's rank with the first.
func onlyOne(all []*Process, p *Process) *Process {
	if len(all) == 0 || all[0].File == p.File {
		return nil
	}
	for _, q := range all[1:] {
		if !sameView(all[0], q) {
			return nil
		}
	}
	return all[0]
}

func sameView(p, q *Process) bool {
	for _, a := range p.Views {
		for _, b := range q.Views {
			if a.ptr == b.ptr && a.Rank == b.Rank && a.HasID && b.HasID && a.id == b.id {
				return true
			}
		}
	}
	return false
}

// settle assigns channels without a communicator to the rank whose process and number they have,
// and keeps the others as orphans.
func (ev *Evidence) settle(claimOf map[*View]*Rank) {
	owner := map[*Process]*Process{}
	for q, parts := range ev.Parts {
		for _, p := range parts {
			owner[p] = q
		}
	}
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			home := p
			if q := owner[p]; q != nil {
				home = q
			}
			for _, l := range p.Unassigned {
				if f.Repeats > 0 {
					ev.Orphans = append(ev.Orphans, l) // their order proves nothing
				} else if m := home.lastWithRank(l.Rank); m != nil && m.Proc == p {
					claimOf[m].replace(m, l)
				} else if m != nil {
					l.size, l.nodes = m.size, m.nodes
					claimOf[m].Views = append(claimOf[m].Views, l)
				} else {
					ev.Orphans = append(ev.Orphans, l)
				}
			}
		}
	}
}

// replace puts a copy of the view with the channels of l in the view's place: the model of the logs
// stays unchanged, because the logs may grow.
func (r *Rank) replace(v, l *View) {
	joined := *v
	joined.Tallies = slices.Clone(v.Tallies)
	joined.take(l)
	r.Views[slices.Index(r.Views, v)] = &joined
}

// lastWithRank returns the newest member of the rank, one that may span nodes first.
func (p *Process) lastWithRank(rank int32) *View {
	var local *View
	for _, m := range slices.Backward(p.Views) {
		if m.Rank != rank {
			continue
		}
		if m.nodes != 1 {
			return m
		}
		if local == nil {
			local = m
		}
	}
	return local
}
