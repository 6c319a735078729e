package model

import "github.com/ray-train-efa/ray-train-efa/nccl/finding"

// Evidence is the whole of the logs, joined.
type Evidence struct {
	Files []*File
	Comms []*Communicator
	Runs  []*Run
	// Parts lists, for a process, others that are parts of it: the rest of a rotated log, or a record
	// whose host is incomplete.
	Parts map[*Process][]*Process
	// Orphans are channels that no communicator in evidence accounts for.
	Orphans []*View
	// Outdated are the places where an NCCL is too old to be judged.
	Outdated []Outdated
}

// Join joins the files into communicators.
func Join(files []*File) *Evidence {
	ev := &Evidence{Files: files, Parts: map[*Process][]*Process{}, Outdated: findOutdated(files)}
	byKey := map[string]*draft{}
	var order []*draft
	for _, f := range files {
		for _, p := range f.Procs {
			p.multiRank = p.holdsSeveralRanks()
			for _, m := range p.Views {
				key := m.key()
				d := byKey[key]
				if d == nil {
					d = &draft{key: key, byRank: map[int32][]*Rank{}}
					byKey[key] = d
					order = append(order, d)
				}
				d.add(m)
			}
		}
	}
	ev.attach()
	claimOf := map[*View]*Rank{}
	for _, d := range order {
		for _, c := range d.bySize() {
			ev.Comms = append(ev.Comms, c)
			for _, rk := range c.Ranks {
				for _, m := range rk.Views {
					claimOf[m] = rk
				}
			}
		}
	}
	ev.settle(claimOf)
	ev.Runs = groupRuns(ev.Comms)
	for _, r := range ev.Runs {
		ev.complete(r)
	}
	return ev
}

// complete sets what the ranks of a run know only once the whole run is joined.
func (ev *Evidence) complete(r *Run) {
	eager := r.eager()
	silent, shared := eager || r.before(silentBefore), eager || r.before(sharedBefore)
	for _, c := range r.Comms {
		c.NoConnectedLines = silent
		for _, rk := range c.Ranks {
			rk.addresses = ev.addressesOf(rk)
			if rk.Networks = rk.ownNetworks(ev.Parts); len(rk.Networks) == 0 && shared {
				rk.Networks = rk.processNetworks()
			}
		}
	}
}

// Excerpt reports whether NCCL printed lines, and no process at all one of those that every process
// prints while it creates a communicator.
func (ev *Evidence) Excerpt() (at Ref, excerpt bool) {
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			if len(p.Views) > 0 || p.Codes.Has(finding.PinnedNetworkAbsent) || p.Codes.Has(finding.SocketInterfaceWrong) {
				return Ref{}, false
			}
			if at.Line == 0 {
				at = p.First
			}
		}
	}
	return at, true
}

// Masked reports whether NCCL_DEBUG_SUBSYS hid the lines of INIT: a process
// prints how its plugin began and its channels, both of NET, and no process a
// line of INIT alone. A tail has no beginning, and a search for one word not both.
func (ev *Evidence) Masked() (at Ref, masked bool) {
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			if p.booted || p.Version != "" || len(p.Views)+len(p.pending) > 0 || p.connected != [connectedKinds]int{} {
				return Ref{}, false
			}
			if !masked && p.PluginVer != "" && len(p.Unassigned) > 0 {
				at, masked = p.First, true
			}
		}
	}
	return at, masked
}
