package transport

// apply adds a block's events to the model, in file order.
func (f *logFile) apply(b *block) {
	procs := make([]*process, len(b.origins))
	for i := range b.events {
		e := &b.events[i]
		line := f.lines + e.line + 1
		if e.from < 0 {
			f.applyHeadless(e, line)
			continue
		}
		o := b.origins[e.from]
		if procs[e.from] == nil {
			procs[e.from] = f.process(o, line, e.text)
		}
		p := procs[e.from]
		if e.kind == evBoot && p.begun() {
			p = f.incarnate(p)
			clear(procs)
			procs[e.from] = p
		}
		p.apply(e, o.tid, line)
	}
	f.lines += b.lines
	f.infos += b.infos
	f.warns += b.warns
	f.repeats += b.repeats
}

// applyHeadless handles records that no process can be named for.
func (f *logFile) applyHeadless(e *event, line int) {
	switch e.kind {
	case evVersion:
		if f.version.line == 0 {
			f.version = f.at(line, e.text)
		}
	case evTorn:
		f.torn++
		f.note(TornLines, nil, line, e.text)
	}
}

// process finds the latest incarnation of host + pid.
func (f *logFile) process(o origin, line int, text []byte) *process {
	if p := f.byKey[string(o.key)]; p != nil {
		return p
	}
	p := &process{key: string(o.key), file: f, host: f.intern(o.host), pid: o.pid, first: f.at(line, text)}
	f.procs = append(f.procs, p)
	f.byKey[p.key] = p
	f.byPID[o.pid] = append(f.byPID[o.pid], p)
	return p
}

// begun reports whether the process got past its bootstrap line: it chose a
// network, opened channels or made a communicator, or failed to. Before 2.18 a
// run that hangs names no communicator at all, and its channels must not be
// proven by what a later run in the same file prints.
func (p *process) begun() bool {
	return len(p.members)+len(p.loose)+len(p.waiting)+len(p.selections) > 0 || p.codes.has(PinnedNetworkAbsent)
}

// incarnate starts a new process with the same host and pid: NCCL prints its
// bootstrap line once per process, so a second one later is a restart, as usual
// in pods, where pids repeat.
func (f *logFile) incarnate(old *process) *process {
	p := &process{file: f, key: old.key, host: old.host, pid: old.pid, before: old, first: old.first}
	f.procs = append(f.procs, p)
	f.byKey[p.key] = p
	for i, q := range f.byPID[old.pid] {
		if q == old {
			f.byPID[old.pid][i] = p
		}
	}
	return p
}

// apply adds one event to the process.
func (p *process) apply(e *event, tid int32, line int) {
	th := p.thread(tid)
	switch e.kind {
	case evNetwork:
		p.useNetwork(e, th, line)
	case evInit:
		p.join(e, th, line)
	case evChannel:
		p.open(e, th, line, line+e.last-e.line)
	case evConnected:
		p.connect(e, th, line)
	case evProvider:
		p.selectProvider(e, tid, line)
	case evVersion:
		p.setVersion(e)
	case evTorn:
		p.torn++
		p.file.torn++
		p.file.note(TornLines, p, line, e.text)
	case evNote, evBoot:
		p.remark(e, tid, line)
	}
}

// remark records what only a finding rests on, and a failed initialisation.
func (p *process) remark(e *event, tid int32, line int) {
	if e.kind == evNote {
		p.plugin = p.plugin || hasPrefix(messageOf(e.text), "NET/")
	}
	if e.code != codeNone {
		p.file.note(e.code, p, line, e.text)
	}
	if !e.fails {
		return
	}
	p.plugin = true
	if p.provider != "" && !p.failed {
		p.failed, p.failure = true, p.file.at(line, e.text)
	}
	hit := false
	for i := range p.selections {
		if p.selections[i].tid == tid {
			p.selections[i].failed, hit = true, true
		}
	}
	if n := len(p.selections); !hit && n > 0 {
		p.selections[n-1].failed = true
	}
}

func (p *process) selectProvider(e *event, tid int32, line int) {
	p.plugin = true
	p.provider, p.failed = p.file.intern(e.name), false
	if p.chosen.line == 0 || p.chosen.text == "" || p.provider != efaProvider {
		p.chosen = p.file.at(line, e.text)
	}
	p.nics = max(p.nics, e.count)
	for i := range p.selections {
		if p.selections[i].tid == tid {
			p.selections[i] = selection{tid: tid, name: p.provider}
			return
		}
	}
	p.selections = append(p.selections, selection{tid: tid, name: p.provider})
}

func (p *process) setVersion(e *event) {
	if e.code == TwoPluginVersions {
		p.plugin = true
		p.pluginVer = p.file.intern(e.name)
		return
	}
	p.version = p.file.intern(e.name)
}

// useNetwork files a `Using network` line: to the communicator that this thread
// is initialising if that has none yet, else to the next one.
func (p *process) useNetwork(e *event, th *thread, line int) {
	name := p.file.intern(e.name)
	if m := th.open; m != nil && m.complete == 0 && len(m.networks) == 0 {
		m.networks, m.netRef = append(m.networks, name), p.file.at(line, e.text)
		return
	}
	if n := len(p.waiting); n > 0 && p.waiting[n-1].tid == th.tid && p.waiting[n-1].name == name {
		p.waiting[n-1].count++
		return
	}
	p.waiting = append(p.waiting, waitingNet{tid: th.tid, name: name, count: 1, ref: p.file.at(line, e.text)})
}

// takeNetwork gives the member the network that waits for it: the same
// thread's if there is one, else the oldest.
func (p *process) takeNetwork(m *member, tid int32) {
	if len(p.waiting) == 0 || len(m.networks) > 0 {
		return
	}
	at := 0
	for i := range p.waiting {
		if p.waiting[i].tid == tid {
			at = i
			break
		}
	}
	w := &p.waiting[at]
	m.networks, m.netRef = append(m.networks, w.name), w.ref
	if w.count--; w.count == 0 {
		p.waiting = append(p.waiting[:at], p.waiting[at+1:]...)
	}
}

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
		p.started = true
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

// open counts a channel line and those that were folded into it, the last of
// which is at last.
func (p *process) open(e *event, th *thread, line, last int) {
	ch := &e.ch
	m := p.owner(ch, th)
	if last >= th.lastChanLine {
		th.lastChan, th.lastChanLine = m, last
	}
	p2p := ch.conn > 0 || ch.oldForm && m.complete > 0
	provider := p.provider
	if p.failed {
		provider = ""
	}
	t := m.tally(p.file, ch, provider, p2p)
	if t.count == 0 {
		t.first = p.file.at(line, e.text)
	}
	lines := 1 + e.more
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
	if ch.medium == mediumNet && !p2p {
		if th.lastNet <= th.lastConn {
			th.netRef = ref{file: p.file, line: line}
		}
		th.lastNet = max(th.lastNet, last)
	}
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
	if !p.started && len(p.waiting) > 0 {
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

func (p *process) looseMember(rank int32) *member {
	for _, m := range p.loose {
		if m.rank == rank {
			return m
		}
	}
	m := &member{proc: p, rank: rank, nodes: -1}
	p.loose = append(p.loose, m)
	return m
}

// connect files a `Connected` line, which names no communicator: it belongs to
// the one whose channels this thread, or else this process, set up last.
func (p *process) connect(e *event, th *thread, line int) {
	th.lastConn = line
	p.connected++
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
