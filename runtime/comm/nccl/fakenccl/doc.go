// Package fakenccl is NCCL for tests, made of Go functions that are called as the library's are.
//
// In comes a driver of package fakecuda, on whose GPUs the members are. Out come addresses of
// functions, for [ptc/runtime/comm/nccl.Use], which behave as nccl.h of NCCL 2.30 says and do nothing
// that helps a caller who is wrong:
//
//	a communicator   is ready when all members have called, and is in progress for some calls more
//	a group          is issued at its end, and keeps its stream until all members have come to it
//	a sum            is in the order of a ring, and rounds at every addition
//	messages         meet in the order in which both ends issued them; the first from one member to
//	                 another is in progress until both ends have issued it
//	capture          a group in a stream that is captured is in progress until all members have captured
//	                 the same, and is done by each launch of the graph; launches meet launch by launch
//	registered       memory of the library alone, by all members of an operation or by none
//	strict           members that come to operations in different orders, or to two at once; one that
//	                 ends with graphs or registered memory left; members that differ in what they issue, a second stream of a communicator, a
//	                 call while one is in progress, outside of a group or without its end, a type or
//	                 member that is none: a problem that tests look at, and no progress
//
// The invariant: the same calls with the same options do the same. There is one library at a time,
// as C functions cannot be taken back: the last one that was made.
//
// Imports: internal/dtype, runtime/cuda/fakecuda and runtime/cuda/fakelib. Only tests import it.
package fakenccl
