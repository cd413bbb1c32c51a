// Package emu executes PTX as a GPU would: what ships is what is tested, where there is no GPU.
//
// In: entries of package ptx, memory, arguments, tensor maps. Out: what the launch left in memory, or the
// error of the first thread that did what a GPU does not define: an access outside of an
// allocation or not aligned, a race in shared or global memory, a collective instruction that not all of its
// lanes reach, a barrier that is never complete, a wait that never ends, an instruction that
// is not known.
//
// Instructions are executed for the lanes of a warp that are at the same place together,
// those at the lowest place first, so that what was apart meets again. Warps take turns; how
// long each turn is, and when what runs by itself is done (at once, as late
// as what waits for it allows, or at some time between), a seed says: see [Options].
//
// What runs by itself, from mbarriers (mbarrier.go) on, is that of Hopper (sm_90a): copies of bytes and of
// tiles (bulk.go, transfer.go, tensormap.go) and products of warpgroups (wgmma.go, descriptor.go). They are of the
// async proxy: what threads wrote they see behind a fence.proxy.async alone, and whether a copy or product is
// done, who waited for it knows, and who learns of it from there (view.go, shadow.go, global.go).
// The blocks of a cluster run together, and reach each other's memory (cluster.go).
// The registers of a product are its own until it is waited for (hold.go).
//
// Invariant: the same launch with the same options does the same.
//
// Not emulated, and an error: clusters that are not along x, what im2col and reductions of copies do,
// elements that copies change, tiles narrower than their swizzle, descriptors with a base offset,
// sums of products in anything but f32, sparse operands. Not looked at: how many registers code takes (but what
// setmaxnreg moves from warps to others is, group.go), what volatile and relaxed accesses order.
// Imports backend/gpu/ptx.
package emu
