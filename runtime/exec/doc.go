// Package exec captures a plan and replays it.
//
// In: a validated plan.
//
// Out: a Machine, which is opened in stages: a crew, with an engine of package device for
// each device of this process; the values, which are tensors in their memories by path; and
// programs with their ports, which are captured, so that a step is a launch:
//
//	m, err := exec.Open(plan, exec.Options{Threads: 8})
//	defer m.Close()
//	m.Initialize(seed)                 // or m.WriteBytes(path, …) from a checkpoint
//	step := m.Program("step")
//	for s := range steps {             // a context is looked at here, between steps
//		m.SetStep(s + 1)
//		step.Feed("tokens", batch)
//		err := step.Run()
//		… step.Loss(), step.Stat("lr")
//	}
//
// Each device has its engine, which runs a program with its communication, and,
// where there are several, a goroutine that is parked between runs:
//
//	rank 0   kernels ── all_reduce ── kernels ── all_gather ── kernels
//	rank 1   kernels ──────┴───────── kernels ──────┴───────── kernels
//
// Where a device's memory is, is not known here: tensors are read and written by
// copies, and what is in the host's memory or in a file like all others. Gradients,
// traces, guards and the search for what is not finite step through a program.
//
// A failure of one device ends the communication of all, and is what is reported.
// With Options.Comm the other devices are in other processes, of which each
// makes the same calls; the one with rank 0 collects whole tensors.
//
// How tensors are cut over devices is known here and nowhere above: ReadBytes,
// WriteBytes, Feed and gradients speak of whole tensors by path.
//
// With StopBeforeUpdate a step that is not finite ends before it changes a tensor
// (guard.go), and FindNonFinite says where that began (nonfinite.go).
//
// Invariant: on native code Run, Feed, SetStep, Loss and Stat do not
// allocate, nor communications within a process; what a program computes depends
// on its inputs alone, never on the number of threads or processes, on tracing,
// or on gradients being read on the way.
//
// A Machine is for one goroutine at a time. Elements in memory are
// little-endian, as in the files. What runs the code is an engine that registers
// itself with package device: that of object code is linked in here, and printed IR
// runs where backend/ref is.
//
// Imports: runtime/program, runtime/device with its package host, runtime/comm with
// its transport local, and internal/dtype, philox and ranges.
package exec
