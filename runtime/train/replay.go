package train

import (
	"time"

	"ptc/runtime/exec"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// replayer runs steps: instruction by instruction where their spans are wanted.
type replayer struct {
	plan    *program.Plan
	dev     *devices
	trace   *tracer   // nil: no trace
	profile *profiler // nil: no profile
}

// step runs the step that was fed.
func (r *replayer) step(step int64) error {
	profiled, traced := r.profile.wants(step), r.trace.wants(step)
	if r.profile != nil && r.trace != nil { // the steps between stay as they are
		traced = profiled && (step-r.profile.from)/2 < r.trace.to-r.trace.from
	}
	start := time.Now()
	if !profiled && !traced {
		err := r.dev.step()
		r.profile.plain(step, time.Since(start))
		return err
	}
	var spans []exec.Span
	err := r.dev.training.Trace(func(s exec.Span) { spans = append(spans, s) })
	took := time.Since(start)
	if profiled && err == nil {
		r.profile.Step(spans, took)
	}
	if traced {
		rates := func(s *exec.Span) profile.Rates {
			var none profile.Ceilings
			return none.Rates(profile.Work{Flops: s.Flops, Bytes: s.Bytes}, float64(s.End.Sub(s.Start)))
		}
		if r.profile != nil {
			rates = r.profile.Rates
		}
		r.trace.add(r.plan, spans, rates)
	}
	return err
}
