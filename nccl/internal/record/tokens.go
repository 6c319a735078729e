package record

import "bytes"

// hit is a place of "NCCL " in a block. Blocks are far smaller than
// 4 GiB, so 32 bits hold both.
type hit struct {
	pos  uint32 // offset of the N
	line uint32 // newlines before it
}

// appendTokens appends the places of "NCCL " in b, and returns b's newlines.
func appendTokens(hits []hit, b []byte) ([]hit, int) {
	lines := 0
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(token))
		if i < 0 {
			return hits, lines + bytes.Count(b[at:], []byte{'\n'})
		}
		lines += bytes.Count(b[at:at+i], []byte{'\n'})
		hits = append(hits, hit{pos: uint32(at + i), line: uint32(lines)})
		at += i + len(token)
	}
}
