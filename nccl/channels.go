package nccl

import "slices"

// open counts a channel line and those that were folded into it, the last of
// which is at last.
func (p *process) open(e *event, th *thread, line, last int) {
	ch := &e.ch
	m := p.owner(ch, th)
	if last >= th.lastChanLine {
		th.lastChan, th.lastChanLine = m, last
	}
	p2p := ch.conn > 0 || ch.oldForm && (m.complete > 0 || m.late)
	provider := p.provider
	if p.failed {
		provider = ""
	}
	t := m.tally(p.file, ch, provider, p2p)
	if t.count == 0 {
		t.first = p.file.at(line, e.text)
	}
	t.add(ch, 1+e.more, last)
	switch {
	case ch.medium != mediumNet:
	case !p2p:
		th.set(line, last, p.file)
	case m.late && ch.oldForm:
		if th.lateNet <= th.lastConn {
			th.lateRef = ref{file: p.file, line: line}
		}
		th.lateNet = max(th.lateNet, last)
	}
}

// add counts lines of one channel, the last of which is at last.
func (t *tally) add(ch *channelLine, lines, last int) {
	t.count += lines
	t.last = max(t.last, last)
	switch ch.dir {
	case sending:
		t.sends += lines
	case receiving:
		t.receives += lines
	}
	if ch.gdr {
		t.gdr += lines
	}
	t.addEnd(ch, lines)
	t.devices |= 1 << (uint32(ch.device) & 63)
	if ch.medium == mediumMNNVL {
		t.addPeer(ch.peer())
	}
}

// set notes network channels of a collective, the last of which is at last.
func (th *thread) set(line, last int, f *logFile) {
	if th.lastNet <= th.lastConn {
		th.netRef = ref{file: f, line: line}
	}
	th.lastNet = max(th.lastNet, last)
}

// maxPeers bounds the peers kept for MNNVL channels; a rack has 72 GPUs.
const maxPeers = 128

func (t *tally) addPeer(rank int32) {
	for _, r := range t.peers {
		if r == rank {
			return
		}
	}
	if len(t.peers) <= maxPeers {
		t.peers = append(t.peers, rank)
	}
}

func (m *member) tally(f *logFile, ch *channelLine, provider string, p2p bool) *tally {
	for i := range m.tallies {
		t := &m.tallies[i]
		if t.p2p == p2p && t.old == ch.oldForm && t.provider == provider && t.label == string(ch.label) {
			return t
		}
	}
	m.tallies = append(m.tallies, tally{
		label: f.intern(ch.label), provider: provider, medium: ch.medium, p2p: p2p, old: ch.oldForm,
	})
	return &m.tallies[len(m.tallies)-1]
}

// owner finds the communicator of a channel line, which names none: one that
// this thread is initialising, else the youngest in which this process has the
// line's rank. A network channel goes to a communicator that may span nodes
// before one that does not, which can only make the judge stricter.
func (p *process) owner(ch *channelLine, th *thread) *member {
	own, peer := ch.own(), ch.peer()
	fits := func(m *member) bool { return m.rank == own && peer < m.size && !m.ended }
	if m := th.open; m != nil && fits(m) {
		return m
	}
	if !p.started && (len(p.waiting) > 0 || ch.oldForm && ch.medium != mediumLocal) {
		return p.looseMember(own)
	}
	var local *member
	for i := len(p.members) - 1; i >= 0; i-- {
		m := p.members[i]
		if !fits(m) {
			continue
		}
		if m.nodes != 1 || ch.medium == mediumLocal {
			return m
		}
		if local == nil {
			local = m
		}
	}
	if local != nil {
		return local
	}
	return p.looseMember(own)
}

// looseMember collects channels of a rank until an Init COMPLETE claims them.
// Where one has come before, channels without a connection index are of the next
// communicator or, if none comes, point to point.
func (p *process) looseMember(rank int32) *member {
	for _, m := range p.loose {
		if m.rank == rank {
			return m
		}
	}
	m := &member{proc: p, rank: rank, nodes: -1}
	m.late = slices.ContainsFunc(p.members, func(m *member) bool { return m.rank == rank && m.complete > 0 })
	p.loose = append(p.loose, m)
	return m
}

// connect files a `Connected` line, which names no communicator: it belongs to
// the one whose channels this thread, or else this process, set up last.
func (p *process) connect(e *event, th *thread, line int) {
	th.lastConn = line
	p.connected[e.count]++
	m := th.lastChan
	if m == nil {
		m = th.open
	}
	for i := 0; m == nil && i < len(p.threads); i++ {
		m = p.threads[i].lastChan
	}
	if m == nil && len(p.members) > 0 {
		m = p.members[len(p.members)-1]
	}
	if m == nil {
		return
	}
	if m.joined++; m.joined == 1 {
		m.joinRef = p.file.at(line, e.text)
	}
}
