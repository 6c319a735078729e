package nccl

import "slices"

// join handles a communicator line.
func (p *process) join(e *event, th *thread, line int) {
	in := &e.init
	m := p.byPointer(in)
	if in.phase == phaseEnd {
		if m != nil {
			m.ended = true
		}
		return
	}
	fresh := m == nil
	if fresh {
		m = p.newMember(e, line)
	}
	if in.nodes >= 0 {
		m.nodes = max(m.nodes, in.nodes)
	}
	if in.isSub && !m.isSub && !m.hasID {
		p.learnSplit(m, in)
	}
	if in.hasID && !m.hasID {
		m.id, m.hasID = in.id, true
	}
	p.takeNetwork(m, th.tid)
	switch in.phase {
	case phaseStart:
		p.started, m.begun = true, true
		th.leave()
		th.open = m
	case phaseComplete:
		m.complete, th.lastComplete = line, line
		if th.open == m {
			th.open = nil
		}
		if fresh {
			p.absorb(m)
		}
	}
}

// byPointer finds the member that an init line continues or repeats.
func (p *process) byPointer(in *initLine) *member {
	for i := len(p.members) - 1; i >= 0; i-- {
		m := p.members[i]
		if m.ptr != in.ptr {
			continue
		}
		if m.rank != in.rank || m.size != in.size || in.hasID && m.hasID && in.id != m.id {
			return nil
		}
		// The id of a split follows from its parent and colour up to 2.22, so that
		// a second one has the first one's.
		if in.again(m) && (!in.hasID || !m.hasID || in.isSub) {
			return nil
		}
		return m
	}
	return nil
}

// again reports whether the line begins another communicator at the address of
// m, which must be over then. From NCCL 2.30.3 no line says so by default: the
// end is of a subsystem that is not in the mask (src/init.cc and src/debug.cc).
func (in *initLine) again(m *member) bool {
	switch in.phase {
	case phaseStart:
		return m.ended || m.complete > 0
	case phaseComplete: // releases before 2.18.3 print no START
		return m.ended
	}
	return false
}

func (p *process) newMember(e *event, line int) *member {
	in := &e.init
	m := &member{
		proc: p, ptr: in.ptr, id: in.id, hasID: in.hasID,
		rank: in.rank, size: in.size, nodes: -1,
		first: p.file.at(line, e.text),
	}
	if in.isSub {
		m.splitFrom(p.members, in)
	}
	p.members = append(p.members, m)
	return m
}

// splitFrom makes m a split of one of the members before it, so that no member
// descends from itself.
func (m *member) splitFrom(before []*member, in *initLine) {
	m.isSub, m.count, m.color = true, in.count, in.color
	m.parent = parentOf(before, in)
	if m.parent != nil && m.parent.depth >= maxDepth {
		m.parent = nil
	}
	if m.parent != nil {
		m.depth = m.parent.depth + 1
	}
}

// learnSplit makes m a split where its START is lost: the line of its size,
// which then comes first, does not say so. One that was split itself stays what
// it is, since the depth of its children is counted.
func (p *process) learnSplit(m *member, in *initLine) {
	if !slices.ContainsFunc(p.members, func(c *member) bool { return c.parent == m }) {
		m.splitFrom(p.members[:slices.Index(p.members, m)], in)
	}
}

// maxDepth bounds splits of splits, so that keys stay short on random bytes.
const maxDepth = 16

func parentOf(before []*member, in *initLine) *member {
	for _, m := range slices.Backward(before) {
		if m.ptr == in.parent && !m.ended {
			return m
		}
	}
	return nil
}

// absorb moves the loose channels of the member's rank into it: versions
// without START print channels before the line that names the communicator.
func (p *process) absorb(m *member) {
	for i, l := range p.loose {
		if l.rank != m.rank {
			continue
		}
		if l.late {
			p.claimLate(l)
		}
		m.take(l)
		p.loose = append(p.loose[:i], p.loose[i+1:]...)
		for j := range p.threads {
			if p.threads[j].lastChan == l {
				p.threads[j].lastChan = m
			}
		}
		return
	}
}

// claimLate turns late channels into those of a collective, which a Connected
// line must follow: a communicator claims them.
func (p *process) claimLate(l *member) {
	for i := range l.tallies {
		if l.tallies[i].old {
			l.tallies[i].p2p = false
		}
	}
	for i := range p.threads {
		if th := &p.threads[i]; th.lateNet > th.lastNet {
			th.set(th.lateRef.line, th.lateNet, p.file)
		}
	}
}

// take adds a loose member's channels to the communicator that they belong to.
func (m *member) take(l *member) {
	m.tallies = append(m.tallies, l.tallies...)
	m.joined += l.joined
	if m.joinRef.line == 0 {
		m.joinRef = l.joinRef
	}
}
