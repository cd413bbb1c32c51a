// Package device is the seam between the runtime and the devices that run a plan:
// the one place that knows memory and order.
//
// In comes a device of a validated plan. Out comes an Engine: the memories of the
// device, and its programs captured, with kernels, communication and copies
// between memories alike as instructions:
//
//	kind, err := device.Find(plan.CodeKind(d))
//	engine, err := kind.Open(device.Request{Plan: plan, Device: d, …})
//	defer engine.Close()
//	engine.Memory("").CopyIn(offset, weights)
//	step, err := engine.Capture(0)
//	for … {
//		copy(step.Port(tokens), batch) // what goes in: data, step, seed, coordinates
//		step.Launch()                  // may return before anything has run
//		err := step.Wait()
//		… step.Port(loss)              // what comes out: loss and statistics
//	}
//
// Above the seam, nothing knows where a memory is: it is read and written by
// copies. Below it, nothing knows tensors by path, whole batches, checkpoints or
// steps. An engine executes
//
//	kernels          in the order of the program, but for those that need not wait
//	communication    by the Exchanges that it is given, on ranges of memory that
//	                 the transport serves, or through host memory of its own
//	copies           host-to-device and device-to-host, between its memories
//
// and what an instruction starts runs concurrently with the others until the instruction that
// waits for it. A program that is looked at on the way (gradients, dumps, checks of
// numbers) is stepped through in ranges of instructions instead of launched.
//
// Where a device does its work in streams, a transport may enqueue there what it exchanges (streams.go), and
// have it captured in the device's graphs (capture.go).
//
// The invariant: what a program computes is a function of its plan, of the
// memories and of the ports that go in. It does not depend on the number of
// threads, on the ranges in which it is stepped through, or on when an engine runs
// what it may run at several times. So an engine may run everything as late, and in
// any order, as the program allows; package fake does.
//
// A kind of code is one package that calls Register in init; package host is what
// the kinds of code that run in the host's memory have in common.
//
// It imports runtime/program alone, so that a backend may register an engine
// without importing the rest of the runtime.
package device
