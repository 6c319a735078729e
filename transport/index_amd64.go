package transport

import (
	"bytes"

	"golang.org/x/sys/cpu"
)

// indexCCLAVX2 returns the first of n positions, a multiple of 32, at which the
// bytes "CCL " stand, or -1. It reads 35 bytes beyond the last position's block
// start.
//
//go:noescape
func indexCCLAVX2(p *byte, n int) int

// indexToken returns where the next "NCCL " stands in b, or -1. Finding it is
// most of the work on a log of gigabytes, and bytes.Index stops at every N: this
// looks for the four rarer bytes behind the N, 32 positions at a time.
func indexToken(b []byte) int {
	if !cpu.X86.HasAVX2 {
		return bytes.Index(b, []byte(token))
	}
	at := 1 // the C behind the N
	for len(b)-at >= 64 {
		n := (len(b) - at - 35) &^ 31
		if n <= 0 {
			break
		}
		i := indexCCLAVX2(&b[at], n)
		if i < 0 {
			at += n
			continue
		}
		at += i
		if b[at-1] == 'N' {
			return at - 1
		}
		at++
	}
	if i := bytes.Index(b[at-1:], []byte(token)); i >= 0 {
		return at - 1 + i
	}
	return -1
}
