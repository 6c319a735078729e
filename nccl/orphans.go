package nccl

// orphanChannels counts channels that belong to no communicator in evidence.
// They can condemn a run but never prove it.
func (j *runJudge) orphanChannels() {
	var wide map[seat]bool
	for _, l := range j.ev.orphans {
		copied := l.proc.file.repeats > 0
		if copied && wide == nil {
			wide = j.ev.wideSeats()
		}
		if copied && !wide[seat{l.proc.host, l.proc.pid, l.rank}] {
			continue // a driver's copy of what never left a node, or of a rank that taints the run already
		}
		final, _ := l.proc.provided()
		for i := range l.tallies {
			t := &l.tallies[i]
			if copied && efaNetwork(networkOf(t.label)) {
				continue
			}
			k := classify(t, final, classUnknown)
			if k == classLocal {
				continue
			}
			j.count(k, t, l.rank)
			j.block(RankMissing, l.rank, t.first, "channels of a rank whose communicator is not in evidence")
		}
	}
}

// seat is a rank of a process, whichever communicator it is in.
type seat struct {
	host string
	pid  int32
	rank int32
}

// wideSeats lists the ranks that a log without Ray's de-duplication shows in a
// communicator that spans nodes.
func (ev *evidence) wideSeats() map[seat]bool {
	seats := map[seat]bool{}
	for _, c := range ev.comms {
		if !c.spans() {
			continue
		}
		for _, cl := range c.claims {
			if cl.clean() {
				seats[seat{cl.host, cl.pid, cl.rank}] = true
			}
		}
	}
	return seats
}
