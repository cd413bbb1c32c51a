// Package emu executes PTX as a GPU would: what ships is what is tested, where there is no GPU.
//
// In: entries of package ptx, memory, arguments, tensor maps. Out: what the launch left in memory, or the
// error of the first thread that did what a GPU does not define: an access outside of an
// allocation or not aligned, a race in shared or global memory, a collective instruction that not all of its
// lanes reach, a barrier that is never complete, a wait that never ends, an instruction that
// is not known.
//
// The lanes of a warp that are at the same instruction execute it together, those at the lowest place first, so that
// diverged lanes reconverge (flow.go). Warps are interleaved. A seed decides how many instructions a warp executes before
// the next one, and when asynchronous work completes: at once, as late as its waits allow, or in between; see [Options].
//
// Asynchronous work, from mbarriers (mbarrier.go) on, is that of Hopper (sm_90a): copies of bytes and of
// tiles (bulk.go, transfer.go, tensormap.go) and products of warpgroups (wgmma.go, descriptor.go). The async proxy does it:
// it sees what threads wrote only behind a fence.proxy.async, and only threads that waited for a copy or product, and
// those that synchronized with them since, know that it is complete (view.go, shadow.go, global.go).
// The blocks of a cluster run together, and reach each other's memory (cluster.go).
// A product owns its registers until it is waited for (hold.go).
//
// Invariant: the same launch with the same options does the same.
//
// Not emulated, and an error: clusters that are not along x, what im2col and reductions of copies do,
// elements that copies change, tiles narrower than their swizzle, descriptors with a base offset,
// sums of products in anything but f32, sparse operands. Not looked at: how many registers code takes (but what
// setmaxnreg moves from warps to others is, group.go), what volatile and relaxed accesses order.
// Imports backend/gpu/ptx.
package emu
