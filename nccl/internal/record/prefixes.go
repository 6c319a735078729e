package record

import "bytes"

// prefixes recognizes the prefixes of one block: a log has a few per rank, and
// each is printed before thousands of records.
type prefixes struct {
	// known holds the text before a token, from the line's start.
	known map[string]knownPrefix
	// hosts holds the hosts seen with each pid: where a newline is lost, the
	// end of the record before is glued to the host, and only this shows it.
	hosts map[int32][][]byte
}

// knownPrefix is the origin that a prefix names, and its length from the host on.
type knownPrefix struct {
	from   int32
	length int
}

// maxKnown bounds the prefixes that are recognized: those that hold a timestamp
// never come again.
const maxKnown = 1024

func newPrefixes() prefixes {
	return prefixes{known: map[string]knownPrefix{}, hosts: map[int32][][]byte{}}
}

// reset forgets what belongs to the block before.
func (c *prefixes) reset() {
	clear(c.known)
	clear(c.hosts)
}

// learn keeps what a prefix names.
func (c *prefixes) learn(head []byte, p knownPrefix) {
	if len(c.known) < maxKnown {
		c.known[string(head)] = p
	}
}

// settle cuts what a lost newline glued to the host: only behind another record
// on the same line, or two hosts of which one's name ends in the other's would
// become one.
func (c *prefixes) settle(o Origin, start int, behind bool) (Origin, int) {
	hosts := c.hosts[o.PID]
	for _, h := range hosts {
		if !behind && len(o.Host) > len(h) {
			continue
		}
		if extra := len(o.Host) - len(h); extra >= 0 && bytes.HasSuffix(o.Host, h) {
			o.Host, o.Key = h, o.Key[extra:]
			return o, start + extra
		}
	}
	if len(hosts) < 8 {
		c.hosts[o.PID] = append(hosts, o.Host)
	}
	return o, start
}
