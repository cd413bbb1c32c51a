//go:build !static

#include "textflag.h"

DATA ·stackEntryPC(SB)/8, $stackEntry(SB)
GLOBL ·stackEntryPC(SB), NOPTR, $8

// stackEntry is called as a C function: DI is a *stackCall. It copies the words to the stack, where
// the callee has them right above its return address, and fills the registers. The result stays
// in AX.
TEXT stackEntry(SB), NOSPLIT|NOFRAME, $0
	PUSHQ	BP
	MOVQ	SP, BP
	MOVQ	DI, R11
	MOVQ	56(R11), CX // count
	MOVQ	64(R11), SI // words
	MOVQ	CX, AX
	SHLQ	$3, AX
	SUBQ	AX, SP      // a multiple of 16: SP stays aligned
	MOVQ	SP, DI
	CLD
	REP; MOVSQ
	MOVQ	8(R11), DI
	MOVQ	16(R11), SI
	MOVQ	24(R11), DX
	MOVQ	32(R11), CX
	MOVQ	40(R11), R8
	MOVQ	48(R11), R9
	XORL	AX, AX
	MOVQ	0(R11), R10
	CALL	R10
	MOVQ	BP, SP
	POPQ	BP
	RET
