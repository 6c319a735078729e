package model

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// Apply adds a block's events to the model, in file order.
func (f *File) Apply(b *record.Block) {
	procs := make([]*Process, len(b.Origins))
	for i := range b.Events {
		e := &b.Events[i]
		line := f.Lines + e.Line + 1
		if e.From < 0 {
			f.applyHeadless(e, line)
			continue
		}
		o := b.Origins[e.From]
		if procs[e.From] == nil {
			procs[e.From] = f.process(o, line, e.Text)
		}
		p := procs[e.From]
		if e.Kind == record.KindBoot && p.begun() {
			p = f.incarnate(p)
			clear(procs)
			procs[e.From] = p
		}
		p.apply(e, o.TID, line)
	}
	if b.Stray.Text != nil {
		f.applyHeadless(&b.Stray, f.Lines+b.Stray.Line+1)
	}
	f.Lines += b.Lines
	f.Infos += b.Infos
	f.Warns += b.Warns
	f.Repeats += b.Repeats
}

// applyHeadless handles records that no process can be named for.
func (f *File) applyHeadless(e *record.Event, line int) {
	switch e.Kind {
	case record.KindVersion:
		if f.Version.Line == 0 {
			f.Version = f.at(line, e.Text)
		}
	case record.KindTorn:
		f.Torn++
		f.note(finding.TornLines, nil, line, e.Text)
		f.countStripped(e, line)
	case record.KindChannel:
		f.countStripped(e, line)
	case record.KindProvider:
		f.Stripped.Provider, f.Stripped.Chosen = f.intern(e.Name), f.at(line, e.Text)
	}
}

// Stripped is what the records without host and process show.
type Stripped struct {
	// Channels counts network channels by transport.
	Channels []Tally
	// Provider is the libfabric provider that was selected last, and Chosen its line.
	Provider string
	Chosen   Ref
}

// countStripped counts a network channel of a record without host and process.
func (f *File) countStripped(e *record.Event, line int) {
	if !e.Stripped || len(e.Ch.Label) == 0 || e.Ch.Medium != record.MediumNet {
		return
	}
	for i := range f.Stripped.Channels {
		if t := &f.Stripped.Channels[i]; t.Label == string(e.Ch.Label) {
			t.Count++
			return
		}
	}
	f.Stripped.Channels = append(f.Stripped.Channels, Tally{
		Label: f.intern(e.Ch.Label), Medium: e.Ch.Medium, Count: 1, First: f.at(line, e.Text),
	})
}

// process finds the latest incarnation of host + pid.
func (f *File) process(o record.Origin, line int, text []byte) *Process {
	if p := f.byKey[string(o.Key)]; p != nil {
		return p
	}
	p := &Process{key: string(o.Key), File: f, Host: f.intern(o.Host), PID: o.PID, First: f.at(line, text)}
	f.Procs = append(f.Procs, p)
	f.byKey[p.key] = p
	f.byPID[o.PID] = append(f.byPID[o.PID], p)
	return p
}

// incarnate starts a new process with the same host and pid: NCCL prints its
// bootstrap line once per process, so a second one later is a restart, as usual
// in pods, where pids repeat.
func (f *File) incarnate(old *Process) *Process {
	p := &Process{File: f, key: old.key, Host: old.Host, PID: old.PID, before: old, First: old.First}
	f.Procs = append(f.Procs, p)
	f.byKey[p.key] = p
	for i, q := range f.byPID[old.PID] {
		if q == old {
			f.byPID[old.PID][i] = p
		}
	}
	return p
}
