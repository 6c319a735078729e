package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// Hosts are told apart by name or, where the name is the same, by the address
// that NCCL bootstraps from. NCCL's nNodes is no evidence of two hosts: it counts
// entries of a ring, and a host whose P2P and SHM are off has several.

// addressesOf lists the bootstrap addresses of the rank's process, in all its
// views and parts.
func (ev *Evidence) addressesOf(r *Rank) []string {
	var list []string
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
	return list
}

// hostsByName lists the addresses known for each host name.
func (c *Communicator) hostsByName() map[string][]string {
	byName := map[string][]string{}
	for _, r := range c.Ranks {
		list := byName[r.Host]
		for _, a := range r.addresses {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
		byName[r.Host] = list
	}
	return byName
}

// DistinctHosts counts the hosts that the evidence tells apart.
func (c *Communicator) DistinctHosts() int {
	n := 0
	for _, addresses := range c.hostsByName() {
		n += max(1, len(addresses))
	}
	return n
}

// hostsCertain reports whether DistinctHosts cannot be too low: no two processes
// of one host name lack an address.
func (c *Communicator) hostsCertain() bool {
	process := map[string]*Process{}
	for _, r := range c.Ranks {
		if len(r.addresses) > 0 {
			continue
		}
		p := r.Views[0].Proc
		if q := process[r.Host]; q != nil && q != p {
			return false
		}
		process[r.Host] = p
	}
	return true
}

// host names the rank's host; it is "" where the rank's process may be several
// that look alike, on several hosts.
func (r *Rank) host() string {
	switch len(r.addresses) {
	case 0:
		return r.Host
	case 1:
		return r.Host + " " + r.addresses[0]
	default:
		return ""
	}
}

// IsolatedHost returns a rank of a host that has network channels, none of which
// leads to another host; nil when there is none.
func (c *Communicator) IsolatedHost() *Rank {
	joined := map[string]bool{}
	for _, r := range c.Ranks {
		h := r.host()
		if h == "" {
			return nil
		}
		c.joinHosts(r, h, joined)
	}
	for _, r := range c.Ranks {
		if !joined[r.host()] {
			return r
		}
	}
	return nil
}

// joinHosts marks the hosts that the rank's network channels join, or may.
func (c *Communicator) joinHosts(r *Rank, host string, joined map[string]bool) {
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
				case c.Ranks[i].host() != host:
					joined[host], joined[c.Ranks[i].host()] = true, true
				}
			}
		}
	}
}

// Redacted reports whether the host's name was replaced by a word in brackets.
func (r *Rank) Redacted() bool { return strings.HasPrefix(r.Host, "<") }
