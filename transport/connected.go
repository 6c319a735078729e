package transport

// connected checks that a rank of a communicator with collective channels says
// that it was connected. A channel line is printed at set-up, so it proves
// nothing by itself: with a closed security group the job hangs right after it.
// NCCL 2.8 and older, which print no such line, cannot be proven.
func (j *runJudge) connected(c *comm, cl *claim, held map[*process]int) {
	joined, clean := 0, cl.clean()
	for _, m := range cl.members {
		p := m.proc
		if clean && p.file.repeats > 0 {
			continue // a driver's copy, in no reliable order
		}
		if t := p.dangling(); t != nil {
			j.block(NeverConnected, cl.rank, t.netRef, "communicator "+c.key)
			return
		}
		joined += p.connected
		for _, q := range j.ev.aux[p] {
			joined += q.connected
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

// dangling finds a thread whose last collective network channel no Connected
// line follows. Channels and Connected are printed by one thread in real logs;
// where a Connected comes from a thread that opened no channel at all, it may
// stand for any other.
func (p *process) dangling() *thread {
	spare := 0
	for i := range p.threads {
		if th := &p.threads[i]; !th.channels {
			spare = max(spare, th.lastConn)
		}
	}
	for i := range p.threads {
		th := &p.threads[i]
		if th.lastNet > th.lastConn && th.lastNet > spare {
			return th
		}
	}
	return nil
}
