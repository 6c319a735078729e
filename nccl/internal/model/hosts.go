package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// Hosts are distinguished by name or, where the name is the same, by the address
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

// mixture means that ranks of several splits cannot be separated.
type mixture struct {
	byRank map[int32][]*Rank
	hosts  map[string][]string
}

// hostsByName returns the known addresses by host name; for a mixture, of all its splits.
func (c *Communicator) hostsByName() map[string][]string {
	if c.mixed == nil {
		return addHosts(map[string][]string{}, c.Ranks)
	}
	if c.mixed.hosts == nil {
		c.mixed.hosts = map[string][]string{}
		for _, ranks := range c.mixed.byRank {
			addHosts(c.mixed.hosts, ranks)
		}
	}
	return c.mixed.hosts
}

func addHosts(byName map[string][]string, ranks []*Rank) map[string][]string {
	for _, r := range ranks {
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

// DistinctHosts counts the hosts that the evidence distinguishes.
func (c *Communicator) DistinctHosts() int {
	n := 0
	for _, addresses := range c.hostsByName() {
		n += max(1, len(addresses))
	}
	return n
}

// HostsCertain reports whether DistinctHosts cannot be too low: each process has an address, or its
// own host name.
func (c *Communicator) HostsCertain() bool {
	processes := map[string]*Process{}
	for _, r := range c.Ranks {
		p := r.Views[0].Proc
		if q := processes[r.Host]; q != nil && q != p && (len(r.addresses) == 0 || len(q.addresses) == 0) {
			return false
		}
		if q := processes[r.Host]; q == nil || len(r.addresses) == 0 {
			processes[r.Host] = p
		}
	}
	return true
}

// IsolatedHost returns a rank of a host that has network channels, none of which
// leads to another host; nil when there is none, or where a rank's host is not
// known.
func (c *Communicator) IsolatedHost() *Rank {
	if c.mixed != nil {
		return nil
	}
	byName := c.hostsByName()
	hosts := make([]string, len(c.Ranks))
	for i, r := range c.Ranks {
		switch known := byName[r.Host]; {
		case len(known) < 2:
			hosts[i] = r.Host
		case len(r.addresses) == 1:
			hosts[i] = r.Host + " " + r.addresses[0]
		default:
			return nil
		}
	}
	joined := map[string]bool{}
	for i, r := range c.Ranks {
		c.joinHosts(r, hosts, hosts[i], joined)
	}
	for i, r := range c.Ranks {
		if !joined[hosts[i]] {
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
