package model

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// GaveUp reports whether the process found no network, or chose one that is not
// EFA's for a communicator that it never named.
func (p *Process) GaveUp() bool {
	return p.Codes.Has(finding.PinnedNetworkAbsent) ||
		slices.ContainsFunc(p.pending, func(w pendingNetwork) bool { return !record.IsEFANetwork(w.name) && !p.explains(w.name) })
}

// explains reports whether a communicator of the process has the network, or no line that names one:
// then the line is a copy, or not in order.
func (p *Process) explains(network string) bool {
	return slices.ContainsFunc(p.Views, func(v *View) bool {
		return len(v.networks) == 0 || slices.Contains(v.networks, network)
	})
}

// Aborted reports whether the process printed that it cannot go on.
func (p *Process) Aborted() bool {
	return p.Codes.Has(finding.PinnedNetworkAbsent) || p.Codes.Has(finding.SocketInterfaceWrong) || p.Failed
}

// Pending lists the networks that the process chose for communicators that it
// never named.
func (p *Process) Pending() []NetworkUse {
	var nets []NetworkUse
	for _, w := range p.pending {
		nets = use(nets, w.name, w.ref)
	}
	return nets
}

// BeginsLate reports whether the process joined a communicator, and none of the lines that precede
// that is there.
func (p *Process) BeginsLate() bool {
	return len(p.Views) > 0 && !p.booted && !p.plugin && !p.Started && p.Version == "" &&
		!slices.ContainsFunc(p.Views, func(v *View) bool { return len(v.networks) > 0 })
}

// OffEFA reports whether a process that joined nothing would not have used EFA.
// One that would may only have made a unique id, as up to 2.12 some rank does.
func (p *Process) OffEFA() bool {
	name, failed := p.Provided()
	return p.Codes.Has(finding.SocketInterfaceWrong) || failed || name != "" && name != record.EFAProvider
}

// SpansNodes reports whether a communicator of the process joins nodes by NCCL's count.
func (p *Process) SpansNodes() bool {
	for _, m := range p.Views {
		if m.nodes > 1 {
			return true
		}
	}
	return false
}

// NoteRef returns the first line of the process that gave rise to a finding.
func (p *Process) NoteRef(c finding.Code) Ref {
	for _, n := range p.File.Notes[c] {
		if n.Proc == p {
			return n.First
		}
	}
	return p.First
}

// RankOf returns the rank of the process in its largest communicator, -1 if unknown.
func RankOf(p *Process) int32 {
	if p == nil || len(p.Views) == 0 {
		return -1
	}
	best := p.Views[0]
	for _, m := range p.Views[1:] {
		if m.size > best.size {
			best = m
		}
	}
	return best.Rank
}

// Process is one incarnation of host + pid in one file.
type Process struct {
	File    *File
	key     string // host:pid
	Host    string
	PID     int32
	before  *Process // the incarnation that this one replaced
	threads []thread
	Views   []*View
	// Unassigned collects channels whose communicator is unknown, by own rank: in
	// versions without START they come before the line that names it.
	Unassigned []*View
	pending    []pendingNetwork

	Provider   string
	selections []selection
	Failed     bool
	// overridden is a provider other than efa whose thread selected another later.
	overridden string
	Chosen     Ref // the last selection
	Failure    Ref // the failure that followed it
	Nics       int32

	Codes     codeSet
	addresses []address           // that it bootstraps from
	hostID    string              // NCCL_HOSTID, if set
	booted    bool                // printed its bootstrap line
	Started   bool                // printed an Init START
	multiRank bool                // holds several ranks of anything; set by unify
	plugin    bool                // printed anything of a network plugin
	connected [connectedKinds]int // Connected lines, by kind
	Version   string
	PluginVer string
	First     Ref
}

// holdsSeveralRanks reports whether one process holds several ranks of anything.
func (p *Process) holdsSeveralRanks() bool {
	ranks := map[uint64]int32{}
	for _, m := range p.Views {
		rank, seen := ranks[m.id]
		if m.HasID && seen && rank != m.Rank {
			return true
		}
		// One rank may have other ranks in communicators of one size, but hardly in
		// two of the first one's.
		if m.size == p.Views[0].size && m.Rank != p.Views[0].Rank {
			return true
		}
		if m.HasID {
			ranks[m.id] = m.Rank
		}
	}
	return false
}

// continues reports whether the process goes on with a communicator of the one
// that it replaced, so that a second bootstrap line was no restart: NCCL prints
// another for its out-of-band network. What a real restart, or another
// container's process of the same number, selected is its own.
func (p *Process) continues(before *Process) bool {
	for _, m := range p.Views {
		for _, n := range before.Views {
			if m.ptr == n.ptr && m.Rank == n.Rank {
				return true
			}
		}
	}
	return false
}

// Provided returns the last provider of the process, "" for none, and whether a failure after the
// selection undid it. Where one process holds several ranks (or hosts and pids collide in one
// file), every thread that selected must have ended on the same one; otherwise the different one is
// returned.
func (p *Process) Provided() (name string, failed bool) {
	if !p.plugin && p.before != nil && p.continues(p.before) {
		return p.before.Provided()
	}
	if p.multiRank {
		for _, s := range p.selections {
			if s.failed || s.name != record.EFAProvider {
				return s.name, s.failed
			}
		}
	}
	return p.Provider, p.Failed
}

// thread returns the state of a tid.
func (p *Process) thread(tid int32) *thread {
	for i := range p.threads {
		if p.threads[i].tid == tid {
			return &p.threads[i]
		}
	}
	p.threads = append(p.threads, thread{tid: tid})
	return &p.threads[len(p.threads)-1]
}

// begun reports whether the process got past its bootstrap line: it chose a network, opened
// channels or created a communicator, or failed to. Before 2.18 a run that hangs names no
// communicator at all, and its channels must not be proven by what a later run in the same file
// prints.
func (p *Process) begun() bool {
	return len(p.Views)+len(p.Unassigned)+len(p.pending)+len(p.selections) > 0 || p.Codes.Has(finding.PinnedNetworkAbsent)
}
