package nccl

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
	if b.stray.text != nil {
		f.applyHeadless(&b.stray, f.lines+b.stray.line+1)
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
		p.booted = p.booted || e.kind == evBoot
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
			if was := p.selections[i].name; was != efaProvider && p.lost == "" {
				p.lost = was
			}
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
