// Package host is the engine of devices whose memory is the host's: what the
// kinds of code that run there have in common.
//
// In comes a device of a plan and Kernels, which run its kernels in the host's
// bytes: object code, here, on a team of threads (kind "elf"), and whatever else
// calls Register, as backend/ref does for printed IR. Out
// comes a device.Engine. A program is replayed from one communication or transfer
// to the next:
//
//	kernels ── all_reduce ── kernels ── copy ── kernels ── done ── kernels
//	                                      ╰ the device's goroutine for transfers ╯
//
// A launch runs on the caller's goroutine and has ended when it returns. What a
// program starts runs concurrently with it: transfers on a goroutine of the device, and
// communication as its transport does it.
//
// The invariants: on native code Launch, Wait, Step and Stop do not allocate;
// between two communications there is one call of Kernels, whatever the number of
// instructions.
//
// It imports internal/units, runtime/device, runtime/program and runtime/native.
package host
