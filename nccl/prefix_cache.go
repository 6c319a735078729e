package nccl

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// prefixCache recognises the prefixes of one block: a log has a few per rank,
// and each stands before thousands of records. It finds them by the bytes
// before the token, up to the newline, so that prefixes of launchers which stay
// the same help, and those which change, such as timestamps, only miss.
type prefixCache struct {
	slots []prefixSlot
	last  *prefixSlot // of the record before: it is mostly the same thread's
	// block numbers the block in hand: slots of others are void.
	block uint32
	// known holds the hosts seen with each pid: where a newline is lost, the
	// end of the record before is glued to the host, and only this tells.
	hosts map[int32][][]byte
}

// prefixSlot is one prefix, from its host to the token.
type prefixSlot struct {
	text  []byte
	block uint32
	from  int32 // index of its origin in the block
}

// cacheSlots is the number of prefixes that are recognised at a time.
const cacheSlots = 1024

func newPrefixCache() prefixCache {
	slots := make([]prefixSlot, cacheSlots)
	return prefixCache{slots: slots, last: &slots[0], hosts: map[int32][][]byte{}}
}

// reset forgets what belongs to the block before.
func (c *prefixCache) reset() {
	c.block++
	if c.block == 0 { // after 2^32 blocks
		clear(c.slots)
		c.block = 1
	}
	clear(c.hosts)
}

// hashed is how many bytes before the token choose the slot.
const hashed = 32

// slot returns the slot for the prefix that ends at tok.
func (c *prefixCache) slot(d []byte, tok int) *prefixSlot {
	const factor = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	h := uint64(0)
	for at := tok; at >= max(8, tok-hashed+8); at -= 8 {
		w := binary.LittleEndian.Uint64(d[at-8 : at])
		mark := newlines(w)
		if mark != 0 {
			// The bytes above the last newline belong to this line.
			w &^= ^uint64(0) >> bits.LeadingZeros64(mark)
		}
		h = (bits.RotateLeft64(h, 23) ^ w) * factor
		if mark != 0 {
			break
		}
	}
	return &c.slots[h>>(64-10)]
}

// newlines sets the top bit of each byte of w that is a newline.
func newlines(w uint64) uint64 {
	const low, line = 0x7f7f7f7f7f7f7f7f, 0x0a0a0a0a0a0a0a0a
	x := w ^ line
	return ^((x&low + low) | x | low)
}

// known returns the origin in the slot if exactly its prefix stands before tok.
func (c *prefixCache) known(s *prefixSlot, d []byte, tok int) (from int32, start int, ok bool) {
	start = tok - len(s.text)
	if s.block != c.block || start < 0 || string(d[start:tok]) != string(s.text) || start > 0 && hostByte(d[start-1]) {
		return -1, 0, false
	}
	c.last = s
	return s.from, start, true
}

// learn puts a prefix into its slot.
func (c *prefixCache) learn(s *prefixSlot, from int32, text []byte) {
	c.last = s
	*s = prefixSlot{text: text, block: c.block, from: from}
}

// settle cuts what a lost newline glued to the host: only behind another record
// on the same line, or two hosts of which one's name ends in the other's would
// become one.
func (c *prefixCache) settle(o origin, start int, behind bool) (origin, int) {
	hosts := c.hosts[o.pid]
	for _, h := range hosts {
		if !behind && len(o.host) > len(h) {
			continue
		}
		if extra := len(o.host) - len(h); extra >= 0 && bytes.HasSuffix(o.host, h) {
			o.host, o.key = h, o.key[extra:]
			return o, start + extra
		}
	}
	if len(hosts) < 8 {
		c.hosts[o.pid] = append(hosts, o.host)
	}
	return o, start
}
