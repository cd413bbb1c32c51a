// Package metrics tells what a run does: to the terminal, as JSON lines, as a trace for
// Perfetto (https://ui.perfetto.dev), as rows of CSV, as event files of TensorBoard, and
// to Prometheus.
//
// In come the events of a run, through Sink.Tell; out go text, lines, a file or answers
// over HTTP, depending on the sink. The run loop knows no more than Sink, and where it
// records spans of kernels, Track. Kinds are the sinks that have a target, a row each.
//
// The invariant: what is told never changes or stops the run. A sink that fails
// falls silent and gives its first error on Close. What is not a finite number
// is null in JSON, and every line and every finished file is valid JSON. What listens
// does so for this machine alone, unless its address names a host.
//
// Of the module it imports runtime/checkpoint/atomicfile only.
package metrics
