package synth

import (
	"fmt"
	"strings"
)

// forms renders NCCL's own lines as the given release prints them. Each
// condition on the release is a row of the log grammar.
type forms struct{ v Version }

// commName starts the lines of an initialization: which function made it.
func (f forms) commName(split bool) string {
	switch {
	case f.v.AtLeast(23, 4) && split, f.v.AtLeast(21, 5) && split:
		return "ncclCommSplit "
	case f.v.AtLeast(23, 4):
		return "ncclCommInitRankConfig "
	case f.v.AtLeast(21, 5):
		return "ncclCommInitRank "
	default:
		return ""
	}
}

// initLine returns `.. Init START` or `.. Init COMPLETE`; "" where the release does
// not print it.
func (f forms) initLine(c *comm, m *rank, done bool) string {
	state := "COMPLETE"
	if !done {
		if !f.v.AtLeast(18, 3) {
			return ""
		}
		state = "START"
	}
	var b strings.Builder
	if !done && c.parent == nil && f.v.AtLeast(29, 2) {
		fmt.Fprintf(&b, "[Rank %d] ", c.rankOf(m))
	}
	b.WriteString(f.commName(c.parent != nil))
	fmt.Fprintf(&b, "comm 0x%x rank %d nranks %d cudaDev %d", c.pointers[m.id], c.rankOf(m), len(c.members), m.local)
	if f.v.AtLeast(18, 3) || !f.v.AtLeast(5, 0) {
		fmt.Fprintf(&b, " nvmlDev %d", m.local)
	}
	if f.v.AtLeast(5, 0) {
		fmt.Fprintf(&b, " busId %x", busID(m))
	}
	if c.parent != nil && f.v.AtLeast(21, 5) {
		b.WriteString(f.split(c, m))
		switch {
		case f.v.AtLeast(23, 4) && !done: // the dash sticks to the key
			return b.String() + "- Init " + state
		case f.v.AtLeast(23, 4):
			return b.String() + " - Init " + state
		}
	}
	if f.v.AtLeast(16, 2) {
		fmt.Fprintf(&b, " commId 0x%x", c.id)
	}
	return b.String() + " - Init " + state
}

// split returns what a line of a split communicator says of its making.
func (f forms) split(c *comm, m *rank) string {
	number := ""
	switch {
	case f.v.AtLeast(29, 2):
		number = fmt.Sprintf(" childCount %d", c.splitCount)
	case f.v.AtLeast(24, 3):
		number = fmt.Sprintf(" splitCount %d", c.splitCount)
	}
	return fmt.Sprintf(" parent 0x%x%s color %d key %d", c.parent.pointers[m.id], number, c.color, m.id)
}

// sizes returns the `nRanks .. nNodes` line; "" before 2.20.3.
func (f forms) sizes(c *comm, m *rank) string {
	if !f.v.AtLeast(20, 3) {
		return ""
	}
	count, before := c.localRanks(m)
	return fmt.Sprintf("comm 0x%x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
		c.pointers[m.id], c.rankOf(m), len(c.members), c.nodes(), count, before)
}

// destroyed returns the line at the end of a communicator.
func (f forms) destroyed(c *comm, m *rank) string {
	return fmt.Sprintf("comm 0x%x rank %d nranks %d cudaDev %d busId %x - Destroy COMPLETE",
		c.pointers[m.id], c.rankOf(m), len(c.members), m.local, busID(m))
}

// usingNetwork returns "" before 2.6.4.
func (f forms) usingNetwork(name string) string {
	if !f.v.AtLeast(6, 4) {
		return ""
	}
	return "Using network " + name
}

// sharesNetwork reports whether the release chooses the network once for a process
// and names it once (ncclInit in src/init.cc), as those before 2.13.4 do.
func (f forms) sharesNetwork() bool { return !f.v.AtLeast(13, 4) }

// tellsConnected reports whether the release prints Connected lines at all; before,
// the end of the initialization means the same.
func (f forms) tellsConnected() bool { return f.v.AtLeast(8, 3) }

