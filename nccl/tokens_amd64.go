package nccl

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// vector is how many positions the assembly looks at in one step.
const vector = 32

// tokensAVX2 looks for "NCCL " whose first C stands at p[0] to p[n-1], n being a
// multiple of 32, and writes what it finds to out, which has room for max. It
// reads one byte before p and 35 from the start of the last step on. It stops
// early when out might overflow in the next step. Results: hits written, with
// positions relative to p[-1]; positions looked at; and lines plus the newlines
// among these.
//
//go:noescape
func tokensAVX2(p *byte, n int, out *hit, limit, lines int) (found, done, newlines int)

// appendTokens appends where "NCCL " stands in b, and returns b's newlines.
// Finding records is most of the work on a log of gigabytes, and bytes.Index
// stops at every N: this looks for the rarer bytes behind it.
func appendTokens(hits []hit, b []byte) ([]hit, int) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasPOPCNT || len(b) < 4*vector {
		return appendTokensPortable(hits, b, 0, 0)
	}
	lines := 0
	if b[0] == '\n' {
		lines++
	}
	at := 1 // the C behind the N
	for {
		n := (len(b) - at - 3) &^ (vector - 1)
		if n <= 0 {
			break
		}
		// A record is seldom shorter than 64 bytes.
		hits = slices.Grow(hits, max(2*vector, n/64))
		free := hits[len(hits):cap(hits)]
		found, done, newlines := tokensAVX2(&b[at], n, &free[0], len(free), lines)
		for i := range free[:found] {
			free[i].pos += uint32(at - 1)
		}
		hits = hits[:len(hits)+found]
		at += done
		lines = newlines
	}
	return appendTokensPortable(hits, b, at-1, lines-newlineAt(b, at-1))
}

// newlineAt is 1 if a newline stands there: the portable search begins at a byte
// that the vectors have counted.
func newlineAt(b []byte, i int) int {
	if b[i] == '\n' {
		return 1
	}
	return 0
}
