package train

import (
	"context"
	"fmt"
	"math"

	"ptc/runtime/metrics"
)

// finish saves what is to be saved at the end, then validates: what was trained
// is safe before more time is spent.
func (r *run) finish(ctx context.Context) error {
	validated := r.o.KeepBest && r.sum.Ran > 0 && r.keeper.saved != r.sum.Steps && math.IsNaN(r.sum.ValLoss)
	if validated { // the checkpoint of the end has its validation loss
		if err := r.validateEnd(ctx); err != nil {
			return err
		}
		r.isBest(r.sum.ValLoss)
	}
	if r.keeper != nil && r.sum.Ran > 0 && r.keeper.saved != r.sum.Steps {
		if err := r.saveCheckpoint(true); err != nil {
			return err
		}
	}
	if err := r.awaitCheckpoint(""); err != nil {
		return err
	}
	if err := r.saveParameters(); err != nil {
		return err
	}
	if err := r.finishDumps(); err != nil {
		return err
	}
	if err := r.finishProfile(); err != nil {
		return err
	}
	if !validated && !r.changed.passed && math.IsNaN(r.sum.ValLoss) {
		if err := r.validateEnd(ctx); err != nil {
			return err
		}
	}
	r.log.Tell(&metrics.End{Steps: r.sum.Steps, Loss: r.sum.Loss, ValLoss: r.sum.ValLoss, Metrics: r.sum.ValMetrics, Why: r.sum.Stopped})
	return r.diverged()
}

// validateEnd notes the scores of the end; one that is stopped has none.
func (r *run) validateEnd(ctx context.Context) error {
	s, err := r.validate(ctx)
	if s == nil {
		return err
	}
	if r.sum.ValLoss, r.sum.ValMetrics = s.loss, s.metrics; r.keeper != nil {
		r.keeper.validated(r.sum.Steps, s.loss)
	}
	if r.validates(r.sum.Steps) { // as it would be, were it not the last step
		r.see(r.sum.Steps, s)
	}
	return err
}

// makeUp validates the checkpoint that the run goes on from, where a signal has stopped its
// validation: it may be the best one, and would else never be compared with the others.
func (r *run) makeUp(ctx context.Context) error {
	step := r.first - 1
	if !r.o.KeepBest && r.patience == nil || !r.unmeasured || r.changed.data || step < 1 || step < r.last && !r.validates(step) {
		return nil
	}
	s, err := r.validate(ctx)
	if err != nil || s == nil {
		return err
	}
	if step < r.last {
		r.log.Tell(s.event(step))
	} else {
		r.sum.ValLoss, r.sum.ValMetrics = s.loss, s.metrics
	}
	r.see(step, s)
	if r.isBest(s.loss) {
		return r.saveCheckpoint(step >= r.last)
	}
	return nil
}

// finishDumps puts the batches in their place. Without a step there is nothing
// to write, and files of an earlier run stay as they are.
func (r *run) finishDumps() error {
	if r.sum.Ran > 0 {
		if r.batches != nil {
			return r.batches.finish()
		}
		return nil
	}
	for _, path := range []string{r.o.DumpGrads, r.o.DumpBatches} {
		if path != "" {
			r.warn(fmt.Sprintf("no step was run, so nothing is written to %s", path))
		}
	}
	return nil
}

// validate averages over the first windows that are held out; the loss is NaN if there are
// none. Where ctx stops it there are no scores.
func (r *run) validate(ctx context.Context) (*scores, error) {
	n := int64(r.o.Valid)
	if n == 0 {
		n = DefaultValid
	}
	src := r.feed.heldOut(n)
	if src.count <= 0 || !r.dev.hasEval() {
		return noScores(), nil
	}
	v := averager{dev: r.dev, averages: averagesOf(r.plan), size: r.feed.size(), fewer: true,
		stopped: func() (bool, error) { return r.stopped(ctx) }}
	s, err := v.average(src)
	if err == nil && s != nil && s.note != "" && !r.noted {
		r.noted = true
		r.warn("validation: " + s.note)
	}
	return s, err
}
