// Package train is the loop of a training run: what `ptc run` does with a plan.
//
// In: a plan and the options of a run.
//
// Out: steps, told to a metrics.Sink, and the files that were asked for: parameters,
// checkpoints, gradients, batches, a trace.
//
// A run goes through stages, each made from the one before (run.go):
//
//	processes   who runs the plan together
//	job         what is asked for, checked before anything is opened
//	start       the checkpoint or the parameters to begin with, the seed, the first step
//	session     data and devices, with the tensors at their first values
//	loop        the steps: train, then finish
//
// The loop has parts with a state of their own: validation, saver (checkpoints), numbers
// (what is not finite), replayer (trace and profile). The devices are runtime/exec's
// business: the loop knows global tensors by path and batches by field, whatever the layout.
//
// Invariant: the state after step s is a function of the plan, the seed,
// the data and s. So a run that resumes is, bit for bit, the
// run that never stopped; neither validation, nor a trace, nor a dump changes
// it. Every file appears whole or not at all. Between the start event and the
// last step nothing is allocated except for files that are written. A step whose loss or
// gradients are not finite ends the run, with the first such tensor named, unless
// Options.OnNaN says otherwise. Every error knows the exit code of the process:
// ExitCode() int.
//
// Several processes with a device each, in Options.Comm, do the same steps. The root, with
// rank 0, alone tells the steps and writes files; of a checkpoint each writes a part
// (jointly.go). They compare their options and what they begin with (alike.go), and stop
// together. If all have the same error, the root alone says it.
//
// Imports: the other packages of runtime.
package train
