package synth

import "fmt"

// edge is one direction of a connection between two members of a communicator,
// by their ranks in it.
type edge struct {
	channel, conn, from, to int
}

func (w *world) ringEdges(c *comm) []edge {
	var out []edge
	for ch := range w.run.Channels {
		order := c.ring(ch)
		for i, from := range order {
			out = append(out, edge{ch, 0, from, order[(i+1)%len(order)]})
		}
	}
	return out
}

// treeEdges joins the first members of neighboring nodes, both ways.
func (w *world) treeEdges(c *comm) []edge {
	heads := c.heads()
	var out []edge
	for ch := range w.run.Channels {
		for i := 1; i < len(heads); i++ {
			out = append(out, edge{ch, 0, heads[i-1], heads[i]}, edge{ch, 0, heads[i], heads[i-1]})
		}
	}
	return out
}

// pairEdges returns connections of index 1 between the heads of nodes, as pipeline
// stages make.
func (w *world) pairEdges(c *comm) []edge {
	heads := c.heads()
	var out []edge
	for i := 1; i < len(heads); i++ {
		out = append(out, edge{0, 1, heads[i-1], heads[i]})
	}
	return out
}

// heads returns the first members of each node.
func (c *comm) heads() []int {
	var out []int
	for i, m := range c.members {
		if i == 0 || m.node != c.members[i-1].node {
			out = append(out, i)
		}
	}
	return out
}

// phase prints the channel lines of a set of edges, then `Connected all WHAT`.
func (w *world) phase(c *comm, what string, edges []edge) {
	receives, sends := make([][]edge, len(c.members)), make([][]edge, len(c.members))
	for _, e := range edges {
		sends[e.from] = append(sends[e.from], e)
		receives[e.to] = append(receives[e.to], e)
	}
	oneOff := w.run.Fabric == SocketOneChannel && what == "rings" && c == w.comms[0]
	w.each(c, func(m *rank) []line {
		var out []line
		me := c.rankOf(m)
		if len(receives[me]) > 0 && w.run.NCCL.AtLeast(24, 0) {
			out = append(out, w.proxy(m, "[Proxy Progress] Device "+itoa(m.local)+" CPU core 8"))
		}
		// One line of the different process names sockets, whichever comes first.
		net := func() string {
			if oneOff && m.proc == w.different {
				oneOff = false
				return "Socket"
			}
			return w.network(c, m)
		}
		for _, e := range receives[me] {
			if w.overNet(c, e) {
				out = append(out, w.netLine(c, m, e, false, net()))
			}
		}
		for _, e := range sends[me] {
			if !w.overNet(c, e) {
				shm := w.run.NCCL.AtLeast(10, 0) && w.run.Seed%5 == 0
				out = append(out, w.log(m, subInit|subP2P, roleInside, w.forms.inside(e.channel, c, e.from, e.to, shm)))
				continue
			}
			out = append(out, w.netLine(c, m, e, true, net()))
		}
		switch {
		case what == "":
		case !w.connects(c):
			out = append(out, w.hang(c, m)...)
		default:
			out = append(out, w.compact(w.log(m, subInit, roleConnected, w.forms.connected(what)))...)
		}
		return w.otherThread(out)
	})
}

// otherThread moves the lines of a connection to another thread of the rank:
// where connections are lazy, a group of communicators has a thread for each.
func (w *world) otherThread(lines []line) []line {
	if w.lazy() && w.run.Seed%4 == 1 {
		for i := range lines {
			lines[i].tid += 1000
		}
	}
	return lines
}

// proxy returns a line of the rank's proxy thread, which has its own number and may name another
// device.
func (w *world) proxy(m *rank, text string) line {
	l := w.log(m, subInit, noise, text)
	l.tid, l.dev = m.tid+2000, 0
	return l
}

// overNet reports whether an edge uses the network.
func (w *world) overNet(c *comm, e edge) bool {
	// On one node the network proves nothing, but only releases that print the
	// number of nodes let a reader know.
	oneNode := w.run.Nodes == 1 && w.run.NCCL.AtLeast(20, 3)
	if w.run.NetInside && (c.nodes() > 1 || oneNode) {
		return true
	}
	return c.members[e.from].node != c.members[e.to].node
}

// netLine returns a channel line of a connection over the network, with suffixes
// that say nothing about which network.
func (w *world) netLine(c *comm, m *rank, e edge, send bool, net string) line {
	dev := m.local / 2
	text := w.forms.edge(e.channel, e.conn, c, e.from, e.to)
	if send {
		text += fmt.Sprintf(" [send] via NET/%s/%d", net, dev)
		if e.conn == 1 || w.rng.IntN(8) == 0 {
			text += fmt.Sprintf("(%d)", dev)
		}
	} else {
		text += fmt.Sprintf(" [receive] via NET/%s/%d", net, dev)
	}
	if w.run.Seed%3 == 0 && net != "Socket" {
		text += "/GDRDMA"
		if w.run.NCCL.AtLeast(26, 2) && w.run.Seed%2 == 0 {
			text += "(PCI)"
		}
	}
	if e.conn == 1 && w.run.NCCL.AtLeast(12, 0) {
		text += "/Shared"
	}
	if !send && w.run.NCCL.AtLeast(31, 0) {
		text += "/flush=" + []string{"None", "Always"}[w.rng.IntN(2)]
	}
	l := w.log(m, subInit|subNet, roleChannel, text)
	l.truth = w.carrierOf(m, net)
	return l
}

// hang returns what a process prints while two networks fail to meet.
func (w *world) hang(c *comm, m *rank) []line {
	if w.network(c, m) != "Socket" || c.nodes() < 2 {
		return nil
	}
	var out []line
	if w.run.NCCL.AtLeast(24, 0) {
		for i := range 5 {
			out = append(out, w.log(m, subAll, noise, fmt.Sprintf("socketFinalizeAccept: didn't receive a valid magic from 10.0.0.%d<%d>", 10+m.node, 34568+i)))
		}
	}
	return out
}

// plan prints the ring order and the trees, which are plans and no transport.
func (w *world) plan(c *comm, m *rank) []line {
	var out []line
	if c.rankOf(m) == 0 && len(c.members) <= 64 {
		for ch := range w.run.Channels {
			text := fmt.Sprintf("Channel %02d/%02d :", ch, w.run.Channels)
			for _, r := range c.ring(ch) {
				text += fmt.Sprintf(" %4d", r)
			}
			out = append(out, w.log(m, subInit|subGraph, rolePlan, text))
		}
	}
	me := c.rankOf(m)
	return append(out,
		w.log(m, subInit|subGraph, noise, fmt.Sprintf("Trees [0] -1/-1/-1->%d->%d [1] -1/-1/-1->%d->%d", me, me-1, me, me-1)),
		w.log(m, subInit, noise, "P2P Chunksize set to 131072"),
		w.proxy(m, "[Proxy Service] Device "+itoa(m.local)+" CPU core 4"))
}
