package nccl

import "bytes"

// hit is a place in a block where "NCCL " stands. Blocks are far smaller than
// 4 GiB, so 32 bits hold both.
type hit struct {
	pos  uint32 // offset of the N
	line uint32 // newlines before it
}

// appendTokensPortable appends the tokens of b from offset from on, behind which
// lines newlines stand already, and returns the newlines of all of b.
func appendTokensPortable(hits []hit, b []byte, from, lines int) ([]hit, int) {
	for at := from; ; {
		i := bytes.Index(b[at:], []byte(token))
		if i < 0 {
			return hits, lines + bytes.Count(b[at:], []byte{'\n'})
		}
		lines += bytes.Count(b[at:at+i], []byte{'\n'})
		hits = append(hits, hit{pos: uint32(at + i), line: uint32(lines)})
		at += i + len(token)
	}
}
