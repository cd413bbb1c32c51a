#include "textflag.h"

DATA ·faultEntryPC(SB)/8, $·faultEntry(SB)
GLOBL ·faultEntryPC(SB), NOPTR, $8

// The handler of a signal, see fault_linux.go, called as a C function:
// DI is the signal, SI its siginfo_t, DX the ucontext_t. Registers of the thread
// are restored from the latter, so that all may be used. It calls nothing but the
// system: gettid 186, write 1, nanosleep 35, exit_group 231 change AX, CX and R11.
TEXT ·faultEntry(SB), NOSPLIT|NOFRAME, $0
	MOVL	$186, AX
	SYSCALL
	MOVL	AX, R8
	ANDL	$0xffff, R8
	LEAQ	·faultThreads(SB), R9
	CMPL	AX, (R9)(R8*4)
	JNE	other

	MOVL	$1, R10
	LEAQ	·faultClaimed(SB), R9
	XCHGL	R10, (R9)
	TESTL	R10, R10
	JNZ	sleep

	LEAQ	·faultNote(SB), R9
	MOVQ	DI, 0(R9)
	MOVQ	16(SI), R10  // si_addr
	MOVQ	R10, 8(R9)
	MOVQ	168(DX), R10 // uc_mcontext.gregs[REG_RIP]
	MOVQ	R10, 16(R9)
	MOVL	AX, AX
	MOVQ	AX, 24(R9)

	MOVL	·faultPipe(SB), DI
	MOVQ	R9, SI
	MOVL	$1, DX
	MOVL	$1, AX
	SYSCALL

sleep:
	SUBQ	$16, SP
	MOVQ	$10, 0(SP) // seconds
	MOVQ	$0, 8(SP)
	MOVQ	SP, DI
	XORL	SI, SI
	MOVL	$35, AX
	SYSCALL
	MOVL	$4, DI
	MOVL	$231, AX
	SYSCALL
	INT	$3

other:
	LEAQ	·faultOld(SB), R9
	MOVQ	(R9)(DI*8), R9
	JMP	R9
