// Package metrics tells what a run does: to the terminal, as JSON lines, and as
// a trace for Perfetto (https://ui.perfetto.dev).
//
// In come the events of a run, through Sink.Tell; out go text,
// lines or a file, depending on the sink. The run loop knows no more than Sink,
// and where it records spans of kernels, Track.
//
// The invariant: what is told never changes or stops the run. A sink that fails
// falls silent and gives its first error on Close. What is not a finite number
// is null in JSON, and every line and every finished file is valid JSON.
//
// Of the module it imports runtime/checkpoint/atomicfile only.
package metrics
