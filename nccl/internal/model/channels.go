package model

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// open counts a channel line and those that were folded into it; last is the line of the last one.
func (p *Process) open(e *record.Event, th *thread, line, last int) {
	ch := &e.Ch
	m := p.owner(ch, th)
	if last >= th.lastChanLine {
		th.lastChan, th.lastChanLine = m, last
	}
	p2p := ch.Conn > 0 || ch.OldForm && (m.Complete > 0 || m.late)
	provider := p.Provider
	if p.Failed {
		provider = ""
	}
	t := m.tally(p.File, ch, provider, p2p)
	if t.Count == 0 {
		t.First = p.File.at(line, e.Text)
	}
	t.add(ch, 1+e.More)
	switch {
	case ch.Medium != record.MediumNet:
	case !p2p:
		th.set(line, last, p.File)
	case m.late && ch.OldForm:
		if th.unclaimedNet <= th.lastConn {
			th.unclaimedRef = Ref{File: p.File, Line: line}
		}
		th.unclaimedNet = max(th.unclaimedNet, last)
	}
}

// add counts lines of one channel.
func (t *Tally) add(ch *record.ChannelLine, lines int) {
	t.Count += lines
	switch ch.Dir {
	case record.Sending:
		t.Sends += lines
	case record.Receiving:
		t.Receives += lines
	}
	if ch.GDR {
		t.GDR += lines
	}
	t.addEnd(ch, lines)
	t.Devices |= 1 << (uint32(ch.Device) & 63)
	if ch.Medium == record.MediumMNNVL {
		t.addPeer(ch.Peer())
	}
}

// set notes network channels of a collective; last is the line of the last one.
func (th *thread) set(line, last int, f *File) {
	if th.lastNet <= th.lastConn {
		th.netRef = Ref{File: f, Line: line}
	}
	th.lastNet = max(th.lastNet, last)
}

// maxPeers bounds the peers kept for MNNVL channels; a rack has 72 GPUs.
const maxPeers = 128

func (t *Tally) addPeer(rank int32) {
	for _, r := range t.peers {
		if r == rank {
			return
		}
	}
	if len(t.peers) <= maxPeers {
		t.peers = append(t.peers, rank)
	}
}

func (v *View) tally(f *File, ch *record.ChannelLine, provider string, p2p bool) *Tally {
	for i := range v.Tallies {
		t := &v.Tallies[i]
		if t.P2P == p2p && t.old == ch.OldForm && t.Provider == provider && t.Label == string(ch.Label) {
			return t
		}
	}
	v.Tallies = append(v.Tallies, Tally{
		Label: f.intern(ch.Label), Provider: provider, Medium: ch.Medium, P2P: p2p, old: ch.OldForm,
	})
	return &v.Tallies[len(v.Tallies)-1]
}

// owner finds the communicator of a channel line, which names none: one that this thread is
// initializing, otherwise the newest in which this process has the line's rank. A network channel
// goes to a communicator that may span nodes before one that does not, which can only make the
// judge stricter.
func (p *Process) owner(ch *record.ChannelLine, th *thread) *View {
	own, peer := ch.Own(), ch.Peer()
	fits := func(m *View) bool { return m.Rank == own && peer < m.size && !m.Ended }
	if m := th.open; m != nil && fits(m) {
		return m
	}
	if !p.Started && (len(p.pending) > 0 || ch.OldForm && ch.Medium != record.MediumLocal) {
		return p.unassigned(own)
	}
	var local *View
	for i := len(p.Views) - 1; i >= 0; i-- {
		m := p.Views[i]
		if !fits(m) {
			continue
		}
		if m.nodes != 1 || ch.Medium == record.MediumLocal {
			return m
		}
		if local == nil {
			local = m
		}
	}
	if local != nil {
		return local
	}
	return p.unassigned(own)
}

// unassigned collects channels of a rank until an Init COMPLETE line shows their communicator.
// Where one has come before, channels without a connection index are of the next communicator or,
// if none comes, point to point.
func (p *Process) unassigned(rank int32) *View {
	for _, m := range p.Unassigned {
		if m.Rank == rank {
			return m
		}
	}
	m := &View{Proc: p, order: -1, Rank: rank, nodes: -1}
	m.late = slices.ContainsFunc(p.Views, func(m *View) bool { return m.Rank == rank && m.Complete > 0 })
	p.Unassigned = append(p.Unassigned, m)
	return m
}

// connect files a `Connected` line, which names no communicator: it belongs to
// the one whose channels this thread, or else this process, set up last.
func (p *Process) connect(e *record.Event, th *thread, line int) {
	th.lastConn = line
	p.connected[e.Count]++
	m := th.lastChan
	if m == nil {
		m = th.open
	}
	for i := 0; m == nil && i < len(p.threads); i++ {
		m = p.threads[i].lastChan
	}
	if m == nil && len(p.Views) > 0 {
		m = p.Views[len(p.Views)-1]
	}
	if m == nil {
		return
	}
	if m.joined++; m.joined == 1 {
		m.JoinRef = p.File.at(line, e.Text)
	}
}
