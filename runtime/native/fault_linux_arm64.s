#include "textflag.h"

DATA ·faultEntryPC(SB)/8, $·faultEntry(SB)
GLOBL ·faultEntryPC(SB), NOPTR, $8

// The handler of a signal, see fault_linux.go, called as a C function:
// R0 is the signal, R1 its siginfo_t, R2 the ucontext_t. Registers of the thread
// are restored from the latter, so that all may be used but R30, where the
// runtime's handler returns to. It calls nothing but the system: gettid 178,
// write 64, nanosleep 101, exit_group 94, which change R0 alone.
TEXT ·faultEntry(SB), NOSPLIT|NOFRAME, $0
	MOVD	R0, R10
	MOVD	$178, R8
	SVC
	MOVD	R0, R11
	MOVD	R10, R0
	AND	$0xffff, R11, R12
	MOVD	$·faultThreads(SB), R13
	MOVWU	(R13)(R12<<2), R12
	CMPW	R12, R11
	BNE	other

	MOVD	$·faultClaimed(SB), R13
	MOVD	$1, R14
claim:
	LDAXRW	(R13), R12
	CBNZW	R12, sleep
	STLXRW	R14, (R13), R15
	CBNZW	R15, claim

	MOVD	$·faultNote(SB), R13
	MOVD	R10, 0(R13)
	MOVD	16(R1), R12  // si_addr
	MOVD	R12, 8(R13)
	MOVD	440(R2), R12 // uc_mcontext.pc
	MOVD	R12, 16(R13)
	MOVD	R11, 24(R13)

	MOVD	$·faultPipe(SB), R9
	MOVWU	(R9), R0
	MOVD	R13, R1
	MOVD	$1, R2
	MOVD	$64, R8
	SVC

sleep:
	SUB	$16, RSP
	MOVD	$10, R9 // seconds
	MOVD	R9, 0(RSP)
	MOVD	ZR, 8(RSP)
	MOVD	RSP, R0
	MOVD	ZR, R1
	MOVD	$101, R8
	SVC
	MOVD	$4, R0
	MOVD	$94, R8
	SVC
	BRK

other:
	MOVD	$·faultOld(SB), R13
	MOVD	(R13)(R0<<3), R13
	JMP	(R13)
