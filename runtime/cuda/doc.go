// Package cuda is the engine of devices that are GPUs of NVIDIA, for code of the kind "ptx".
//
// In: a device of a plan, and the functions of the driver, libcuda.so.1, which is loaded at
// run time; nothing of a toolkit is needed.
//
// Out: a device.Engine. It is opened in stages: a card (context and stream of a GPU), memories, modules, launches
// (kernels with the addresses of their arguments), and what computes products. Of a program, resolved is what does
// not change from run to run, graphs are the ranges of it that were run, and captured has the state of a launch.
//
// What is between two communications with other devices is one CUDA graph, which is launched at once:
//
//	graph     ports in ── kernels, copies between memories ── ports out
//	program   graph ── all_reduce, by the host ── graph
//
// In a graph an instruction that waits depends on all before it, back to the last that waits; one
// that need not wait depends on what that one depends on. A copy between memories that is only
// started is depended on by what is behind its done.
//
// Communication goes through pinned memory of the host, or, where the transport is a
// device.Enqueuer, the GPU does it in a stream beside that of the graphs, and no thread waits for it:
//
//	program   graph ── all_reduce starts ── graph ── done ── graph
//	beside it            └ waits for events ─ all_reduce ┘
//
// or, where the transport is a device.Capturer and all that the program exchanges on any device is its, in the
// graph itself (mixed.go), as child graphs behind what they wait for:
//
//	graph     kernels ─┬─ kernels ────┬─ kernels
//	                   └─ all_reduce ─┘
//
// What is run for the first time, a program or a range of its instructions, is launched kernel by
// kernel, each waited for, so that a failure has a name; from the second time on it is a graph. Where times are
// asked for, kernels are launched one by one with events between them, and waited for at the end. Exchanges
// are in graphs of ranges alone that all devices run at the same point: a launch of the whole program, and StepJoint.
//
// Invariant: what lies in memory of the device is reached by copies alone; everything else is
// in order on one stream of the device; the number of arguments of a kernel is that of its entry, so
// that a plan that is wrong is an error and no fault of the process; all that the engine holds is
// freed by Close, after failures, too: graphs before what the transport has in them.
//
// The code is chosen among the plan's variants by the GPU's compute capability. The driver compiles each
// module as a whole program, never through its linker: relocatable code loses setmaxnreg, and its wgmma
// are serialized. The driver's own cache keeps the machine code.
//
// Kernels that are matrix products may be left to cuBLASLt, where that is asked for (blas.go): when
// the engine is opened both are timed, and the faster is in the graph, the library's as a graph that
// is captured of its calls. Those that use its workspace are behind one another.
//
// Package fakecuda is a driver for tests, which launches kernels under an emulator.
//
// Imports: internal/foreign, internal/units, runtime/cuda/blaslt,
// runtime/device and runtime/program.
package cuda
