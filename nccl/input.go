package nccl

import (
	"bytes"
	"errors"
	"io"
)

// input cuts a log into blocks of whole lines.
type input struct {
	r    io.Reader
	read int64
	last byte // the last byte read; a newline before the first
	// rest is what was read and is not yet in a block.
	rest []byte
}

// next fills the block with the next lines, and reports whether more follow.
func (in *input) next(b *block) (more bool, err error) {
	if b.buf == nil {
		b.buf = make([]byte, blockSize)
	}
	kept := copy(b.buf, in.rest)
	n, err := io.ReadFull(in.r, b.buf[kept:])
	in.read += int64(n)
	if n > 0 {
		in.last = b.buf[kept+n-1]
	}
	text := b.buf[:kept+n]
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		in.rest = in.rest[:0]
		b.reset(text, nil)
		return false, nil
	case err != nil:
		return false, err
	}
	cut := lastCut(text[:len(text)-lookAhead])
	in.rest = append(in.rest[:0], text[cut:]...)
	b.reset(text[:cut], text[cut:])
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
