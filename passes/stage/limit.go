package stage

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
)

// MaxOps is how many operations a training step may have, with those of every
// microbatch: about as many as one core compiles in four minutes and 7 GiB.
const MaxOps = 1_000_000

// checkSize refuses a step of so many operations that the passes behind would take
// very long for it, before any of them is made. t is nil without a pipeline.
func checkSize(f *ir.Func, t *tagger) error {
	n := int(f.Times())
	if t == nil {
		if n <= MaxOps {
			return nil
		}
		return &diag.Error{Code: "E0614", Msg: fmt.Sprintf("the step would have %d operations, of which at most %d are compiled", n, MaxOps),
			Hint: "use fewer instances of repeated modules"}
	}
	each := 0 // operations of one microbatch
	for _, o := range f.Ops {
		if h := t.phase[o]; t.stage[o] != anywhere && (h == ir.Forward || h == ir.Backward) {
			each += int(o.Times())
		}
	}
	m := t.rule.Microbatches
	if n += each * (m - 1); n <= MaxOps {
		return nil
	}
	e := &diag.Error{Code: "E0614", Pos: t.rule.At,
		Msg:  fmt.Sprintf("%d microbatches in %d slots of the schedule would be about %d operations, of which at most %d are compiled", m, 2*m*(t.last+1), n, MaxOps),
		Hint: "use fewer instances of repeated modules"}
	if fit := 1 + (MaxOps-int(f.Times()))/max(1, each); fit > 1 {
		e.Want = fmt.Sprintf("at most %d microbatches", fit)
		e.Hint = "use fewer, larger microbatches"
	}
	return e
}
