package train

import (
	"cmp"
	"context"
)

// validation averages over what is held out, while training lasts and at its end.
type validation struct {
	*job
	feed     *feed
	dev      *devices
	patience *patience // nil: the run ends with its last step
	best     float64   // loss of the best checkpoint
	noted    bool      // it was told how validation averages
}

func newValidation(s *session) *validation {
	v := &validation{job: s.job, feed: s.feed, dev: s.dev, patience: patienceOf(&s.o, s.plan), best: s.bestBefore()}
	if s.from != nil && !s.changed.data { // else other windows are validated
		v.patience.goOn(s.from.Meta.Patience)
	}
	return v
}

// follows says whether a step that is not the last is followed by a validation.
func (v *validation) follows(step int64) bool {
	every := cmp.Or(v.o.ValidEvery, v.plan.Data.EvalEvery)
	return every > 0 && step%every == 0
}

// matters says whether it decides which checkpoint is kept, or when the run ends.
func (v *validation) matters() bool { return v.o.KeepBest || v.patience != nil }

// idle says whether patience never sees a validation.
func (v *validation) idle() bool {
	return v.patience != nil && (!v.follows(0) || v.feed.heldOut(1).count == 0)
}

// run averages over the first windows that are held out; the loss is NaN if there are
// none. If ctx stops it there are no scores.
func (v *validation) run(ctx context.Context) (*scores, error) {
	src := v.feed.heldOut(int64(cmp.Or(v.o.Valid, DefaultValid)))
	if src.count <= 0 || !v.dev.hasEval() {
		return noScores(), nil
	}
	a := averager{dev: v.dev, averages: averagesOf(v.plan), size: v.feed.size(), fewer: true,
		stopped: func() (bool, error) { return v.procs.stopped(ctx) }}
	s, err := a.average(src)
	if err == nil && s != nil && s.note != "" && !v.noted {
		v.noted = true
		v.log.warn("validation: " + s.note)
	}
	return s, err
}

// isBest reports whether the checkpoint with that loss is to be kept
// as the best so far. All processes have the same loss.
func (v *validation) isBest(loss float64) bool {
	if !v.o.KeepBest || !(loss < v.best) {
		return false
	}
	v.best = loss
	return true
}
