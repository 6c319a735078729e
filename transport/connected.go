package transport

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
		if t := p.dangling(c.silent); t != nil {
			j.block(NeverConnected, cl.rank, t.netRef, "communicator "+c.key)
			return
		}
		joined += p.connections(c.silent)
		for _, q := range j.ev.aux[p] {
			joined += q.connections(c.silent)
		}
	}
	if joined == 0 || joined < held[cl.members[0].proc] {
		j.block(NeverConnected, cl.rank, cl.first(), "communicator "+c.key+": no Connected line of this rank")
	}
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

// silent reports whether the run's NCCL prints no Connected lines: some process
// tells the version, and none tells another kind.
func (r *run) silent() bool {
	told := false
	seen := func(version string) (fits bool) {
		n, ok := versionNumber(version)
		if !ok {
			return true
		}
		told = true
		return n < silentBefore
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

// connections counts what tells that a communicator of the process is connected.
func (p *process) connections(silent bool) int {
	n := p.connected
	if !silent {
		return n
	}
	for _, m := range p.members {
		if m.complete > 0 {
			n++
		}
	}
	return n
}

// dangling finds a thread whose last collective network channel no Connected
// line follows. NCCL prints channels and Connected from one thread, so another's
// Connected stands for nothing: a split communicator that shares its parent's
// connections prints one without any channel, even while the parent hangs.
func (p *process) dangling(silent bool) *thread {
	for i := range p.threads {
		th := &p.threads[i]
		proof := th.lastConn
		if silent {
			proof = max(proof, th.lastComplete)
		}
		if th.lastNet > proof {
			return th
		}
	}
	return nil
}
