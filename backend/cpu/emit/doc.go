// Package emit turns kernels in the loop/tile form into LLVM IR text.
//
// In: verified kernels of package kernel and a target. Out: the text of one
// module with a function per kernel, of the kernel ABI
//
//	void name(ptr bufs, i64 begin, i64 end, ptr scratch)
//
// that package llvm compiles. The types of llir/llvm stay inside.
//
// Each kernel becomes two functions: the exported one loads the addresses, and
// an internal one takes each buffer as a parameter of its own, which is how
// LLVM learns that distinct buffers do not overlap. Loops become phi nodes and
// vectors LLVM vectors of the form's lane count, so what the generator chose
// is what LLVM allocates registers for.
//
// The invariants: native code does what kerneltest.Interpret says (bit for bit,
// but for what that package excepts); no fast-math flag is ever set; and
// nothing needs a symbol from outside, on any target: no memcpy, no libm, and
// fma and half conversions are spelled out where the processor lacks them.
//
// It imports kernel, kernel/vmath and llvm/target.
package emit
