package nccl

// evidence is the whole of the logs, joined.
type evidence struct {
	files []*logFile
	comms []*comm
	runs  []*run
	// aux lists, for a process, others that are parts of it: the rest of a
	// rotated log, or a record whose host was torn.
	aux map[*process][]*process
	// orphans are channels that no communicator in evidence accounts for.
	orphans []*member
	// outdated are the places where an NCCL is too old to be judged.
	outdated []outdated
}

// unify joins what the files told into communicators.
func unify(files []*logFile) *evidence {
	ev := &evidence{files: files, aux: map[*process][]*process{}, outdated: findOutdated(files)}
	byKey := map[string]*draft{}
	var order []*draft
	for _, f := range files {
		for _, p := range f.procs {
			p.several = p.multiRank()
			for _, m := range p.members {
				key := m.key()
				d := byKey[key]
				if d == nil {
					d = &draft{key: key, byRank: map[int32][]*claim{}}
					byKey[key] = d
					order = append(order, d)
				}
				d.add(m)
			}
		}
	}
	ev.attach()
	claimOf := map[*member]*claim{}
	for _, d := range order {
		for _, c := range d.bySize() {
			ev.comms = append(ev.comms, c)
			for _, cl := range c.claims {
				for _, m := range cl.members {
					claimOf[m] = cl
				}
			}
		}
	}
	ev.settle(claimOf)
	ev.runs = groupRuns(ev.comms)
	for _, r := range ev.runs {
		silent, shared := r.silent(), r.before(sharedBefore)
		for _, c := range r.comms {
			c.silent = silent
			for _, cl := range c.claims {
				if cl.nets = cl.networks(ev.aux); len(cl.nets) == 0 && shared {
					cl.nets = cl.shared()
				}
			}
		}
	}
	return ev
}
