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
	validated := r.o.KeepBest && r.sum.Ran > 0 && r.keeper.saved != r.sum.Steps
	if validated { // the checkpoint of the end has its validation loss
		var err error
		if r.sum.ValLoss, _, err = r.validate(ctx); err != nil {
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
		var err error
		if r.sum.ValLoss, _, err = r.validate(ctx); err != nil {
			return err
		}
	}
	r.log.Tell(&metrics.End{Steps: r.sum.Steps, Loss: r.sum.Loss, ValLoss: r.sum.ValLoss})
	return r.diverged()
}

// makeUp validates the checkpoint that the run goes on from, where a signal has stopped its
// validation: it may be the best one, and would else never be compared with the others.
func (r *run) makeUp(ctx context.Context) error {
	step := r.first - 1
	if !r.o.KeepBest || !r.unmeasured || r.changed.data || step < 1 || step < r.last && !r.validates(step) {
		return nil
	}
	loss, whole, err := r.validate(ctx)
	if err != nil || !whole {
		return err
	}
	if step < r.last {
		r.log.Tell(&metrics.Validation{Step: step, Loss: loss})
	} else {
		r.sum.ValLoss = loss
	}
	if r.isBest(loss) {
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

// validate is the mean loss of the first validation batches, NaN if there are
// none. One that is stopped by ctx is not whole, and has no loss either.
func (r *run) validate(ctx context.Context) (loss float64, whole bool, err error) {
	n := r.o.Valid
	if n == 0 {
		n = DefaultValid
	}
	n = min(n, r.feed.validations())
	if n <= 0 || !r.dev.hasEval() {
		return math.NaN(), true, nil
	}
	sum := 0.0
	for i := range n {
		if stop, err := r.stopped(ctx); stop || err != nil {
			return math.NaN(), false, err
		}
		b, err := r.feed.validation(i)
		if err != nil {
			return 0, false, err
		}
		loss, err := r.dev.eval(b)
		if err != nil {
			return 0, false, err
		}
		sum += loss
	}
	return sum / float64(n), true, nil
}
