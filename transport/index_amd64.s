#include "textflag.h"

// func indexCCLAVX2(p *byte, n int) int
//
// Compares 32 positions at a time with the four bytes "CCL " and returns the
// first that matches, or -1. The caller guarantees 35 readable bytes behind the
// last block: n counts the positions to look at, a multiple of 32.
TEXT ·indexCCLAVX2(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ AX, AX
	MOVQ $0x43, DX // 'C'
	VMOVQ DX, X0
	VPBROADCASTB X0, Y0
	MOVQ $0x4C, DX // 'L'
	VMOVQ DX, X1
	VPBROADCASTB X1, Y1
	MOVQ $0x20, DX // ' '
	VMOVQ DX, X2
	VPBROADCASTB X2, Y2

loop:
	CMPQ AX, CX
	JGE  none
	VPCMPEQB 2(SI)(AX*1), Y1, Y3
	VPCMPEQB 3(SI)(AX*1), Y2, Y4
	VPAND    Y3, Y4, Y3
	VPTEST   Y3, Y3
	JZ       next
	VPCMPEQB (SI)(AX*1), Y0, Y4
	VPAND    Y3, Y4, Y3
	VPCMPEQB 1(SI)(AX*1), Y0, Y4
	VPAND    Y3, Y4, Y3
	VPMOVMSKB Y3, DX
	TESTL    DX, DX
	JZ       next
	BSFL     DX, DX
	ADDQ     DX, AX
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET

next:
	ADDQ $32, AX
	JMP  loop

none:
	VZEROUPPER
	MOVQ $-1, ret+16(FP)
	RET
