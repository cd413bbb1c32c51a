// Package local is the transport of devices in one process: they read and write
// one another's buffers.
//
// In come the operations that package comm describes; out come calls that do not
// allocate. The members of a group meet in a room, which has a slot
// for each operation under way. A member that starts an operation posts its
// buffers in the slot. Once all have posted, the operation is a number of units of
// work on all buffers, and whoever waits takes units until none is left:
//
//	rank 0   post ─── computes ──────────── wait ▶ (done)
//	rank 1   post ── wait ▶ unit 0 ▶ unit 2 ▶ done
//	rank 2   ─────── post, wait ▶ unit 1 ▶ unit 3 ▶ done
//
// So a started operation needs nothing more of a member that is late to wait, and
// the order in which operations are waited for cannot matter. What a unit computes
// does not depend on who runs it.
//
// A waiting member looks for work a while, lets other goroutines run, then parks.
//
// It imports runtime/comm.
package local
