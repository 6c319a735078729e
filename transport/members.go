package transport

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
		if in.phase == phaseStart && m.ended && (!in.hasID || !m.hasID) {
			return nil
		}
		return m
	}
	return nil
}

func (p *process) newMember(e *event, line int) *member {
	in := &e.init
	m := &member{
		proc: p, ptr: in.ptr, id: in.id, hasID: in.hasID, isSub: in.isSub,
		count: in.count, color: in.color, rank: in.rank, size: in.size, nodes: -1,
		first: p.file.at(line, e.text),
	}
	if in.isSub {
		m.parent = p.parentOf(in)
	}
	if m.parent != nil && m.parent.depth >= maxDepth {
		m.parent = nil
	}
	if m.parent != nil {
		m.depth = m.parent.depth + 1
	}
	p.members = append(p.members, m)
	return m
}

// maxDepth bounds splits of splits, so that keys stay short on random bytes.
const maxDepth = 16

func (p *process) parentOf(in *initLine) *member {
	for i := len(p.members) - 1; i >= 0; i-- {
		if p.members[i].ptr == in.parent && !p.members[i].ended {
			return p.members[i]
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
		m.tallies = append(m.tallies, l.tallies...)
		m.joined += l.joined
		if m.joinRef.line == 0 {
			m.joinRef = l.joinRef
		}
		p.loose = append(p.loose[:i], p.loose[i+1:]...)
		for j := range p.threads {
			if p.threads[j].lastChan == l {
				p.threads[j].lastChan = m
			}
		}
		return
	}
}