// connected returns the line that follows successful connections of rings or trees;
// "" before 2.8.3.
func (f forms) connected(what string) string {
	if !f.tellsConnected() {
		return ""
	}
	if what == "rings" && f.v.AtLeast(24, 3) {
		return "Connected all rings, use ring PXN 0 GDR 1"
	}
	return "Connected all " + what
}

// edge starts a channel line over the network: `Channel 00/0 : 3[3] -> 4[0]`.
// Only releases from 2.12 print the connection's index.
func (f forms) edge(channel, conn int, c *comm, from, to int) string {
	return f.channel(channel, conn, f.v.AtLeast(12, 0), c, from, to)
}

// channel starts a channel line, with the connection's index or without.
func (f forms) channel(channel, conn int, indexed bool, c *comm, from, to int) string {
	word := fmt.Sprintf("Channel %02d/%d", channel, conn)
	switch {
	case !f.v.AtLeast(7, 0):
		word = fmt.Sprintf("Ring %02d", channel)
	case !indexed:
		word = fmt.Sprintf("Channel %02d", channel)
	}
	if !f.v.AtLeast(5, 0) {
		return fmt.Sprintf("%s : %d -> %d", word, from, to)
	}
	return fmt.Sprintf("%s : %d%s -> %d%s", word, from, f.device(c.members[from]), to, f.device(c.members[to]))
}

func (f forms) device(m *rank) string {
	if f.v.AtLeast(18, 3) {
		return fmt.Sprintf("[%d]", m.local)
	}
	return fmt.Sprintf("[%x]", busID(m))
}

// inside returns a channel line of a connection inside a node.
func (f forms) inside(channel int, c *comm, from, to int, shm bool) string {
	if shm {
		how := "direct shared memory"
		switch {
		case f.v.AtLeast(30, 7):
			how = "SHM/direct"
		case f.v.AtLeast(13, 0):
			how = "SHM/direct/direct"
		}
		return f.channel(channel, 0, false, c, from, to) + " via " + how
	}
	how := "P2P/IPC"
	switch {
	case f.v.AtLeast(24, 3):
		how = "P2P/CUMEM/read"
	case f.v.AtLeast(18, 3):
		how = "P2P/CUMEM"
	}
	return f.channel(channel, 0, f.v.AtLeast(14, 0), c, from, to) + " via " + how
}

// pluginMissing returns the line for a network plugin that cannot be loaded.
func (f forms) pluginMissing() string {
	switch {
	case f.v.AtLeast(29, 2):
		return "NET/Plugin: Could not find: ofi libnccl-net-ofi.so"
	case f.v.AtLeast(27, 3):
		return "NET/Plugin: Could not find: ofi libnccl-net-ofi.so. "
	case f.v.AtLeast(26, 2):
		return "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin."
	case f.v.AtLeast(22, 3):
		return "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."
	case f.v.AtLeast(21, 5):
		return "NET/Plugin: No plugin found (libnccl-net.so)"
	case f.v.AtLeast(19, 1):
		return "NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation"
	case f.v.AtLeast(17, 1):
		return "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory"
	default:
		return "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"
	}
}

// noNetwork returns the WARN of a forced and unavailable network, and its origin.
func (f forms) noNetwork(pin string) (origin, text string) {
	if f.v.AtLeast(27, 3) {
		return "plugin/net.cc:379", "Failed to initialize any NET plugin"
	}
	return "net.cc:306", fmt.Sprintf("Error: network %s not found.", pin)
}

// banner returns NCCL's version line, and whether it carries NCCL's prefix.
func (f forms) banner() (text string, prefixed bool) {
	return "NCCL version " + f.v.String() + "+cuda12.4", f.v.AtLeast(22, 3)
}

// bootstrap returns the line for the interface that the set-up uses, with the node's address.
func (f forms) bootstrap(node int) string {
	lead := "Bootstrap : Using"
	if f.v.AtLeast(24, 3) {
		lead = "Bootstrap: Using"
	}
	return fmt.Sprintf("%s eth0:10.0.%d.%d<0>", lead, node/200, node%200+10)
}

func busID(m *rank) int {
	return 0x1b0 + 0x10*m.local
}
