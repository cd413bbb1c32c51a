// Package kernel is the loop/tile form: the small, imperative, explicitly
// vectorized language in which every native kernel is generated.
//
// In: calls on a Builder by the kernel generators. Out: a Kernel, a tree of
// counted loops over typed statements, that the CPU emitter turns into LLVM IR
// and that package kerneltest interprets in pure Go.
//
// A kernel is the body of one task; a launch runs the tasks [begin, end) of a
// static count:
//
//	void name(ptr bufs, i64 begin, i64 end, ptr scratch)
//
// bufs is an array of buffer addresses in declaration order, each 64-byte
// aligned; scratch is Kernel.ScratchBytes of memory, 64-byte aligned, private
// to the calling thread.
//
// A body may compute several adjacent tasks per iteration ([Batch]), and do once what they share.
//
// A kernel may be several that are launched as one, each with a share of the tasks
// ([Join]).
//
// Values are in static single assignment form inside structured regions: a
// loop carries registers explicitly (initial values in, yielded values round,
// final values out), so accumulator tiles need no memory. Arithmetic is on
// f32, f64, i32, i64 and i1 (masks), each a scalar or a vector whose lane
// count the generator takes from a Machine. Memory may also hold bf16, f16
// (both widened to f32 by a load and rounded to nearest even by a store) and
// bool (one byte, i1 in registers).
//
// Addresses are affine in loop variables and other i64 scalars (Index), plus a
// lane stride or a vector of lane offsets, so that a compiler can strength-
// reduce them.
//
// Invariant: a Kernel that passes Verify means the same under
// interpretation and under every emitter: bit for bit, except MulAdd (one rounding
// or two, as the machine has FMA) and the math calls (stated ulp bounds, package
// vmath). The result of a task does not depend on the thread that runs it or
// on what scratch held before.
//
// Imports internal/dtype alone.
package kernel
