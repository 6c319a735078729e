package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// loopback is the address of all loopback interfaces.
const loopback = "127.0.0.1"

// address is where a process listens for its peers while NCCL starts.
type address struct {
	iface string // such as eth0
	ip    string
}

// newAddress reads `eth0:10.0.1.5`.
func newAddress(text string) address {
	iface, ip, _ := strings.Cut(text, ":")
	if strings.HasPrefix(ip, "127.") || ip == "::1" {
		return address{"lo", loopback}
	}
	return address{iface, ip}
}

// addressesOf lists the bootstrap addresses of the rank's process, in all its
// views and parts. Several are those of processes that look alike. Where no line
// shows one, the source of the log may know it.
func (ev *Evidence) addressesOf(r *Rank) []address {
	var list []address
	add := func(p *Process) {
		for _, a := range p.addresses {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	for _, v := range r.Views {
		add(v.Proc)
		for _, p := range ev.Parts[v.Proc] {
			add(p)
		}
		if b := v.Proc.before; b != nil && v.Proc.continues(b) {
			add(b)
		}
	}
	for _, v := range r.Views {
		if ip := v.Proc.File.Address; ip != "" && len(list) == 0 {
			list = append(list, newAddress("source:"+ip))
		}
	}
	return list
}

// hosts is what the evidence shows of the hosts of some ranks. NCCL's nNodes is no evidence of two
// hosts: it counts entries of a ring, and a host whose P2P and SHM are off has several. Neither are
// the expected number of nodes and different NCCL_HOSTIDs, which one host can have too. The first
// line of this table that fits decides about two ranks:
//
//	bootstrap addresses  host names  further evidence          hosts
//	any                  any         one process               one
//	the same             any         any                       one: NCCL's peers connect to it
//	one is loopback      any         any                       one: only its own host can connect
//	any                  any         one NCCL_HOSTID           one
//	different            different   none                      two
//	different            the same    on two interfaces         one: it has both interfaces
//	different            the same    on one interface          two, which share a name
//	one is unknown       different   two names, one address    one: names prove nothing here
//	one is unknown       different   none                      two
//	one is unknown       the same    any                       one
//
// All but the first two count as one host only because nothing shows two.
type hosts struct {
	// parent joins places that are one host. A place is an address or, for a name without any
	// address, the name.
	parent map[string]string
	// byName has the addresses that ranks of a name have.
	byName map[string][]address
	// certain reports whether there cannot be more hosts.
	certain bool
	count   int
}

func newHosts(ranks []*Rank) *hosts {
	h := &hosts{parent: map[string]string{}, byName: map[string][]address{}, certain: true}
	aliases := h.addAddresses(ranks)
	for _, r := range ranks {
		if len(h.byName[r.Host]) == 0 {
			h.find(r.Host)
		}
	}
	h.joinIDs(ranks)
	_, local := h.parent[loopback]
	if local || aliases && slices.ContainsFunc(ranks, func(r *Rank) bool { return len(r.addresses) == 0 }) {
		h.certain = false
		first := ""
		for place := range h.parent {
			first = cmp.Or(first, place)
			h.join(first, place)
		}
	}
	for place, up := range h.parent {
		if place == up {
			h.count++
		}
	}
	h.certain = h.certain && !crowded(ranks)
	return h
}

// addAddresses notes the addresses of each name and joins those of one host. It reports whether two
// names have one address.
func (h *hosts) addAddresses(ranks []*Rank) (aliases bool) {
	nameOf := map[string]string{}
	for _, r := range ranks {
		for _, a := range r.addresses {
			name, known := nameOf[a.ip]
			aliases = aliases || known && name != r.Host
			nameOf[a.ip] = r.Host
			h.find(a.ip)
			list := h.byName[r.Host]
			if len(list) > 0 && list[0].iface != a.iface {
				h.join(list[0].ip, a.ip)
			}
			if !slices.Contains(list, a) {
				h.byName[r.Host] = append(list, a)
			}
		}
	}
	return aliases
}

// joinIDs joins the hosts that have one NCCL_HOSTID.
func (h *hosts) joinIDs(ranks []*Rank) {
	first := map[string]string{}
	for _, r := range ranks {
		id := r.Views[0].Proc.hostID
		place, known := h.place(r)
		if id == "" || !known {
			continue
		}
		if other := first[id]; other != "" {
			h.join(other, place)
		}
		first[id] = place
	}
}

// find returns the place that stands for the host of a place.
func (h *hosts) find(place string) string {
	up, known := h.parent[place]
	if !known {
		h.parent[place] = place
		return place
	}
	if up != place {
		up = h.find(up)
		h.parent[place] = up
	}
	return up
}

// join makes one host of two places.
func (h *hosts) join(a, b string) {
	if a, b = h.find(a), h.find(b); a != b {
		h.parent[a] = b
		h.certain = false
	}
}

// place returns the host of a rank, and whether it is known which one it is.
func (h *hosts) place(r *Rank) (place string, known bool) {
	candidates := r.addresses
	if len(candidates) == 0 {
		candidates = h.byName[r.Host]
	}
	if len(candidates) == 0 {
		return h.find(r.Host), true
	}
	place = h.find(candidates[0].ip)
	for _, a := range candidates {
		if h.find(a.ip) != place {
			return "", false
		}
	}
	return place, true
}

// crowded reports whether a name has several processes, of which one has no address: they may be on
// more hosts than are counted.
func crowded(ranks []*Rank) bool {
	type name struct {
		first            *Process
		several, unknown bool
	}
	names := map[string]*name{}
	for _, r := range ranks {
		p := r.Views[0].Proc
		n := names[r.Host]
		if n == nil {
			n = &name{first: p}
			names[r.Host] = n
		}
		n.several = n.several || n.first != p
		if n.unknown = n.unknown || len(r.addresses) == 0; n.several && n.unknown {
			return true
		}
	}
	return false
}

// mixture means that ranks of several splits cannot be separated.
type mixture struct {
	byRank map[int32][]*Rank
	hosts  *hosts
}

// evidentHosts returns the hosts of the communicator; for a mixture, of all its splits.
func (c *Communicator) evidentHosts() *hosts {
	switch {
	case c.hosts != nil:
	case c.mixed == nil:
		c.hosts = newHosts(c.Ranks)
	default:
		if c.mixed.hosts == nil {
			var all []*Rank
			for _, ranks := range c.mixed.byRank {
				all = append(all, ranks...)
			}
			c.mixed.hosts = newHosts(all)
		}
		c.hosts = c.mixed.hosts
	}
	return c.hosts
}

// Contradicts reports whether a communicator of one node, as NCCL counts, has channels that can leave
// it, and several host names or addresses: one NCCL_HOSTID was set on several hosts.
func (c *Communicator) Contradicts() bool {
	if c.Spans() || !c.Crosses() {
		return false
	}
	return c.Hosts() > 1 || slices.ContainsFunc(c.Ranks, func(r *Rank) bool {
		return !slices.Equal(r.addresses, c.Ranks[0].addresses)
	})
}

// DistinctHosts counts the hosts that the evidence distinguishes.
func (c *Communicator) DistinctHosts() int { return c.evidentHosts().count }

// HostsCertain reports whether DistinctHosts cannot be too low.
func (c *Communicator) HostsCertain() bool { return c.evidentHosts().certain }

// IsolatedHost returns a rank of a host that has network channels, none of which
// leads to another host; nil when there is none, or where a rank's host is not
// known.
func (c *Communicator) IsolatedHost() *Rank {
	if c.mixed != nil {
		return nil
	}
	h := c.evidentHosts()
	places := make([]string, len(c.Ranks))
	for i, r := range c.Ranks {
		place, known := h.place(r)
		if !known {
			return nil
		}
		places[i] = place
	}
	joined := map[string]bool{}
	for i, r := range c.Ranks {
		c.joinHosts(r, places, places[i], joined)
	}
	for i, r := range c.Ranks {
		if !joined[places[i]] {
			return r
		}
	}
	return nil
}

// joinHosts marks the hosts that the rank's network channels join, or may. hosts
// has the host of each rank.
func (c *Communicator) joinHosts(r *Rank, hosts []string, host string, joined map[string]bool) {
	for _, v := range r.Views {
		for i := range v.Tallies {
			t := &v.Tallies[i]
			if t.Medium == record.MediumLocal {
				continue
			}
			joined[host] = joined[host] || len(t.Ends) >= maxPeers
			for _, e := range t.Ends {
				i, ok := slices.BinarySearchFunc(c.Ranks, e.Peer, func(x *Rank, n int32) int { return cmp.Compare(x.Rank, n) })
				switch {
				case !ok:
					joined[host] = true
				case hosts[i] != host:
					joined[host], joined[hosts[i]] = true, true
				}
			}
		}
	}
}

// Redacted reports whether the host's name was replaced by a word in brackets.
func (r *Rank) Redacted() bool { return strings.HasPrefix(r.Host, "<") }
