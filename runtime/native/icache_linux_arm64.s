#include "textflag.h"

// func cleanInvalidate(begin, end uintptr)
//
// The assembler has no names for DC CVAU and IC IVAU; both are words with the
// register in the low bits. CTR_EL0 gives the smallest lines, as log2 of 4-byte
// words: data in bits 16-19, instructions in bits 0-3.
TEXT ·cleanInvalidate(SB), NOSPLIT, $0-16
	MOVD	begin+0(FP), R0
	MOVD	end+8(FP), R1
	MRS	CTR_EL0, R2
	MOVD	$4, R3

	LSR	$16, R2, R4
	AND	$15, R4, R4
	LSL	R4, R3, R4
	SUB	$1, R4, R5
	BIC	R5, R0, R6
clean:
	WORD	$0xd50b7b26 // dc cvau, x6
	ADD	R4, R6
	CMP	R1, R6
	BLO	clean
	DSB	$11 // ish

	AND	$15, R2, R4
	LSL	R4, R3, R4
	SUB	$1, R4, R5
	BIC	R5, R0, R6
invalidate:
	WORD	$0xd50b7526 // ic ivau, x6
	ADD	R4, R6
	CMP	R1, R6
	BLO	invalidate
	DSB	$11 // ish
	ISB	$15
	RET
