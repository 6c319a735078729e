package model

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// join handles a communicator line.
func (p *Process) join(e *record.Event, th *thread, line int) {
	in := &e.Init
	m := p.byPointer(in)
	if in.Phase == record.PhaseEnd {
		if m != nil {
			m.Ended = true
		}
		return
	}
	fresh := m == nil
	if fresh {
		m = p.newMember(e, line)
	}
	if in.Nodes >= 0 {
		m.nodes = max(m.nodes, in.Nodes)
	}
	if in.IsSub && !m.isSub && !m.HasID {
		p.learnSplit(m, in)
	}
	if in.HasID && !m.HasID {
		m.id, m.HasID = in.ID, true
	}
	p.takeNetwork(m, th.tid)
	switch in.Phase {
	case record.PhaseStart:
		if m.Complete > 0 && !m.begun {
			p.File.note(finding.LinesOutOfOrder, p, line, e.Text)
		}
		p.Started, m.begun = true, true
		th.startAnother()
		th.open = m
	case record.PhaseComplete:
		m.Complete, th.lastComplete = line, line
		if th.open == m {
			th.open = nil
		}
		if fresh {
			p.absorb(m)
		}
	}
}

// byPointer finds the member that an init line continues or repeats.
func (p *Process) byPointer(in *record.InitLine) *View {
	for i := len(p.Views) - 1; i >= 0; i-- {
		m := p.Views[i]
		if m.ptr != in.Ptr {
			continue
		}
		if m.Rank != in.Rank || m.size != in.Size || in.HasID && m.HasID && in.ID != m.id {
			return nil
		}
		// The id of a split follows from its parent and color up to 2.22, so that
		// a second one has the first one's.
		if startsAgain(in, m) && (!in.HasID || !m.HasID || in.IsSub) {
			return nil
		}
		return m
	}
	return nil
}

// startsAgain reports whether the line begins another communicator at the address of
// m, which must be over then. From NCCL 2.30.3 no line says so by default: the
// end is of a subsystem that is not in the mask (src/init.cc and src/debug.cc).
func startsAgain(in *record.InitLine, m *View) bool {
	switch in.Phase {
	case record.PhaseStart:
		return m.Ended || m.Complete > 0
	case record.PhaseComplete: // releases before 2.18.3 print no START
		return m.Ended
	}
	return false
}

func (p *Process) newMember(e *record.Event, line int) *View {
	in := &e.Init
	m := &View{
		Proc: p, order: len(p.Views), ptr: in.Ptr, id: in.ID, HasID: in.HasID,
		Rank: in.Rank, size: in.Size, nodes: -1,
		First: p.File.at(line, e.Text),
	}
	if in.IsSub {
		m.splitFrom(p.Views, in)
	}
	p.Views = append(p.Views, m)
	return m
}

// splitFrom makes m a split of one of the members before it, so that no member
// descends from itself.
func (v *View) splitFrom(before []*View, in *record.InitLine) {
	v.isSub, v.count, v.color = true, in.Count, in.Color
	v.parent = parentOf(before, in)
	if v.parent != nil && v.parent.depth >= maxDepth {
		v.parent = nil
	}
	if v.parent != nil {
		v.depth = v.parent.depth + 1
	}
}

// learnSplit makes m a split where its START is lost: the line of its size,
// which then comes first, does not say so. One that was split itself stays what
// it is, since the depth of its children is counted.
func (p *Process) learnSplit(m *View, in *record.InitLine) {
	if !slices.ContainsFunc(p.Views, func(c *View) bool { return c.parent == m }) {
		m.splitFrom(p.Views[:slices.Index(p.Views, m)], in)
	}
}

// maxDepth bounds splits of splits, so that keys stay short on random bytes.
const maxDepth = 16

func parentOf(before []*View, in *record.InitLine) *View {
	for _, m := range slices.Backward(before) {
		if m.ptr == in.Parent && !m.Ended {
			return m
		}
	}
	return nil
}

// absorb moves the rank's channels that have no communicator yet into it: versions
// without START print channels before the line that names the communicator.
func (p *Process) absorb(m *View) {
	for i, l := range p.Unassigned {
		if l.Rank != m.Rank {
			continue
		}
		if l.late {
			p.claimLate(l)
		}
		m.take(l)
		p.Unassigned = append(p.Unassigned[:i], p.Unassigned[i+1:]...)
		for j := range p.threads {
			if p.threads[j].lastChan == l {
				p.threads[j].lastChan = m
			}
		}
		return
	}
}

// claimLate turns late channels into those of a collective, which a Connected
// line must follow: they belong to a communicator.
func (p *Process) claimLate(l *View) {
	for i := range l.Tallies {
		if l.Tallies[i].old {
			l.Tallies[i].P2P = false
		}
	}
	for i := range p.threads {
		if th := &p.threads[i]; th.unclaimedNet > th.lastNet {
			th.set(th.unclaimedRef.Line, th.unclaimedNet, p.File)
		}
	}
}

// take adds channels that had no communicator to the one that they belong to.
func (v *View) take(l *View) {
	v.Tallies = append(v.Tallies, l.Tallies...)
	v.joined += l.joined
	if v.JoinRef.Line == 0 {
		v.JoinRef = l.JoinRef
	}
}
