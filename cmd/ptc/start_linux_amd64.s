#include "textflag.h"

// The entry point of the binary that make builds (the linker's flag -E): before
// anything of Go runs, it looks at the limit of the address space. Below what Go's
// own start needs it would end in a dump and exit code 2, the code of a wrong
// command line. See minSpace.
//
//	getrlimit(RLIMIT_AS, stack) < 2 GiB: write(2, low), exit_group(3)
TEXT ·entryPoint(SB),NOSPLIT|NOFRAME,$0
	SUBQ $16, SP
	MOVQ $97, AX         // getrlimit
	MOVQ $9, DI          // RLIMIT_AS
	MOVQ SP, SI
	SYSCALL
	MOVQ 0(SP), CX       // the soft limit; the greatest number where there is none
	ADDQ $16, SP
	MOVQ $0x80000000, BX
	CMPQ CX, BX
	JCS  low
	JMP  _rt0_amd64_linux(SB)

low:
	MOVQ $1, AX          // write
	MOVQ $2, DI
	LEAQ ·tooLittle(SB), SI
	MOVQ $117, DX
	SYSCALL
	MOVQ $231, AX        // exit_group
	MOVQ $3, DI          // exitFile
	SYSCALL
	INT  $3

DATA ·tooLittle+0(SB)/8, $"error: t"
DATA ·tooLittle+8(SB)/8, $"he limit"
DATA ·tooLittle+16(SB)/8, $" of this"
DATA ·tooLittle+24(SB)/8, $" process"
DATA ·tooLittle+32(SB)/8, $"'s memor"
DATA ·tooLittle+40(SB)/8, $"y (ulimi"
DATA ·tooLittle+48(SB)/8, $"t -v) is"
DATA ·tooLittle+56(SB)/8, $" below t"
DATA ·tooLittle+64(SB)/8, $"he 2.00 "
DATA ·tooLittle+72(SB)/8, $"GiB that"
DATA ·tooLittle+80(SB)/8, $" ptc nee"
DATA ·tooLittle+88(SB)/8, $"ds to st"
DATA ·tooLittle+96(SB)/8, $"art: rai"
DATA ·tooLittle+104(SB)/8, $"se the l"
DATA ·tooLittle+112(SB)/8, $"imit\n\x00\x00\x00"
GLOBL ·tooLittle(SB), RODATA|NOPTR, $120
