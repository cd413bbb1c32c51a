// Package comm is communication between the logical devices of a plan.
//
// In comes a mesh and, at set-up, every communication of a program as an Op: its
// kind, its group, the buffers and how they are viewed. Out come Calls, which a
// replay runs in the order of the program:
//
//	mesh, err := comm.NewMesh(axes)             // devices row-major, last axis fastest
//	devs, err := comm.Open("", mesh, options)   // those of this process
//	tp, err := mesh.Group("tp")
//	call, err := devs[i].Prepare(comm.Op{       // each device on a goroutine of its own
//		Kind: kind, Group: tp, DType: dtype.F32,
//		Inner: n, Src: device.Bytes(x), Dst: device.Bytes(x), Label: "blocks.3.mlp",
//	})
//	err = call.Run()                            // or call.Start(), other work, call.Wait()
//
// A transport is a package below this one that registers itself: local has all
// devices in one process over shared memory, mpi one device in each process. Package nccl is
// put over either of them, for what is in memory of GPUs.
//
// # Layouts of buffers
//
// A buffer is elements of one dtype. Along the sliced axis it is viewed as
// [outer, parts, inner], with parts the size of the group: a row-major tensor of
// shape [a, b, c, d] sliced along its axis c has outer = a·b and
// inner = c/parts·d. So slicing along any axis needs no copy by the caller.
// Below, r and j are coordinates of members in the group.
//
//	all_reduce      Src [n], Dst [n]                                   dst_j = Σ_r src_r
//	reduce_scatter  Src [outer, parts, inner], Dst [outer, inner]      dst_j = Σ_r src_r[:, j, :]
//	all_gather      Src [outer, inner], Dst [outer, parts, inner]      dst_j[:, r, :] = src_r
//	all_to_all      Src [outer, parts, inner], Dst another such view   dst_j[:, r, :] = src_r[:, j, :]
//	permute         Src [n], Dst [n]                                   dst_j = src_from(j), or 0
//	broadcast       Src [n] of the root, Dst [n]                       dst_j = src_root
//	send, recv      Src [n] of one, Dst [n] of the other
//
// Buffers are ranges of memories (package device). A transport says which memories
// it serves: local and mpi serve those that are bytes of this process.
//
// # Invariants
//
// A reduction adds in the order of coordinates, f16 and bf16 in f32 with one
// rounding at the end: the result is the same bits on every member, under every
// transport, with any number of threads. On GPUs, NCCL adds in an order of its own.
//
// Nothing waits for ever. A wait that exceeds Options.Timeout fails with an Error
// that names the ranks that did not arrive and the operation, and from then on
// every other call fails at once. Members that issue different operations get an
// Error that names both.
//
// After Prepare, calls of the local transport do not allocate.
//
// It imports internal/dtype, runtime/program and runtime/device.
package comm
