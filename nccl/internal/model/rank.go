package model

import "slices"

// Rank is one rank of one communicator, as all the logs show it that one
// process left behind: the same log may be given twice, or a driver repeat what
// a worker's own file says.
type Rank struct {
	Rank  int32
	Host  string
	PID   int32
	ptr   uint64
	Views []*View
	// Networks is what the rank's `Using network` lines say, once unify is done.
	Networks []NetworkUse
	// addresses are those that its process bootstraps from.
	addresses []address
}

// NetworkUse is a network that a rank printed, and the line.
type NetworkUse struct {
	Name string
	Ref  Ref
}

// last returns the process that was added last. Members come process by process, so
// a second member of one process, which is another communicator at the same
// address, is always the next one.
func (r *Rank) last() *Process { return r.Views[len(r.Views)-1].Proc }

// Clean reports whether a log without Ray's de-duplication shows the rank.
func (r *Rank) Clean() bool {
	for _, m := range r.Views {
		if m.Proc.File.Repeats == 0 {
			return true
		}
	}
	return false
}

// FirstOfProcess reports whether the rank is in its process's first communicator.
func (r *Rank) FirstOfProcess() bool { return r.Views[0].order == 0 }

// Unfinished reports whether the rank began to join and no log says that it ended.
func (r *Rank) Unfinished() bool {
	begun := false
	for _, m := range r.Views {
		if m.Complete > 0 {
			return false
		}
		begun = begun || m.begun
	}
	return begun
}

// Overridden returns a provider other than efa that a process with several ranks, which may be
// several processes that look alike, selected before another; "" for none.
func (r *Rank) Overridden() string {
	for _, m := range r.Views {
		if m.Proc.overridden != "" && m.Proc.multiRank {
			return m.Proc.overridden
		}
	}
	return ""
}

// First returns the line on which the rank enters the evidence.
func (r *Rank) First() Ref { return r.Views[0].First }

// ownNetworks lists what the rank's `Using network` lines say: its members' own
// or, where they have none, those of the parts of its process.
func (r *Rank) ownNetworks(aux map[*Process][]*Process) []NetworkUse {
	var nets []NetworkUse
	for _, m := range r.Views {
		for _, name := range m.networks {
			nets = use(nets, name, m.NetRef)
		}
	}
	if len(nets) > 0 {
		return nets
	}
	for _, m := range r.Views {
		for _, p := range aux[m.Proc] {
			for _, w := range p.pending {
				nets = use(nets, w.name, w.ref)
			}
		}
	}
	return nets
}

// sharedBefore is the NCCL release that names the network for each communicator
// first (2.13.4). Releases before it choose it once for the process and say so
// once, before its first communicator (ncclInit in src/init.cc).
const sharedBefore = 2<<16 | 13<<8 | 4

// processNetworks lists the network of the rank's process, where another rank or an
// earlier communicator took the one line that names it. Of a process that names
// two, against the rule, it lists both.
func (r *Rank) processNetworks() []NetworkUse {
	var nets []NetworkUse
	for _, m := range r.Views {
		for _, other := range m.Proc.Views {
			for _, name := range other.networks {
				nets = use(nets, name, other.NetRef)
			}
		}
		for _, w := range m.Proc.pending {
			nets = use(nets, w.name, w.ref)
		}
	}
	return nets
}

// use adds a network to the list; the last line that names it counts.
func use(nets []NetworkUse, name string, where Ref) []NetworkUse {
	if i := slices.IndexFunc(nets, func(u NetworkUse) bool { return u.Name == name }); i >= 0 {
		nets[i].Ref = where
		return nets
	}
	return append(nets, NetworkUse{name, where})
}

// Uses reports whether the rank printed that it uses the network.
func (r *Rank) Uses(name string) bool {
	return slices.ContainsFunc(r.Networks, func(u NetworkUse) bool { return u.Name == name })
}

// Joined reports whether the rank printed that it was connected.
func (r *Rank) Joined(silent bool) bool {
	for _, m := range r.Views {
		if m.connections(silent) > 0 {
			_, open := m.Proc.Unconnected(silent)
			return !open
		}
	}
	return false
}
