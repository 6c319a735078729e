package synth

import "strconv"

func itoa(n int) string { return strconv.Itoa(n) }

// play makes every process print its lines.
func (w *world) play() {
	for _, p := range w.procs {
		w.emit(p, func(rk *rank) []line {
			if rk == p.ranks[0] {
				return w.start(rk)
			}
			return nil
		})
	}
	if w.run.Eager {
		for _, c := range w.comms {
			w.setUp(c)
		}
		for _, c := range w.comms {
			w.use(c)
		}
	} else {
		for _, c := range w.comms {
			if c.parent == nil && c != w.comms[0] && w.run.Groups == Second {
				w.destroy(w.comms[0])
			}
			w.setUp(c)
			w.use(c)
		}
	}
	w.train(w.comms[0])
	w.damage()
}

// emit appends what each of the process's ranks prints, interleaved.
func (w *world) emit(p *process, prints func(*rank) []line) {
	if len(p.ranks) == 1 {
		p.lines = append(p.lines, prints(p.ranks[0])...)
		return
	}
	seqs := make([][]line, 0, len(p.ranks))
	for _, rk := range p.ranks {
		if s := prints(rk); len(s) > 0 {
			seqs = append(seqs, s)
		}
	}
	p.lines = append(p.lines, w.interleave(seqs)...)
}

// each makes the members of c print, except those that hang.
func (w *world) each(c *comm, prints func(*rank) []line) { w.eachOf(c.members, prints) }

func (w *world) eachOf(ranks []*rank, prints func(*rank) []line) {
	member := make(map[*rank]bool, len(ranks))
	for _, m := range ranks {
		member[m] = true
	}
	for _, p := range w.procs {
		w.emit(p, func(rk *rank) []line {
			if !member[rk] || rk.stuck || p.fabric.network == "" {
				return nil
			}
			return prints(rk)
		})
	}
}

// setUp creates a communicator: everything up to `Init COMPLETE`, and from before 2.22 the
// connections too, which were not lazy then.
func (w *world) setUp(c *comm) {
	w.eachOf(c.outside, func(m *rank) []line {
		return []line{w.log(m, subInit, noise, "Rank "+itoa(c.parent.rankOf(m))+" has color with NCCL_SPLIT_NOCOLOR, not creating a new communicator")}
	})
	w.each(c, func(m *rank) []line {
		out := w.compact(
			w.log(m, subInit, roleNetwork, w.usingNetwork(c, m)),
			w.log(m, subInit, noise, w.ifAtLeast(26, "DMA-BUF is available on GPU device "+itoa(m.local))),
			w.log(m, subInit, roleRank, w.forms.initLine(c, m, false)),
			w.log(m, subInit, noise, w.ifAtLeast(24, "Bootstrap timings total 0.000925 (create 0.000425, send 0.000107, recv 0.000100, ring 0.000039, delay 0.000003)")),
			w.log(m, subGraph, noise, "Setting affinity for GPU "+itoa(m.local)+" to ffff,ffffffff"),
			w.log(m, subInit, roleRank, w.forms.sizes(c, m)),
		)
		out = append(out, w.plan(c, m)...)
		if w.lazy() {
			out = append(out, w.complete(c, m)...)
		}
		return out
	})
	if !w.lazy() {
		w.connect(c)
		w.each(c, func(m *rank) []line { return w.complete(c, m) })
	}
}

// use connects a communicator at its first collective, and then pairs of ranks.
func (w *world) use(c *comm) {
	if w.lazy() {
		w.connect(c)
	}
	if w.run.PointToPoint && c.used && len(c.members) > 1 && w.run.Damage != InitIncomplete && w.connects(c) {
		w.phase(c, "", w.pairEdges(c))
	}
}

func (w *world) lazy() bool { return w.run.NCCL.AtLeast(22, 0) }

func (w *world) complete(c *comm, m *rank) []line {
	if w.run.Damage == InitIncomplete {
		return nil
	}
	return w.compact(
		w.log(m, subInit, noise, w.ifAtLeast(24, "PROFILER/Plugin: Could not find: libnccl-profiler.so")),
		w.log(m, subInit, noise, w.ifAtLeast(21, "TUNER/Plugin: Could not find: libnccl-tuner.so")),
		w.log(m, subInit, noise, w.ifAtLeast(24, "Enabled NCCL Func/Proto/Algo Matrix:")),
		line{kind: other, rank: m.id, text: w.ifAtLeast(24, "     Function |       LL     LL128    Simple   |          Tree           Ring")},
		line{kind: other, rank: m.id, text: w.ifAtLeast(24, "    AllReduce |        0         0         1   |             1              1")},
		w.log(m, subInit, noise, "threadThresholds 8/8/64 | 16/8/64 | 512 | 512"),
		w.log(m, subInit, noise, "2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer"),
		w.log(m, subInit, w.roleOfEnd(), w.forms.initLine(c, m, true)),
		w.log(m, subInit, noise, w.ifAtLeast(22, "Init timings: rank "+itoa(c.rankOf(m))+" nranks "+itoa(len(c.members))+" total 0.42 (kernels 0.34, bootstrap 0.05, allgathers 0.02, topo 0.01)")),
	)
}

// roleOfEnd returns the role of `Init COMPLETE`: where no Connected lines are printed, it is the
// proof of connection.
func (w *world) roleOfEnd() role {
	if w.forms.tellsConnected() {
		return roleRank
	}
	return roleConnected
}

// connect sets up the connections of a communicator that is used.
func (w *world) connect(c *comm) {
	if !c.used || len(c.members) < 2 || w.run.Damage == InitIncomplete {
		return
	}
	w.phase(c, "rings", w.ringEdges(c))
	for _, m := range c.members {
		m.stuck = m.stuck || !w.connects(c)
	}
	if w.run.Trees && w.connects(c) && c.nodes() > 1 {
		w.phase(c, "trees", w.treeEdges(c))
	}
}

// usingNetwork returns the line that names the network, which up to 2.12 each process prints once;
// "" where it did.
func (w *world) usingNetwork(c *comm, m *rank) string {
	if w.forms.sharesNetwork() && (c != w.comms[0] || m != m.proc.ranks[0]) {
		return ""
	}
	return w.forms.usingNetwork(w.network(c, m))
}

// network returns the plugin's name for member m of c.
func (w *world) network(c *comm, m *rank) string {
	if c.sockets {
		return "Socket"
	}
	return m.proc.fabric.network
}

// ifAtLeast keeps a text for releases from 2.minor.
func (w *world) ifAtLeast(minor int, text string) string {
	if w.run.NCCL.AtLeast(minor, 0) {
		return text
	}
	return ""
}

// compact drops lines without text.
func (w *world) compact(lines ...line) []line {
	out := lines[:0]
	for _, l := range lines {
		if l.text != "" {
			out = append(out, l)
		}
	}
	return out
}

func (w *world) destroy(c *comm) {
	w.each(c, func(m *rank) []line {
		return []line{w.log(m, subInit, noise, w.forms.destroyed(c, m))}
	})
}

// train prints what the training itself prints.
func (w *world) train(c *comm) {
	w.each(c, func(m *rank) []line {
		return []line{
			{kind: other, rank: m.id, text: "step 1 rank " + itoa(m.id) + " loss 11.93 tokens/s 10240"},
			{kind: other, rank: m.id, text: "[train] SUCCESS rank=" + itoa(m.id) + " step_s=2.775"},
		}
	})
}
