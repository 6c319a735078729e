package model

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// silentBefore is the NCCL release that prints `Connected all rings` first
// (2.8.3: initTransportsRank in src/init.cc of NCCL's history). Releases before
// it connect inside the initialization and then print `Init COMPLETE`, which
// means the same.
const silentBefore = 2<<16 | 8<<8 | 3

// SilentInUse reports whether the rank prints nothing of a communicator whose other ranks print
// channels: every rank of a collective has a neighbor. Channel lines name no communicator and are
// assigned to the newest, so only a rank that is silent about the newest one is known to be.
func (r *Rank) SilentInUse(silent bool) bool {
	clean := r.Clean()
	for _, m := range r.Views {
		if clean && m.Proc.File.Repeats > 0 {
			continue // from the driver's log, which is not in order
		}
		if len(m.Tallies) > 0 || m.connections(silent) > 0 {
			return false
		}
		if slices.ContainsFunc(m.Proc.Views[m.order+1:], func(n *View) bool { return len(n.Tallies) > 0 }) {
			return false
		}
		if len(m.Proc.Unassigned) > 0 {
			return false
		}
	}
	return true
}

// JoinedIn counts the Connected lines of the communicator's ranks that the
// process holds, which may be several processes that look alike.
func (c *Communicator) JoinedIn(p *Process) int {
	n := 0
	for _, rk := range c.Ranks {
		if rk.Views[0].Proc != p {
			continue
		}
		most := 0
		for _, m := range rk.Views { // views of the same lines
			most = max(most, m.connections(c.NoConnectedLines))
		}
		n += most
	}
	return n
}

// connections counts the lines which show that the view is connected.
func (v *View) connections(silent bool) int {
	if silent && v.Complete > 0 {
		return v.joined + 1
	}
	return v.joined
}

// Held counts how many ranks of the communicator each process holds: every
// rank prints its own Connected line.
func (c *Communicator) Held() map[*Process]int {
	n := make(map[*Process]int, len(c.Ranks))
	for _, rk := range c.Ranks {
		n[rk.Views[0].Proc]++
	}
	return n
}

// eager reports whether the run is of a release that connects inside the
// initialization, up to 2.11, although no line has its version: that line has no
// prefix, so it is missing from the files of single ranks. All channels are of
// the old form, no rank prints a line that only later releases have, and `Init
// COMPLETE` comes after the channels.
func (r *Run) eager() bool {
	old := false
	for _, c := range r.Comms {
		for _, rk := range c.Ranks {
			for _, v := range rk.Views {
				p := v.Proc
				if v.HasID || v.begun || p.Version != "" || p.File.Version.Line > 0 || p.connected != [connectedKinds]int{} {
					return false
				}
				for i := range v.Tallies {
					if t := &v.Tallies[i]; t.Medium == record.MediumNet {
						if !t.old {
							return false
						}
						old = true
					}
				}
			}
		}
	}
	return old
}

// before reports whether the run's NCCL is older than a release: some process
// prints the version, and none prints a newer one.
func (r *Run) before(release int) bool {
	known := false
	seen := func(version string) (fits bool) {
		n, ok := record.VersionNumber(version)
		if !ok {
			return true
		}
		known = true
		return n < release
	}
	for _, c := range r.Comms {
		for _, rk := range c.Ranks {
			for _, m := range rk.Views {
				p := m.Proc
				if !seen(p.Version) || !seen(record.UnprefixedVersion(p.File.Version.Text)) {
					return false
				}
			}
		}
	}
	return known
}

// connectedKinds is the number of kinds of Connected lines, and one more for the
// Init COMPLETE that means the same in releases without them.
const connectedKinds = 5

// Connections counts the lines which show that communicators are connected, by kind.
type Connections [connectedKinds]int

// Add counts the lines of a process.
func (n *Connections) Add(p *Process, silent bool) {
	for kind, count := range p.connected {
		n[kind] += count
	}
	if !silent {
		return
	}
	for _, m := range p.Views {
		if m.Complete > 0 {
			n[connectedKinds-1]++
		}
	}
}

// Most returns the count of the most frequent kind.
func (n *Connections) Most() int { return slices.Max(n[:]) }

// Unconnected finds a thread whose last collective network channel no Connected
// line follows. NCCL prints channels and Connected from one thread, so another's
// Connected proves nothing: a split communicator that shares its parent's
// connections prints one without any channel, even while the parent hangs.
func (p *Process) Unconnected(silent bool) (where Ref, open bool) {
	for i := range p.threads {
		th := &p.threads[i]
		proof, left := th.lastConn, th.abandoned
		if silent {
			proof, left = max(proof, th.lastComplete), th.abandonedSilent
		}
		switch {
		case left.Line > 0:
			return left, true
		case th.lastNet > proof:
			return th.netRef, true
		}
	}
	return Ref{}, false
}

// startAnother remembers channels that were not connected when the thread began to join
// another communicator: it does one after the other, so those never will be, and
// what the next one prints is no proof of them.
func (th *thread) startAnother() {
	if th.lastNet > th.lastConn && th.abandoned.Line == 0 {
		th.abandoned = th.netRef
	}
	if th.lastNet > max(th.lastConn, th.lastComplete) && th.abandonedSilent.Line == 0 {
		th.abandonedSilent = th.netRef
	}
}
