// Package fakecuda is a driver of GPUs for tests, made of Go functions that are called as the
// library's are.
//
// In comes what a GPU is to be and which calls are to fail. Out come addresses of functions, for
// [ptc/runtime/cuda.Use], which behave as cuda.h of CUDA 12.4 says and do nothing that helps a
// caller who is wrong:
//
//	memory     of a GPU is not the host's: its addresses are those of package emu, new memory
//	           is NaN, and what is reached outside of it is a fault, which stays
//	modules    are read by package ptx; kernels are launched under package emu; there is no
//	           linker and no machine code, since relocatable code of sm_90a is slow
//	a stream   runs nothing before it is waited for, or at random times; copies then take what the
//	           pinned memory holds
//	events     are marks in a stream, which another one may wait for; a stream whose work waits for
//	           another GPU is stuck until that one has come as far
//	a graph    runs its nodes in any order that its edges allow, from a seed; one that waits for another
//	           GPU keeps no others
//	a capture  takes copies and what libraries do; all that it may not have, or the thread not call
//	           meanwhile, is a problem
//	events     take the time of a clock that counts the instructions of warps
//	a thread   has no context until it is given one
//	strict     an unknown handle, a context that is missing, memory that is not pinned in a copy
//	           that is not waited for, a graph whose kernels are unloaded: an error, and a problem
//	           that tests look at
//
// The invariant: the same calls with the same options do the same. There is one driver at a time,
// as C functions cannot be taken back: the last one that was made.
//
// Imports: backend/gpu/emu, backend/gpu/ptx and runtime/cuda/fakelib. Only tests import it.
package fakecuda
