// Package fake is an engine for tests that does everything that package device
// allows an engine to do, and nothing that helps a caller which is wrong.
//
// In comes an engine that is right; out comes one that computes the same with the
// code of the first, and in which
//
//	memory      is not the host's: its bytes are reached by copies alone, and
//	            communication goes through buffers of the host
//	nothing     has run when Launch returns; a goroutine of the device runs it
//	kernels     that need not wait run in another order
//	what        is started runs as late as the program allows, or at random times,
//	            transfers in any order, communication in the order of its starts
//	undefined   bytes are NaN: what holds no tensor when a run begins, results
//	            before Wait, destinations of what is under way
//	a copy      from or to what a launch, or something under way, has is an error
//
// The invariant: a program that is right, run by a runtime that is right, computes
// on it what it computes on the engine inside, bit for bit.
//
// As late as possible, with one device:
//
//	program   start load x ── kernel a ── kernel b, no wait ── done x ── kernel c
//	fake      x is NaN ── a b ── load x ── c
//
// It imports runtime/device and runtime/program. Only tests import it.
package fake
