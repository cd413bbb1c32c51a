// Package emu executes PTX as a GPU would: what ships is what is tested, where there is no GPU.
//
// In: entries of package ptx, memory, arguments. Out: what the launch left in memory, or the
// error of the first thread that did what a GPU does not define: an access outside of an
// allocation or not aligned, a race in shared memory, a collective instruction that not all of its
// lanes reach, a barrier that is never complete, a wait that never ends, an instruction that
// is not known.
//
// Instructions are executed for the lanes of a warp that are at the same place together,
// those at the lowest place first, so that what was apart meets again. Warps take turns; how
// long each turn is, and when copies that run by themselves are done (at once, as late
// as what waits for them allows, or at some time between), a seed says: see [Options].
//
// Invariant: the same launch with the same options does the same.
// Imports backend/gpu/ptx.
package emu
