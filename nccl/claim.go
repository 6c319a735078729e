package nccl

import "slices"

// claim is one rank of one communicator, as all the logs show it that one
// process left behind: the same log may be given twice, or a driver repeat what
// a worker's own file says.
type claim struct {
	rank    int32
	host    string
	pid     int32
	ptr     uint64
	members []*member
	// nets is what the rank's `Using network` lines say, once unify is done.
	nets []usage
}

// usage is a network that a rank says it uses, and where it says so.
type usage struct {
	name string
	ref  ref
}

// last is the process that was added last. Members come process by process, so
// a second member of one process, which is another communicator at the same
// address, is always the next one.
func (c *claim) last() *process { return c.members[len(c.members)-1].proc }

// clean reports whether a log without Ray's de-duplication shows the rank.
func (c *claim) clean() bool {
	for _, m := range c.members {
		if m.proc.file.repeats == 0 {
			return true
		}
	}
	return false
}

// unfinished reports whether the rank began to join and no log says that it ended.
func (c *claim) unfinished() bool {
	begun := false
	for _, m := range c.members {
		if m.complete > 0 {
			return false
		}
		begun = begun || m.begun
	}
	return begun
}

// lost is a provider other than efa that a process with several ranks, which may
// be several processes that look alike, selected before another; "" for none.
func (c *claim) lost() string {
	for _, m := range c.members {
		if m.proc.lost != "" && m.proc.several {
			return m.proc.lost
		}
	}
	return ""
}

// first is the line on which the rank enters the evidence.
func (c *claim) first() ref { return c.members[0].first }

// networks lists what the rank's `Using network` lines say: its members' own
// or, where they have none, those of the parts of its process.
func (c *claim) networks(aux map[*process][]*process) []usage {
	var nets []usage
	for _, m := range c.members {
		for _, name := range m.networks {
			nets = use(nets, name, m.netRef)
		}
	}
	if len(nets) > 0 {
		return nets
	}
	for _, m := range c.members {
		for _, p := range aux[m.proc] {
			for _, w := range p.waiting {
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

// shared lists the network of the rank's process, where another rank or an
// earlier communicator took the one line that names it. Of a process that names
// two, against the rule, it lists both.
func (c *claim) shared() []usage {
	var nets []usage
	for _, m := range c.members {
		for _, other := range m.proc.members {
			for _, name := range other.networks {
				nets = use(nets, name, other.netRef)
			}
		}
		for _, w := range m.proc.waiting {
			nets = use(nets, w.name, w.ref)
		}
	}
	return nets
}

// use adds a network to the list; the last line that names it counts.
func use(nets []usage, name string, where ref) []usage {
	if i := slices.IndexFunc(nets, func(u usage) bool { return u.name == name }); i >= 0 {
		nets[i].ref = where
		return nets
	}
	return append(nets, usage{name, where})
}

// uses reports whether the rank says that it uses the network.
func (c *claim) uses(name string) bool {
	return slices.ContainsFunc(c.nets, func(u usage) bool { return u.name == name })
}
