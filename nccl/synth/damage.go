package synth

import "slices"

// Damage says what the collected evidence lacks of what the job printed, or how
// far the job came.
type Damage string

// The damages.
const (
	// Whole: nothing is missing.
	Whole Damage = "whole"
	// RankMissing: the last process left no evidence.
	RankMissing Damage = "rank-missing"
	// NodeMissing: the last node left none.
	NodeMissing Damage = "node-missing"
	// InitIncomplete: the job hung before any connection.
	InitIncomplete Damage = "init-incomplete"
	// NeverConnected: channels were set up, and never connected.
	NeverConnected Damage = "never-connected"
	// DebugWarn: NCCL_DEBUG=WARN.
	DebugWarn Damage = "debug-warn"
	// MaskNet and MaskEnv: NCCL_DEBUG_SUBSYS=NET, and =ENV.
	MaskNet Damage = "mask-net"
	MaskEnv Damage = "mask-env"
	// CutTail: the last process's lines end before its first connection worked.
	CutTail Damage = "cut-tail"
	// CutHead: the last process's lines begin after its communicators were made.
	CutHead Damage = "cut-head"
	// ProviderLineLost, NetworkLineLost, ConnectedLineLost: such lines of the
	// last process are not there.
	ProviderLineLost  Damage = "provider-line-lost"
	NetworkLineLost   Damage = "network-line-lost"
	ConnectedLineLost Damage = "connected-line-lost"
	// OneNode: the job ran on one node only.
	OneNode Damage = "one-node"
)

// Damages lists every damage.
func Damages() []Damage {
	return []Damage{
		Whole, RankMissing, NodeMissing, InitIncomplete, NeverConnected, DebugWarn, MaskNet, MaskEnv,
		CutTail, CutHead, ProviderLineLost, NetworkLineLost, ConnectedLineLost, OneNode,
	}
}

// damage removes from the processes' lines what the evidence lacks.
func (w *world) damage() {
	victim := func(p *process) bool { return p == w.victim }
	switch w.run.Damage {
	case RankMissing:
		w.procs = slices.DeleteFunc(w.procs, victim)
	case NodeMissing:
		w.procs = slices.DeleteFunc(w.procs, func(p *process) bool { return p.node == w.victim.node })
	case DebugWarn:
		w.keep(func(l line) bool { return l.kind != info })
		w.banners()
	case MaskNet:
		w.keep(func(l line) bool { return l.kind != info || l.sub&subNet != 0 })
	case MaskEnv:
		w.keep(func(l line) bool { return l.kind != info || l.sub&subEnv != 0 })
	case CutTail:
		w.cut(func(lines []line) []line {
			at := w.first(lines, roleConnected)
			return lines[:max(1, at-1-w.rng.IntN(4))]
		})
	case CutHead:
		w.cut(func(lines []line) []line {
			return lines[min(len(lines), w.last(lines, roleNetwork, roleProvider, roleRank)+1):]
		})
	case ProviderLineLost:
		w.lose(roleProvider)
	case NetworkLineLost:
		w.lose(roleNetwork)
	case ConnectedLineLost:
		w.lose(roleConnected)
	}
}

// keep drops the lines of all processes that do not pass.
func (w *world) keep(pass func(line) bool) {
	for _, p := range w.procs {
		p.lines = slices.DeleteFunc(p.lines, func(l line) bool { return !pass(l) })
	}
}

// banners gives rank 0 the bare version line that NCCL_DEBUG=WARN prints.
func (w *world) banners() {
	text, prefixed := w.forms.banner()
	if prefixed {
		w.procs[0].lines = slices.Insert(w.procs[0].lines, 0, line{kind: version, text: text})
	}
}

func (w *world) cut(keep func([]line) []line) {
	w.victim.lines = keep(w.victim.lines)
}

// lose drops the victim's lines of one role. Where the victim is a process of
// several ranks, it drops those of its last rank only, but for providers and, in
// old releases, networks, which belong to the process.
func (w *world) lose(r role) {
	last := w.victim.ranks[len(w.victim.ranks)-1].id
	ofProcess := r == roleProvider || r == roleNetwork && w.forms.sharesNetwork()
	w.victim.lines = slices.DeleteFunc(w.victim.lines, func(l line) bool {
		return l.role == r && (l.rank == last || ofProcess)
	})
}

func (w *world) first(lines []line, r role) int {
	if i := slices.IndexFunc(lines, func(l line) bool { return l.role == r }); i >= 0 {
		return i
	}
	return len(lines)
}

func (w *world) last(lines []line, roles ...role) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if slices.Contains(roles, lines[i].role) {
			return i
		}
	}
	return -1
}
