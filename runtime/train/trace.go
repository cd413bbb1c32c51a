package train

import (
	"fmt"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// traceWarmUp is how many steps pass before those with spans of kernels: the
// first ones touch memory for the first time.
const traceWarmUp = 2

// tracer records the kernels of some steps.
type tracer struct {
	file     *metrics.Trace // of rank 0; nil: the device goes along, as what GPUs exchange is in a graph on all or on none
	from, to int64          // steps with spans: [from, to)
	tracks   []metrics.Track
}

// openTrace makes the trace one of the sinks; nil where none was asked for. It comes after all that may fail
// before the first step, so that a trace of an earlier run is not lost to a
// mistake.
func openTrace(j *job, first, last int64) (*tracer, error) {
	if j.o.Trace == "" {
		return nil, nil
	}
	t := &tracer{}
	t.choose(first, last, j.o.TraceSteps)
	if !j.procs.root() {
		return t, nil
	}
	var err error
	if t.file, err = metrics.CreateTrace(j.o.Trace); err != nil {
		return nil, fileError(err, "ptc cannot write the trace %s", j.o.Trace)
	}
	for rank := range j.plan.Mesh.Ranks() {
		if j.procs.end != nil && rank > 0 {
			break // in another process
		}
		t.tracks = append(t.tracks, t.file.Track(fmt.Sprintf("device %d", rank), "kernels"))
	}
	j.log.Sink = metrics.Multi(j.log.Sink, t.file)
	return t, nil
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

// add takes the spans of a step, with their rates.
func (t *tracer) add(plan *program.Plan, spans []exec.Span, rates func(*exec.Span) profile.Rates) {
	if t.file == nil {
		return
	}
	zero, at := time.Now(), t.file.Now()
	since := func(x time.Time) int64 { return at + int64(x.Sub(zero)) }
	for i := range spans {
		s := &spans[i]
		r := rates(s)
		t.tracks[s.Rank].Span(metrics.Span{Name: s.Kernel, Category: s.Class, From: since(s.Start), Until: since(s.End),
			Module: s.In.Scope, Source: s.In.Pos, Flops: s.Flops, Bytes: s.Bytes, GFlops: r.GFlops, GBytes: r.GBytes, Roofline: r.Roofline})
	}
	for _, a := range arrows(plan, spans) {
		from, to := &spans[a.from], &spans[a.to]
		t.file.Flow(from.In.Comm.Kind, t.tracks[from.Rank], since(from.Start), t.tracks[to.Rank], max(since(to.Start), since(to.End)-1))
	}
}

// close puts the trace in its place, also that of a run that failed.
func (t *tracer) close(path string) error {
	if t == nil || t.file == nil {
		return nil
	}
	if err := t.file.Close(); err != nil {
		return fileError(err, "ptc cannot write the trace %s", path)
	}
	return nil
}

// arrow leads from one span to another that waits for it.
type arrow struct{ from, to int }

// arrows lead from sends to the end of receives and from what was started to its end, as far
// as both are among the spans: those of the devices of this process.
func arrows(plan *program.Plan, spans []exec.Span) []arrow {
	type message struct{ from, to, tag, n int } // the nth of its tag
	type started struct{ rank, instr int }
	sent, count, begun, ended := map[message]int{}, map[message]int{}, map[started]int{}, map[int]int{}
	next := func(m message) message {
		m.n, count[m] = count[m], count[m]+1
		return m
	}
	var out []arrow
	for i, s := range spans {
		c := s.In.Comm
		if c == nil {
			continue
		}
		if c.Start {
			begun[started{s.Rank, s.Instr}] = i
		}
		switch c.Kind {
		case collective.Send:
			sent[next(message{from: s.Rank, to: plan.Mesh.PeerOf(s.Rank, c), tag: c.Tag})] = i
		case collective.Done:
			if j, ok := begun[started{s.Rank, c.Of}]; ok {
				ended[j] = i
				out = append(out, arrow{j, i})
			}
		}
	}
	clear(count)
	for i, s := range spans {
		if c := s.In.Comm; c != nil && c.Kind == collective.Recv {
			if j, ok := sent[next(message{from: plan.Mesh.PeerOf(s.Rank, c), to: s.Rank, tag: c.Tag})]; ok {
				if end, waits := ended[i]; waits { // it may begin before it is sent
					i = end
				}
				out = append(out, arrow{j, i})
			}
		}
	}
	return out
}
