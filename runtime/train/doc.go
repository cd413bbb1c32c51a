// Package train is the loop of a training run: what `ptc run` does with a plan.
//
// In come a plan and the options of a run; out go steps, told to a
// metrics.Sink, and the files that were asked for: parameters, checkpoints,
// gradients, batches, a trace. The devices are runtime/exec's business: the loop
// knows global tensors by path and batches by field, whatever the layout.
//
// The invariant: the state after step s is a function of the plan, the seed,
// the data and s. So a run that goes on from a checkpoint is, bit for bit, the
// run that never stopped; neither validation, nor a trace, nor a dump changes
// it. Every file appears whole or not at all. Between the start event and the
// last step nothing is allocated but what a file that is written takes.
//
// A step whose loss or gradients are not finite ends the run, with the first such
// tensor named (nonfinite.go), unless Options.OnNaN says otherwise.
//
// Several processes with a device each, in Options.Comm, do the same steps; the
// one with rank 0 alone tells the steps and writes files, but for checkpoints, of which each writes
// a part (jointly.go). They compare their
// options and what they begin with (alike.go), and stop together; of an error that
// all have, one tells.
//
// Every error knows the exit code of the process: ExitCode() int.
//
// It imports the other packages of runtime.
package train
