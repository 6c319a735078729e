package record

import (
	"bytes"
	"errors"
	"io"
)

const (
	// blockSize is the unit in which a log is read and parsed.
	blockSize = 1 << 20
	// lookAhead is how much of what follows a block is at hand while it is parsed.
	lookAhead = 8 << 10
	// rehearsalBanner is on the first line of a log by a rehearsal's stand-in for NCCL
	// (rehearsal/internal/standin), behind what a collector prefixes.
	rehearsalBanner = "# Rehearsed: written by ray-train-efa's stand-in for NCCL."
	bannerReach     = 4 << 10
)

// Input cuts a log into blocks of whole lines.
type Input struct {
	R    io.Reader
	Read int64
	Last byte // the last byte read; a newline before the first
	// Rehearsed reports that a rehearsal's stand-in for NCCL wrote the log.
	Rehearsed bool
	// rest is what was read and is not yet in a block.
	rest []byte
}

// Rehearsed reports whether a log that begins with head was written by a rehearsal's
// stand-in for NCCL.
func Rehearsed(head []byte) bool {
	return bytes.Contains(head[:min(len(head), bannerReach)], []byte(rehearsalBanner))
}

// Next fills the block with the next lines, and reports whether more follow.
func (in *Input) Next(b *Block) (more bool, err error) {
	if b.buf == nil {
		b.buf = make([]byte, blockSize)
	}
	kept := copy(b.buf, in.rest)
	n, err := io.ReadFull(in.R, b.buf[kept:])
	if in.Read == 0 {
		in.Rehearsed = Rehearsed(b.buf[:n])
	}
	in.Read += int64(n)
	if n > 0 {
		in.Last = b.buf[kept+n-1]
	}
	text := b.buf[:kept+n]
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		in.rest = in.rest[:0]
		b.Reset(text, nil)
		return false, nil
	case err != nil:
		return false, err
	}
	cut := lastCut(text[:len(text)-lookAhead])
	in.rest = append(in.rest[:0], text[cut:]...)
	b.Reset(text[:cut], text[cut:])
	return true, nil
}

// lastCut returns where text can be cut: behind its last newline or, in a line
// longer than a block, before its last record.
func lastCut(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.LastIndex(b, []byte(token)); i > 0 {
		floor := max(0, i-maxPrefix)
		if _, start, ok := parsePrefix(b[floor:], i-floor); ok && floor+start > 0 {
			return floor + start
		}
	}
	return len(b) - maxPrefix
}
