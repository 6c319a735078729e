#include "textflag.h"

// func tokensAVX2(p *byte, n int, out *hit, limit, lines int) (found, done, newlines int)
//
// Each step loads 32 positions, counts their newlines, and compares the bytes at
// distance 2 and 3 with "L ", which is rare enough to make the rest of the
// comparison an exception.
TEXT ·tokensAVX2(SB), NOSPLIT, $0-64
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ out+16(FP), DI
	MOVQ limit+24(FP), R13
	MOVQ lines+32(FP), R10
	XORQ AX, AX // position
	XORQ BX, BX // hits written
	SUBQ $32, R13 // hits that may be written before a step
	MOVQ $0x4E, DX // 'N'
	VMOVQ DX, X0
	VPBROADCASTB X0, Y0
	MOVQ $0x43, DX // 'C'
	VMOVQ DX, X1
	VPBROADCASTB X1, Y1
	MOVQ $0x4C, DX // 'L'
	VMOVQ DX, X2
	VPBROADCASTB X2, Y2
	MOVQ $0x20, DX // ' '
	VMOVQ DX, X3
	VPBROADCASTB X3, Y3
	MOVQ $0x0A, DX // newline
	VMOVQ DX, X4
	VPBROADCASTB X4, Y4

loop:
	CMPQ AX, CX
	JGE  end
	PREFETCHT0 1024(SI)(AX*1)
	VMOVDQU (SI)(AX*1), Y8
	VPCMPEQB Y8, Y4, Y9
	VPMOVMSKB Y9, R8
	VPCMPEQB 2(SI)(AX*1), Y2, Y5
	VPCMPEQB 3(SI)(AX*1), Y3, Y6
	VPAND    Y5, Y6, Y5
	VPMOVMSKB Y5, R9
	TESTL    R9, R9
	JNZ      maybe

next:
	POPCNTL R8, R8
	ADDQ R8, R10
	ADDQ $32, AX
	JMP  loop

maybe:
	VPCMPEQB Y8, Y1, Y6
	VPAND    Y5, Y6, Y5
	VPCMPEQB 1(SI)(AX*1), Y1, Y6
	VPAND    Y5, Y6, Y5
	VPCMPEQB -1(SI)(AX*1), Y0, Y6
	VPAND    Y5, Y6, Y5
	VPMOVMSKB Y5, R9
	TESTL    R9, R9
	JZ       next
	CMPQ     BX, R13
	JGT      end

each:
	// R12 has the bits up to the lowest one of R9: the newlines before the hit
	// are among them.
	LEAL -1(R9), R11
	MOVL R11, R12
	XORL R9, R12
	ANDL R8, R12
	POPCNTL R12, R12
	ADDQ R10, R12
	BSFL R9, DX
	ADDQ AX, DX
	MOVL DX, (DI)(BX*8)
	MOVL R12, 4(DI)(BX*8)
	INCQ BX
	ANDL R11, R9
	JNZ  each
	JMP  next

end:
	VZEROUPPER
	MOVQ BX, found+40(FP)
	MOVQ AX, done+48(FP)
	MOVQ R10, newlines+56(FP)
	RET
