package train

import (
	"fmt"
	"math"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// patience ends a run whose validation has got no better for a while. Its state is in each
// checkpoint, so that a run that goes on ends where the run that never stopped does.
type patience struct {
	program.Stop
	best  float64 // so far; NaN: none
	since int64   // validations in a row that were not better
	step  int64   // after which the last one was
}

// patienceOf is that of a run; nil where it ends with its last step.
func patienceOf(o *Options, plan *program.Plan) *patience {
	var p patience
	if s := plan.Data.Stop; s != nil {
		p.Stop = *s
	}
	if o.Patience != 0 {
		p.Patience = o.Patience
	}
	if p.Patience <= 0 {
		return nil
	}
	p.best = math.NaN()
	return &p
}

// of is the number of scores that is looked at.
func of(s program.Stop, x *scores) float64 {
	if s.On == "" {
		return x.loss
	}
	i := slices.IndexFunc(x.metrics, func(f metrics.Figure) bool { return f.Name == s.On })
	if i < 0 {
		return math.NaN()
	}
	return x.metrics[i].Value
}

// better reports whether x is better than y by more than least; every number is better
// than none.
func better(s program.Stop, x, y float64, least float64) bool {
	switch {
	case math.IsNaN(x):
		return false
	case math.IsNaN(y):
		return true
	case s.Most:
		return x > y+least
	}
	return x < y-least
}

// see notes the scores of a validation after a step, once.
func (p *patience) see(step int64, s *scores) {
	if p == nil || step <= p.step {
		return
	}
	p.step = step
	if x := of(p.Stop, s); better(p.Stop, x, p.best, p.Least) {
		p.best, p.since = x, 0
		return
	}
	p.since++
}

// over reports whether the run ends now.
func (p *patience) over() bool { return p != nil && p.since >= p.Patience }

// why says why the run ends.
func (p *patience) why(step int64) string {
	what := "the validation loss"
	if p.On != "" {
		what = "the metric " + p.On
	}
	best := "it was never a number"
	if !math.IsNaN(p.best) {
		best = fmt.Sprintf("the best was %.6g", p.best)
	}
	return fmt.Sprintf("ended after step %d: %s has not improved in %d validations, and %s", step, what, p.since, best)
}

// kept is the state in a checkpoint.
func (p *patience) kept() *checkpoint.Patience {
	if p == nil {
		return nil
	}
	k := &checkpoint.Patience{Since: p.since, Step: p.step}
	if best := p.best; finite(best) {
		k.Best = &best
	}
	return k
}

// goOn takes the state of a checkpoint.
func (p *patience) goOn(k *checkpoint.Patience) {
	if p == nil || k == nil {
		return
	}
	if p.since, p.step = k.Since, k.Step; k.Best != nil {
		p.best = *k.Best
	}
}
