package train

import (
	"context"
	"fmt"
	"math"

	"ptc/runtime/metrics"
)

// finish saves what is to be saved at the end, then validates: what was trained
// is safe before more time is spent.
func (l *loop) finish(ctx context.Context) (err error) {
	unsaved := l.saver != nil && l.sum.Ran > 0 && l.keeper.saved != l.sum.Steps
	validated := l.o.KeepBest && unsaved && math.IsNaN(l.sum.ValLoss)
	if validated { // the checkpoint of the end has its validation loss
		if err := l.validateEnd(ctx); err != nil {
			return err
		}
		l.valid.isBest(l.sum.ValLoss)
	}
	if unsaved {
		if err := l.save(true); err != nil {
			return err
		}
	}
	if err := l.saver.await(""); err != nil {
		return err
	}
	if err := l.saveParameters(); err != nil {
		return err
	}
	if err := l.finishDumps(); err != nil {
		return err
	}
	if l.sum.Profile, err = l.replay.profile.finish(l.job); err != nil {
		return err
	}
	if !validated && !l.changed.passed && math.IsNaN(l.sum.ValLoss) {
		if err := l.validateEnd(ctx); err != nil {
			return err
		}
	}
	l.log.Tell(&metrics.End{Steps: l.sum.Steps, Loss: l.sum.Loss, ValLoss: l.sum.ValLoss, Metrics: l.sum.ValMetrics, Why: l.sum.Stopped})
	return l.numbers.diverged(l.sum.Steps)
}

// validateEnd notes the scores of the end; one that is stopped has none.
func (l *loop) validateEnd(ctx context.Context) error {
	s, err := l.valid.run(ctx)
	if s == nil {
		return err
	}
	if l.sum.ValLoss, l.sum.ValMetrics = s.loss, s.metrics; l.keeper != nil {
		l.keeper.validated(l.sum.Steps, s.loss)
	}
	if l.valid.follows(l.sum.Steps) { // as it would be, were it not the last step
		l.see(l.sum.Steps, s)
	}
	return err
}

// saveParameters writes the files of parameters that were asked for.
func (l *loop) saveParameters() error {
	for _, x := range []struct {
		path string
		from func(param string) string
	}{{l.o.Save, itself}, {l.o.SaveAverage, averageOf}} {
		if x.path == "" {
			continue
		}
		if l.changed.passed {
			l.log.warn(fmt.Sprintf("ptc writes nothing to %s: the parameters of step %d belong to a later phase", x.path, l.sum.Steps))
			continue
		}
		if _, err := l.numbers.maySave(l.sum.Steps, "ptc saves the parameters to "+x.path+" all the same"); err != nil {
			return err
		}
		file := rootFile{processes: l.procs}
		if err := file.written(saveParams(x.path, savedFrom(l.tensors, x.from), l.sum.Steps, l.dev, file.gathered)); err != nil {
			return err
		}
	}
	return nil
}

// finishDumps puts the batches in their place. Without a step there is nothing
// to write, and files of an earlier run stay as they are.
func (l *loop) finishDumps() error {
	if l.sum.Ran > 0 {
		if l.batches != nil {
			return l.batches.finish()
		}
		return nil
	}
	for _, path := range []string{l.o.DumpGrads, l.o.DumpBatches} {
		if path != "" {
			l.log.warn(fmt.Sprintf("the run had no step, so ptc writes nothing to %s", path))
		}
	}
	return nil
}
