package synth

import "slices"

// Damage is what the collected evidence lacks of what the job printed, or how far the job came.
type Damage string

// The damages.
const (
	// Whole means that nothing is missing.
	Whole Damage = "whole"
	// RankMissing means that the last process left no evidence.
	RankMissing Damage = "rank-missing"
	// NodeMissing means that the last node left no evidence.
	NodeMissing Damage = "node-missing"
	// InitIncomplete means that the job hung before any connection.
	InitIncomplete Damage = "init-incomplete"
	// NeverConnected means that channels were set up but never connected.
	NeverConnected Damage = "never-connected"
	// DebugWarn means NCCL_DEBUG=WARN.
	DebugWarn Damage = "debug-warn"
	// MaskNet and MaskEnv mean NCCL_DEBUG_SUBSYS=NET and =ENV.
	MaskNet Damage = "mask-net"
	MaskEnv Damage = "mask-env"
	// CutTail means that the last process's lines end before its first connection was established.
	CutTail Damage = "cut-tail"
	// CutHead means that the last process's lines begin after its communicators were created.
	CutHead Damage = "cut-head"
	// ProviderLineLost, NetworkLineLost and ConnectedLineLost mean that such lines of the last process
	// are missing.
	ProviderLineLost  Damage = "provider-line-lost"
	NetworkLineLost   Damage = "network-line-lost"
	ConnectedLineLost Damage = "connected-line-lost"
	// OneNode means that the job ran on one node only.
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
	isDamaged := func(p *process) bool { return p == w.damaged }
	switch w.run.Damage {
	case RankMissing:
		w.procs = slices.DeleteFunc(w.procs, isDamaged)
	case NodeMissing:
		w.procs = slices.DeleteFunc(w.procs, func(p *process) bool { return p.node == w.damaged.node })
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
	w.damaged.lines = keep(w.damaged.lines)
}

// lose drops the damaged process's lines of one role. If the process has several ranks, it drops
// those of its last rank only, except for providers and, in old releases, networks, which belong to
// the process.
func (w *world) lose(r role) {
	last := w.damaged.ranks[len(w.damaged.ranks)-1].id
	ofProcess := r == roleProvider || r == roleNetwork && w.forms.sharesNetwork()
	w.damaged.lines = slices.DeleteFunc(w.damaged.lines, func(l line) bool {
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
