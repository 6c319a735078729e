package model

import (
	"bytes"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// apply adds one event to the process.
func (p *Process) apply(e *record.Event, tid int32, line int) {
	th := p.thread(tid)
	switch e.Kind {
	case record.KindNetwork:
		p.useNetwork(e, th, line)
	case record.KindInit:
		p.join(e, th, line)
	case record.KindChannel:
		p.open(e, th, line, line+e.Last-e.Line)
	case record.KindConnected:
		p.connect(e, th, line)
	case record.KindProvider:
		p.selectProvider(e, tid, line)
	case record.KindVersion:
		p.setVersion(e)
	case record.KindHostID:
		p.hostID = p.File.intern(e.Name)
	case record.KindTorn:
		p.File.Torn++
		p.File.note(finding.TornLines, p, line, e.Text)
	case record.KindNote, record.KindBoot:
		if e.Kind == record.KindBoot {
			p.boot(e)
		}
		p.remark(e, tid, line)
	}
}

// boot notes the bootstrap line and its address. One process prints one; several
// addresses are those of processes that look alike.
func (p *Process) boot(e *record.Event) {
	p.booted = true
	if len(e.Name) == 0 || len(p.addresses) >= maxPeers {
		return
	}
	if a := newAddress(p.File.intern(e.Name)); !slices.Contains(p.addresses, a) {
		p.addresses = append(p.addresses, a)
	}
}

// remark records what only a finding rests on, and a failed initialization.
func (p *Process) remark(e *record.Event, tid int32, line int) {
	if e.Kind == record.KindNote {
		p.plugin = p.plugin || bytes.HasPrefix(record.MessageOf(e.Text), []byte("NET/"))
	}
	if e.Code != finding.None {
		p.File.note(e.Code, p, line, e.Text)
	}
	if !e.Fails {
		return
	}
	p.plugin = true
	if p.Provider != "" && !p.Failed {
		p.Failed, p.Failure = true, p.File.at(line, e.Text)
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

func (p *Process) selectProvider(e *record.Event, tid int32, line int) {
	p.plugin = true
	before := p.Provider
	p.Provider, p.Failed = p.File.intern(e.Name), false
	if p.Chosen.Text == "" || p.Provider != before {
		p.Chosen = p.File.at(line, e.Text)
	}
	p.Nics = max(p.Nics, e.Count)
	for i := range p.selections {
		if p.selections[i].tid == tid {
			if was := p.selections[i].name; was != record.EFAProvider && p.overridden == "" {
				p.overridden = was
			}
			p.selections[i] = selection{tid: tid, name: p.Provider}
			return
		}
	}
	p.selections = append(p.selections, selection{tid: tid, name: p.Provider})
}

func (p *Process) setVersion(e *record.Event) {
	if e.Code == finding.TwoPluginVersions {
		p.plugin = true
		p.PluginVer = p.File.intern(e.Name)
		return
	}
	p.Version = p.File.intern(e.Name)
}

// useNetwork files a `Using network` line: to the communicator that this thread is initializing if
// that has none yet, else to the next one.
func (p *Process) useNetwork(e *record.Event, th *thread, line int) {
	name := p.File.intern(e.Name)
	if m := th.open; m != nil && m.Complete == 0 && len(m.networks) == 0 {
		m.networks, m.NetRef = append(m.networks, name), p.File.at(line, e.Text)
		return
	}
	if n := len(p.pending); n > 0 && p.pending[n-1].tid == th.tid && p.pending[n-1].name == name {
		p.pending[n-1].count++
		return
	}
	p.pending = append(p.pending, pendingNetwork{tid: th.tid, name: name, count: 1, ref: p.File.at(line, e.Text)})
}

// takeNetwork gives the member the network that waits for it: the same
// thread's if there is one, else the oldest.
func (p *Process) takeNetwork(m *View, tid int32) {
	if len(p.pending) == 0 || len(m.networks) > 0 {
		return
	}
	at := 0
	for i := range p.pending {
		if p.pending[i].tid == tid {
			at = i
			break
		}
	}
	w := &p.pending[at]
	m.networks, m.NetRef = append(m.networks, w.name), w.ref
	if w.count--; w.count == 0 {
		p.pending = append(p.pending[:at], p.pending[at+1:]...)
	}
}
