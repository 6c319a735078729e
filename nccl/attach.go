package nccl

import (
	"slices"
	"strings"
)

// attach finds processes that never joined a communicator and are parts of one
// that did: the same host and pid in another file, or, in the same file, a host
// that a torn or glued record lengthened or cut.
func (ev *evidence) attach() {
	type view struct {
		host string
		pid  int32
	}
	whole := map[view][]*process{}
	for _, f := range ev.files {
		for _, p := range f.procs {
			if len(p.members) > 0 {
				k := view{p.host, p.pid}
				whole[k] = append(whole[k], p)
			}
		}
	}
	for _, f := range ev.files {
		for _, p := range f.procs {
			if len(p.members) > 0 {
				continue
			}
			q := sameInFile(f, p)
			if q == nil {
				q = onlyOne(whole[view{p.host, p.pid}], p)
			}
			// Two that booted are two processes, which lend each other nothing.
			if q != nil && (!p.booted || !q.booted) {
				ev.aux[q] = append(ev.aux[q], p)
			}
		}
	}
}

// sameInFile finds the one process of the file whose pid is p's and whose host
// ends in p's, or the reverse.
func sameInFile(f *logFile, p *process) *process {
	var found *process
	for _, q := range f.byPID[p.pid] {
		if len(q.members) == 0 || q.host == p.host ||
			!strings.HasSuffix(q.host, p.host) && !strings.HasSuffix(p.host, q.host) {
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
func onlyOne(all []*process, p *process) *process {
	if len(all) == 0 || all[0].file == p.file {
		return nil
	}
	for _, q := range all[1:] {
		if !sameView(all[0], q) {
			return nil
		}
	}
	return all[0]
}

func sameView(p, q *process) bool {
	for _, a := range p.members {
		for _, b := range q.members {
			if a.ptr == b.ptr && a.rank == b.rank && a.hasID && b.hasID && a.id == b.id {
				return true
			}
		}
	}
	return false
}

// settle gives loose channels to the claim whose process and rank they have,
// and keeps the others as orphans.
func (ev *evidence) settle(claimOf map[*member]*claim) {
	owner := map[*process]*process{}
	for q, parts := range ev.aux {
		for _, p := range parts {
			owner[p] = q
		}
	}
	for _, f := range ev.files {
		for _, p := range f.procs {
			home := p
			if q := owner[p]; q != nil {
				home = q
			}
			for _, l := range p.loose {
				if f.repeats > 0 {
					ev.orphans = append(ev.orphans, l) // their order tells nothing
				} else if m := home.lastWithRank(l.rank); m != nil && m.proc == p {
					m.take(l)
				} else if m != nil {
					l.size, l.nodes = m.size, m.nodes
					claimOf[m].members = append(claimOf[m].members, l)
				} else {
					ev.orphans = append(ev.orphans, l)
				}
			}
		}
	}
}

// lastWithRank is the youngest member of the rank, one that may span nodes
// first.
func (p *process) lastWithRank(rank int32) *member {
	var local *member
	for _, m := range slices.Backward(p.members) {
		if m.rank != rank {
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
