// Package native loads machine code from a plan into this process and replays
// programs of it, on the CPU, without LLVM.
//
// In comes a relocatable ELF object (untrusted bytes: everything in it is
// checked before memory is mapped) and a list of instructions, each a kernel, its
// buffers and its number of tasks. Out come an Image with the addresses of the
// object's symbols, and a Program that a Team of threads replays:
//
//	              instr 0        instr 1     instr 2
//	thread 0  |=tasks 0..3==|==tasks 0..3==|=task 0=|
//	thread 1  |=tasks 4..7=.|.=tasks 4..7==|........|
//	                         ^ barrier      ^ barrier
//
// A kernel is `void kernel(ptr bufs, i64 begin, i64 end, ptr scratch)`: it runs
// the tasks [begin, end) on the buffers bufs[0], bufs[1], …, and may use scratch,
// memory that no other thread touches. A task's result must not depend on who
// runs it. The loop over instructions, the claims and the barriers are native
// code as well (the object's symbol ptc_replay), so that Go is entered once per
// thread and step and not once per kernel.
//
// A signal that the code raises, because a plan is damaged or a compiler is wrong, is
// reported to Team.OnFault, and the process ends (fault_linux.go).
//
// The invariants: memory is never writable and executable at once, an object
// that refers to a symbol it does not define is rejected by name, and Replay
// does not allocate.
//
// Functions reads the code of a kernel for people, and loads nothing.
//
// Of the module it imports internal/foreign and internal/processors only.
package native
