package record

import "bytes"

// parseChannel reads a channel line of any NCCL since 2.4:
//
//	Channel 00/0 : 8[0] -> 0[0] [send] via NET/AWS Libfabric/0(3)/GDRDMA(PCI)/Shared
//	Channel 01/1 : 0[0] -> 1[1] via P2P/CUMEM/read
//	Channel 00 : 0[1b0] -> 1[1c0] via direct shared memory
//	Ring 00 : 7 -> 8 [send] via NET/Socket/0
//
// `Channel 00/02 :  0  1  2` is a ring order and no event; a line that is cut
// short becomes evTorn, because what it hid might be another transport.
func parseChannel(msg []byte, e *Event) bool {
	c := cursor{b: msg}
	if !c.lit("Channel ") && !c.lit("Ring ") {
		return false
	}
	ch := &e.Ch
	if !channelNumber(&c, ch) || !colon(&c) || !rankAndDevice(&c, &ch.from) {
		return torn(&c, e)
	}
	closed := c.i > 0 && c.b[c.i-1] == ']'
	c.blanks()
	if !arrow(&c) {
		// A ring order, unless the line ends where an arrow was due.
		if ch.Conn == 0 && !ch.OldForm || closed || c.peek() == '-' {
			return torn(&c, e)
		}
		return false
	}
	c.blanks()
	if !rankAndDevice(&c, &ch.to) {
		return torn(&c, e)
	}
	c.blanks()
	if ch.OldForm && c.lit("-> ") {
		return false // `Ring 00 : 7 -> 0 -> 1` of the GRAPH subsystem is a ring order
	}
	return sideAndVia(&c, e)
}

// channelNumber reads `00/0`, or `00` of releases before 2.12.
func channelNumber(c *cursor, ch *ChannelLine) (ok bool) {
	if _, ok = c.number(); !ok {
		return false
	}
	ch.OldForm, ch.Conn = true, 0
	if c.lit("/") {
		ch.OldForm = false
		ch.Conn, ok = c.number()
	}
	return ok
}

// arrow skips `->`, whose second character docker's JSON and HTML escape, and which editors replace.
func arrow(c *cursor) bool { return c.lit("->") || c.lit("→") || c.lit(`-\u003e`) || c.lit("-&gt;") }

// rankAndDevice reads `8[0]` or `8`.
func rankAndDevice(c *cursor, rank *int32) (ok bool) {
	*rank, ok = c.number()
	return ok && c.bracket()
}

// parseCollNet reads `CollNet 00/0 : 3 [send] via COLLNET/SHARP/0`, which is led
// by `Coll` before 2.9: one end of a reduction in the network, which has no peer
// rank.
func parseCollNet(msg []byte, e *Event) bool {
	c := cursor{b: msg}
	if !c.lit("CollNet ") && !c.lit("Coll ") {
		return false
	}
	if _, ok := c.number(); !ok {
		return false
	}
	if c.lit("/") {
		c.number()
	}
	if !colon(&c) {
		return false
	}
	rank, ok := c.number()
	if !ok {
		return torn(&c, e)
	}
	e.Ch.from, e.Ch.to = rank, rank
	c.bracket()
	c.blanks()
	return sideAndVia(&c, e)
}

func colon(c *cursor) bool {
	c.blanks()
	ok := c.lit(":")
	c.blanks()
	return ok
}

// sideAndVia reads `[send] via NET/Socket/0`, in which the side may be missing.
func sideAndVia(c *cursor, e *Event) bool {
	e.Ch.Dir = side(c)
	c.blanks()
	if !c.lit("via ") {
		return torn(c, e)
	}
	return via(c, e)
}

func side(c *cursor) Direction {
	switch {
	case c.lit("[send]"):
		return Sending
	case c.lit("[receive]"):
		return Receiving
	default:
		return bothSides
	}
}

// torn turns the event into KindTorn.
func torn(_ *cursor, e *Event) bool {
	e.Kind = KindTorn
	return true
}

// via reads the transport behind "via ".
func via(c *cursor, e *Event) bool {
	e.Kind = KindChannel
	switch {
	case hasPrefix(c.rest(), "NET/"):
		return viaNet(c, e, len("NET/"))
	case hasPrefix(c.rest(), "COLLNET/"):
		return viaNet(c, e, len("COLLNET/"))
	case c.lit("P2P"):
		e.Ch.Label, e.Ch.Medium = []byte("P2P"), MediumLocal
		if hasPrefix(c.rest(), "/MNNVL") {
			e.Ch.Label, e.Ch.Medium = []byte("P2P/MNNVL"), MediumMNNVL
		}
		return true
	case c.lit("SHM"), c.lit("direct shared memory"):
		e.Ch.Label, e.Ch.Medium = []byte("SHM"), MediumLocal
		return true
	case cutOf(c.rest(), "NET/"), cutOf(c.rest(), "P2P"), cutOf(c.rest(), "SHM"), cutOf(c.rest(), "COLLNET/"):
		return torn(c, e)
	}
	e.Ch.Label, e.Ch.Medium = c.word(), MediumOdd
	return true
}

// cutOf reports whether b is a beginning of whole that stops before its end.
func cutOf(b []byte, whole string) bool {
	return len(b) < len(whole) && string(b) == whole[:len(b)]
}

// maxNetName bounds a network's name; NCCL's own are below 20 bytes.
const maxNetName = 64

// viaNet reads `NET/<name>/<device>...`; the name may hold blanks, dashes and
// underscores, so it ends at the first slash that a digit follows.
func viaNet(c *cursor, e *Event, lead int) bool {
	rest := c.rest()
	for j := lead; j+1 < len(rest) && j < lead+maxNetName; j++ {
		if rest[j] != '/' || !isDigit(rest[j+1]) {
			continue
		}
		if j == lead || bytes.Contains(rest[:j], []byte("  ")) {
			break
		}
		e.Ch.Medium, e.Ch.Label = MediumNet, rest[:j]
		c.i += j + 1
		e.Ch.Device, _ = c.number()
		suffix := c.rest()
		e.Ch.GDR = bytes.Contains(suffix[:min(len(suffix), 48)], []byte("/GDRDMA"))
		return true
	}
	return torn(c, e)
}
