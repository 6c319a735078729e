package synth

// subsystem is a set of NCCL's debugging subsystems.
type subsystem uint8

const (
	subInit subsystem = 1 << iota
	subEnv
	subNet
	subBootstrap
	subP2P
	subGraph
	subAll = subsystem(0xff)
)

// kind is how a line is printed.
type kind uint8

const (
	info    kind = iota // with NCCL's prefix
	warn                // with NCCL's prefix and origin, after an empty line
	version             // NCCL's banner: no prefix, at every level but none
	other               // not NCCL's: training output, libfabric, tables
)

// role is what a line proves, so that damage can choose.
type role uint8

const (
	noise role = iota
	roleNetwork
	roleProvider
	roleRank
	roleChannel // over the network
	roleInside  // a channel inside a node
	rolePlan    // the order of a ring, which looks like a channel
	roleConnected
	roleCause
)

// line is one line of a process before launchers and collectors touch it.
type line struct {
	kind   kind
	sub    subsystem
	role   role
	rank   int // of the job
	tid    int
	dev    int
	origin string // of a WARN
	text   string
	truth  carrier // of a channel line
}

// carrier is what the connection behind a channel line used.
type carrier uint8

const (
	carrierUnknown carrier = iota
	carrierEFA
	carrierOther
)

// carrierOf returns what member m's connections over the network called net use.
func (w *world) carrierOf(m *rank, net string) carrier {
	f := m.proc.fabric
	switch {
	case net != w.pluginNetwork():
		return carrierOther
	case f.failure != noFailure:
		return carrierUnknown
	}
	switch f.attempts[len(f.attempts)-1] {
	case "efa", "efa;ofi_rxr":
		return carrierEFA
	default:
		return carrierOther
	}
}

// log prints an INFO line of rank rk.
func (w *world) log(rk *rank, sub subsystem, as role, text string) line {
	return line{kind: info, sub: sub, role: as, rank: rk.id, tid: rk.tid, dev: rk.local, text: text}
}

// warn prints a WARN line of rank rk.
func (w *world) warn(rk *rank, origin, text string) line {
	return line{kind: warn, sub: subAll, role: roleCause, rank: rk.id, tid: rk.tid, dev: rk.local, origin: origin, text: text}
}

// interleave merges sequences at random and keeps the order inside each.
func (w *world) interleave(seqs [][]line) []line {
	total := 0
	for _, s := range seqs {
		total += len(s)
	}
	out := make([]line, 0, total)
	for len(seqs) > 0 {
		i := w.rng.IntN(len(seqs))
		n := min(1+w.rng.IntN(3), len(seqs[i]))
		out = append(out, seqs[i][:n]...)
		if seqs[i] = seqs[i][n:]; len(seqs[i]) == 0 {
			seqs[i] = seqs[len(seqs)-1]
			seqs = seqs[:len(seqs)-1]
		}
	}
	return out
}
