package nccl

import "slices"

// silentBefore is the NCCL release that prints `Connected all rings` first
// (2.8.3: initTransportsRank in src/init.cc of NCCL's history). Releases before
// it connect inside the initialisation and then print `Init COMPLETE`, which
// stands for the same.
const silentBefore = 2<<16 | 8<<8 | 3

// connected checks that a rank of a communicator with collective channels says
// that it was connected. A channel line is printed at set-up, so it proves
// nothing by itself: with a closed security group the job hangs right after it.
// In releases that are silent about it, the end of the initialisation is
// the proof.
func (j *runJudge) connected(c *comm, cl *claim, held map[*process]int) {
	joined, clean := 0, cl.clean()
	for _, m := range cl.members {
		p := m.proc
		if clean && p.file.repeats > 0 {
			continue // a driver's copy, in no reliable order
		}
		if where, open := p.dangling(c.silent); open {
			j.block(NeverConnected, cl.rank, where, "communicator "+c.key)
			return
		}
		// Another member is another view of the same lines, so the fullest counts.
		var view connections
		view.add(p, c.silent)
		for _, q := range j.ev.aux[p] {
			view.add(q, c.silent)
		}
		joined = max(joined, view.most())
	}
	// Where a process holds several ranks, each prints every kind of line.
	if joined < max(1, held[cl.members[0].proc]) {
		j.block(NeverConnected, cl.rank, cl.first(), "communicator "+c.key+": no Connected line of this rank")
		return
	}
	if p := cl.members[0].proc; c.alike && held[p] > 1 && c.joinedIn(p) < held[p] {
		j.block(NeverConnected, cl.rank, cl.first(), "communicator "+c.key+": Connected lines of another communicator only")
		return
	}
	if cl.mute(c.silent) {
		j.block(NeverConnected, cl.rank, cl.first(), "communicator "+c.key+": others' channels only, none of this rank")
	}
}

// mute reports whether the rank prints nothing of a communicator whose other
// ranks print channels: every rank of a collective has a neighbour. Channel
// lines name no communicator and are given to the youngest, so only a rank that
// is silent about the youngest one is known to be.
func (c *claim) mute(silent bool) bool {
	clean := c.clean()
	for _, m := range c.members {
		if clean && m.proc.file.repeats > 0 {
			continue // a driver's copy, in no reliable order
		}
		if len(m.tallies) > 0 || m.connections(silent) > 0 {
			return false
		}
		if i := slices.Index(m.proc.members, m); slices.ContainsFunc(m.proc.members[i+1:], func(n *member) bool { return len(n.tallies) > 0 }) {
			return false
		}
		if len(m.proc.loose) > 0 {
			return false
		}
	}
	return true
}

// joinedIn counts the Connected lines of the communicator's ranks that the
// process holds, which may be several processes that look alike.
func (c *comm) joinedIn(p *process) int {
	n := 0
	for _, cl := range c.claims {
		if cl.members[0].proc != p {
			continue
		}
		most := 0
		for _, m := range cl.members { // views of the same lines
			most = max(most, m.connections(c.silent))
		}
		n += most
	}
	return n
}

// connections counts what tells that the member is connected.
func (m *member) connections(silent bool) int {
	if silent && m.complete > 0 {
		return m.joined + 1
	}
	return m.joined
}

// held counts how many ranks of the communicator each process holds: every
// rank prints its own Connected line.
func (c *comm) held() map[*process]int {
	n := make(map[*process]int, len(c.claims))
	for _, cl := range c.claims {
		n[cl.members[0].proc]++
	}
	return n
}

// silent reports whether the run's NCCL prints no Connected lines.
func (r *run) silent() bool { return r.before(silentBefore) }

// before reports whether the run's NCCL is older than a release: some process
// tells the version, and none tells another kind.
func (r *run) before(release int) bool {
	told := false
	seen := func(version string) (fits bool) {
		n, ok := versionNumber(version)
		if !ok {
			return true
		}
		told = true
		return n < release
	}
	for _, c := range r.comms {
		for _, cl := range c.claims {
			for _, m := range cl.members {
				p := m.proc
				if !seen(p.version) || !seen(unprefixedVersion(p.file.version.text)) {
					return false
				}
			}
		}
	}
	return told
}

// connectedKinds is the number of kinds of Connected lines, and one more for the
// Init COMPLETE that stands for them in silent releases.
const connectedKinds = 5

// connections counts what tells that communicators are connected, by kind.
type connections [connectedKinds]int

func (n *connections) add(p *process, silent bool) {
	for kind, count := range p.connected {
		n[kind] += count
	}
	if !silent {
		return
	}
	for _, m := range p.members {
		if m.complete > 0 {
			n[connectedKinds-1]++
		}
	}
}

// most is the count of the kind that is there most often.
func (n *connections) most() int { return slices.Max(n[:]) }

// dangling finds a thread whose last collective network channel no Connected
// line follows. NCCL prints channels and Connected from one thread, so another's
// Connected stands for nothing: a split communicator that shares its parent's
// connections prints one without any channel, even while the parent hangs.
func (p *process) dangling(silent bool) (where ref, open bool) {
	for i := range p.threads {
		th := &p.threads[i]
		proof, left := th.lastConn, th.left
		if silent {
			proof, left = max(proof, th.lastComplete), th.leftSilent
		}
		switch {
		case left.line > 0:
			return left, true
		case th.lastNet > proof:
			return th.netRef, true
		}
	}
	return ref{}, false
}

// leave remembers channels that were not connected when the thread began to join
// another communicator: it does one after the other, so those never will be, and
// what the next one prints is no proof of them.
func (th *thread) leave() {
	if th.lastNet > th.lastConn && th.left.line == 0 {
		th.left = th.netRef
	}
	if th.lastNet > max(th.lastConn, th.lastComplete) && th.leftSilent.line == 0 {
		th.leftSilent = th.netRef
	}
}
