package train

import (
	"fmt"
	"time"

	"ptc/runtime/exec"
	"ptc/runtime/metrics"
)

// traceWarmUp is how many steps pass before those with spans of kernels: the
// first ones touch memory for the first time.
const traceWarmUp = 2

// tracer records the kernels of some steps.
type tracer struct {
	file     *metrics.Trace
	from, to int64 // steps with spans: [from, to)
	tracks   []metrics.Track
}

// openTrace makes the trace one of the sinks. It comes after all that may fail
// before the first step, so that a trace of an earlier run is not lost to a
// mistake.
func (r *run) openTrace() error {
	if r.o.Trace == "" || !r.root() {
		return nil
	}
	file, err := metrics.CreateTrace(r.o.Trace)
	if err != nil {
		return fileError(err, "the trace %s cannot be written", r.o.Trace)
	}
	r.trace = &tracer{file: file}
	r.trace.choose(r.first, r.last, r.o.TraceSteps)
	for rank := range r.plan.Ranks() {
		if r.end != nil && rank > 0 {
			break // in another process
		}
		r.trace.tracks = append(r.trace.tracks, file.Track(fmt.Sprintf("device %d", rank), "kernels"))
	}
	r.log = metrics.Multi(r.log, file)
	return nil
}

// choose says which of the steps from first to last have spans.
func (t *tracer) choose(first, last int64, n int) {
	if n <= 0 {
		n = DefaultTraceSteps
	}
	t.from = first + min(traceWarmUp, max(0, last-first+1-int64(n)))
	t.to = t.from + int64(n)
}

func (t *tracer) wants(step int64) bool { return t != nil && t.from <= step && step < t.to }

// step runs a step that was fed, kernel by kernel.
func (t *tracer) step(dev *devices) error {
	zero, at := time.Now(), t.file.Now()
	return dev.training.Trace(func(s exec.Span) {
		t.tracks[s.Rank].Span(s.Kernel, s.Class, at+int64(s.Start.Sub(zero)), at+int64(s.End.Sub(zero)))
	})
}

// closeTrace puts the trace in its place, also that of a run that failed.
func (r *run) closeTrace() error {
	if r.trace == nil {
		return nil
	}
	if err := r.trace.file.Close(); err != nil {
		return fileError(err, "the trace %s cannot be written", r.o.Trace)
	}
	return nil
}
