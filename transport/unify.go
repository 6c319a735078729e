package transport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

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

// comm is one communicator across all processes.
type comm struct {
	key    string
	size   int32
	sizes  bool // members disagree about the size, or a rank is outside it
	nodes  int32
	claims []*claim // by rank
	// stale says that another process claims one of these ranks as well.
	stale bool
}

// evidence is the whole of the logs, joined.
type evidence struct {
	files []*logFile
	comms []*comm
	// aux lists, for a process, others that are parts of it: the rest of a
	// rotated log, or a record whose host was torn.
	aux map[*process][]*process
	// orphans are channels that no communicator in evidence accounts for.
	orphans []*member
}

// unify joins what the files told into communicators.
func unify(files []*logFile) *evidence {
	ev := &evidence{files: files, aux: map[*process][]*process{}}
	byKey := map[string]*draft{}
	var order []*draft
	for _, f := range files {
		for _, p := range f.procs {
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
	for _, c := range ev.comms {
		for _, cl := range c.claims {
			cl.nets = cl.networks(ev.aux)
		}
	}
	return ev
}

// key names a communicator in the same way in all its processes. Pointers are
// per process, so it is the commId; for a split one without, its parent's key,
// the split's number and the color; for NCCL 2.23, which prints no number, the
// color and size, and for NCCL before 2.16, which prints nothing, the size
// alone: such claims are counted, see instances. To number the splits here would
// not do: a rank outside of one (NCCL_SPLIT_NOCOLOR) prints no line about it that
// names the parent.
func (m *member) key() string {
	switch {
	case m.hasID:
		return string(strconv.AppendUint([]byte("0x"), m.id, 16))
	case m.isSub && m.parent == nil:
		return fmt.Sprintf("split of unknown %x in %s:%d (%s)", m.ptr, m.proc.host, m.proc.pid, m.proc.file.name)
	case m.isSub && m.count >= 0:
		return fmt.Sprintf("%s/%d/%d", m.parent.key(), m.count, m.color)
	case m.isSub:
		return fmt.Sprintf("%s/#/%d of size %d", m.parent.key(), m.color, m.size)
	default:
		return fmt.Sprintf("size %d", m.size)
	}
}

// draft gathers the claims on one key.
type draft struct {
	key    string
	byRank map[int32][]*claim
	pseudo bool // several communicators may bear the key
}

func (d *draft) add(m *member) {
	d.pseudo = m.isSub && m.count < 0 || !m.hasID && !m.isSub
	for _, c := range d.byRank[m.rank] {
		if c.host == m.proc.host && c.pid == m.proc.pid && c.ptr == m.ptr && c.last() != m.proc {
			c.members = append(c.members, m)
			return
		}
	}
	d.byRank[m.rank] = append(d.byRank[m.rank], &claim{
		rank: m.rank, host: m.proc.host, pid: m.proc.pid, ptr: m.ptr, members: []*member{m},
	})
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

// bySize makes communicators of the claims. NCCL 2.18 to 2.22 derives the id of
// a split communicator from its parent and color alone, so that later splits of
// another size have the same. They are told apart where each size has all its
// ranks; else the sizes contradict each other.
func (d *draft) bySize() []*comm {
	parts := map[int32]*draft{}
	for r, claims := range d.byRank {
		for _, cl := range claims {
			size := cl.members[0].size
			p := parts[size]
			if p == nil {
				p = &draft{key: fmt.Sprintf("%s of size %d", d.key, size), byRank: map[int32][]*claim{}, pseudo: d.pseudo}
				parts[size] = p
			}
			p.byRank[r] = append(p.byRank[r], cl)
		}
	}
	if len(parts) == 1 {
		return d.instances()
	}
	var out []*comm
	for _, size := range slices.Sorted(maps.Keys(parts)) {
		if len(parts[size].byRank) != int(size) {
			return d.instances()
		}
		out = append(out, parts[size].instances()...)
	}
	return out
}

// instances makes communicators of claims of one size. A rank that is claimed
// several times stands for as many communicators, of which each needs all its
// ranks: two runs may share an id, splits of one color do in NCCL 2.18 to 2.22,
// and 2.23 and releases before 2.16 print none.
func (d *draft) instances() []*comm {
	ranks := make([]int32, 0, len(d.byRank))
	n, stale := 1, false
	for r, claims := range d.byRank {
		ranks = append(ranks, r)
		n = max(n, len(claims))
		for _, cl := range claims[1:] {
			stale = stale || cl.members[0].proc != claims[0].members[0].proc
		}
	}
	slices.Sort(ranks)
	out := make([]*comm, n)
	for k := range out {
		c := &comm{key: d.key, nodes: -1, stale: stale && !d.pseudo}
		if n > 1 {
			c.key = fmt.Sprintf("%s (%d of %d)", d.key, k+1, n)
		}
		for _, r := range ranks {
			if k < len(d.byRank[r]) {
				c.take(d.byRank[r][k])
			}
		}
		out[k] = c
	}
	return out
}

func (c *comm) take(cl *claim) {
	c.claims = append(c.claims, cl)
	for _, m := range cl.members {
		if c.size != 0 && m.size != c.size || m.rank >= m.size {
			c.sizes = true
		}
		c.size = max(c.size, m.size)
		c.nodes = max(c.nodes, m.nodes)
	}
}

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
			if q := sameInFile(f, p); q != nil {
				ev.aux[q] = append(ev.aux[q], p)
			} else if q := onlyOne(whole[view{p.host, p.pid}], p); q != nil {
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
				} else if m := home.lastWithRank(l.rank); m != nil {
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

// run is a set of communicators whose processes are connected through shared
// communicators. Evidence that holds several was put together from several
// runs, or from jobs that know nothing of each other.
type run struct {
	comms []*comm
}

// runs splits the communicators into runs, in order of appearance: a
// communicator belongs to the first one before it with which it shares a
// process, be it through others.
func (ev *evidence) runs() []*run {
	parent := make([]int, len(ev.comms))
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[*process]int{} // a communicator of the process
	for i, c := range ev.comms {
		parent[i] = i
		for _, cl := range c.claims {
			for _, m := range cl.members {
				other, known := first[m.proc]
				if !known {
					first[m.proc] = i
					continue
				}
				a, b := find(other), find(i)
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	var out []*run
	at := make([]*run, len(ev.comms))
	for i, c := range ev.comms {
		root := find(i)
		if at[root] == nil {
			at[root] = &run{}
			out = append(out, at[root])
		}
		at[root].comms = append(at[root].comms, c)
	}
	return out
}

// hosts counts the different host names of the communicator's ranks.
func (c *comm) hosts() int {
	names := map[string]bool{}
	for _, cl := range c.claims {
		names[cl.host] = true
	}
	return len(names)
}

// spans reports whether the communicator joins nodes: NCCL says so, or, where
// its version prints no nNodes, a network channel stands for two nodes. NCCL
// counts a whole NVLink domain as one node, whose hosts NVLink then joins.
func (c *comm) spans() bool { return c.nodes > 1 || c.nodes < 1 && c.crosses() || c.bridges() }

// bridges reports whether multi-node NVLink joins ranks of two hosts.
func (c *comm) bridges() bool {
	for _, cl := range c.claims {
		for _, m := range cl.members {
			for i := range m.tallies {
				if t := &m.tallies[i]; t.medium == mediumMNNVL && c.mnnvl(cl, t) != classLocal {
					return true
				}
			}
		}
	}
	return false
}

// crosses reports whether any rank opened a channel that can leave its node.
func (c *comm) crosses() bool {
	for _, cl := range c.claims {
		for _, m := range cl.members {
			for i := range m.tallies {
				if m.tallies[i].medium != mediumLocal {
					return true
				}
			}
		}
	}
	return false
}

// missing counts the ranks that nobody claims and names the first few.
func (c *comm) missing() (n int, first []int32) {
	next := int32(0)
	for _, cl := range c.claims {
		for ; next < cl.rank && next < c.size && len(first) < 8; next++ {
			first = append(first, next)
		}
		next = max(next, cl.rank+1)
	}
	for ; next < c.size && len(first) < 8; next++ {
		first = append(first, next)
	}
	return max(0, int(c.size)-len(c.claims)), first
}

// widest orders communicators: those that span nodes first, then by size, then
// those in use.
func widest(comms []*comm) *comm {
	if len(comms) == 0 {
		return nil
	}
	return slices.MaxFunc(comms, func(a, b *comm) int {
		return cmp.Or(
			cmp.Compare(truth(a.spans()), truth(b.spans())),
			cmp.Compare(a.size, b.size),
			cmp.Compare(truth(a.crosses()), truth(b.crosses())),
			cmp.Compare(len(a.claims), len(b.claims)),
		)
	})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
