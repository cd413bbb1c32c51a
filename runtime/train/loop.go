package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ptc/runtime/exec"
	"ptc/runtime/metrics"
)

// loop goes through the steps of a session: each is fed, run, told and watched; after some of them there is a
// checkpoint or a validation.
type loop struct {
	*session
	sum     *Summary
	told    metrics.Step // the last
	waits   waits
	numbers numbers
	valid   *validation
	grace   *grace
	saver   *saver // nil: no checkpoints
	replay  replayer
	batches *batchDump // nil: no dump
}

func newLoop(s *session, sum *Summary) *loop {
	l := &loop{session: s, sum: sum, numbers: numbers{job: s.job, dev: s.dev}, valid: newValidation(s),
		grace: &grace{job: s.job}, replay: replayer{plan: s.plan, dev: s.dev}}
	l.saver = newSaver(s, l.grace)
	if l.saver != nil {
		l.keeper.meta.Patience = l.valid.patience.kept()
	}
	return l
}

// begin makes the files that grow while the run goes on.
func (l *loop) begin() (err error) {
	if l.o.Begun != nil {
		l.o.Begun()
	}
	if l.o.DumpBatches != "" && l.procs.root() {
		if l.batches, err = createBatchDump(l.o.DumpBatches, l.feed.fields); err != nil {
			return err
		}
	}
	l.replay.profile = openProfile(l.job, l.dev, l.first, l.last)
	if err := l.grace.probe(l.keeper); err != nil {
		return err
	}
	l.replay.trace, err = openTrace(l.job, l.first, l.last)
	return err
}

func (l *loop) tellStart() {
	l.log.Tell(&metrics.Start{
		Name: l.plan.Name, Layout: l.plan.Layout, Target: l.plan.Target,
		Data: l.feed.describe(), Resumed: l.resumed(), Changed: l.changed.what, GoesOn: l.changed.goesOn,
		First: l.first, Last: l.last, Seed: l.seed,
		Devices: l.plan.Mesh.Ranks(), On: onText(l.dev.m.On()), Params: count(params(l.tensors)),
		TokensPerStep: l.plan.Stats.TokensPerStep, FlopsPerStep: l.plan.Stats.FlopsPerStep,
		Settings: settingsOf(l.plan), Metrics: metricNames(l.plan),
	})
	if l.valid.idle() {
		l.log.warn("patience has no effect, because nothing is validated during training: hold data out and pass --eval-every N")
	}
	if l.first > l.last {
		l.log.warn(fmt.Sprintf("nothing is left to do: the checkpoint has %d steps, and the run ends with step %d", l.first-1, l.last))
	}
}

// train runs the steps, to the last or until the run is to end before.
func (l *loop) train(ctx context.Context) error {
	l.feed.start(l.first, l.last)
	if err := l.makeUp(ctx); err != nil {
		return err
	}
	for step := l.first; step <= l.last && !l.valid.patience.over(); step++ {
		stop, err := l.procs.stopped(ctx)
		if err == nil && !stop {
			err = l.saver.written()
		}
		if err == nil && !stop {
			err = l.step(ctx, step)
		}
		switch {
		case stop || errors.Is(err, errStopped):
			l.sum.Interrupted = true
			l.sum.Preempted, err = l.procs.preempted(ctx)
			return err
		case errors.Is(err, errNoData):
			l.log.warn(fmt.Sprintf("the data ended after step %d, so the run ends before step %d", step-1, l.last))
			return nil
		case err != nil:
			return err
		case step < l.last:
			if err := l.between(ctx, step); err != nil {
				return err
			}
		}
	}
	if l.valid.patience.over() {
		l.sum.Stopped = l.valid.patience.why(l.sum.Steps)
	}
	return nil
}

// makeUp validates the checkpoint that the run goes on from, where a signal has stopped its
// validation: it may be the best one, and would else never be compared with the others.
func (l *loop) makeUp(ctx context.Context) error {
	step := l.first - 1
	if !l.valid.matters() || l.from == nil || l.from.Meta.Valid != nil || l.changed.data || step < 1 || step < l.last && !l.valid.follows(step) {
		return nil
	}
	s, err := l.valid.run(ctx)
	if err != nil || s == nil {
		return err
	}
	if step < l.last {
		l.log.Tell(s.event(step))
	} else {
		l.sum.ValLoss, l.sum.ValMetrics = s.loss, s.metrics
	}
	l.see(step, s)
	if l.valid.isBest(s.loss) {
		return l.save(step >= l.last)
	}
	return nil
}

// between saves and validates after a step that is not the last: what was trained is
// safe before more time is spent, unless what validation finds is to be saved with it.
func (l *loop) between(ctx context.Context, step int64) error {
	save, validate := l.o.Every > 0 && step%l.o.Every == 0, l.valid.follows(step)
	if save || validate {
		l.procs.askAgain()
	}
	if save && !(validate && l.valid.matters()) {
		if err := l.save(false); err != nil {
			return err
		}
		save = false
	}
	if validate {
		s, err := l.valid.run(ctx)
		if err != nil {
			return err
		}
		if s != nil { // else a NaN would look like a model that diverged
			l.log.Tell(s.event(step))
			l.see(step, s)
			save = l.valid.isBest(s.loss) || save
		}
	}
	if save {
		return l.save(false)
	}
	return nil
}

// see notes a validation for the checkpoint of the step, and for whether the run goes on.
func (l *loop) see(step int64, s *scores) {
	if l.valid.patience.see(step, s); l.valid.patience.over() {
		l.sum.ValLoss, l.sum.ValMetrics = s.loss, s.metrics
	}
	if l.keeper != nil {
		l.keeper.validated(step, s.loss)
		l.keeper.meta.Patience = l.valid.patience.kept()
	}
}

// step runs one step and tells it.
func (l *loop) step(ctx context.Context, step int64) error {
	begin := time.Now()
	b, err := l.feed.next(ctx, step)
	if err != nil {
		return err
	}
	if err := l.dev.feed(b, step); err != nil {
		return err
	}
	l.waits.begin(l.dev.m)
	if step == l.first && l.o.DumpGrads != "" {
		err = dumpGrads(l.job, l.dev, step)
	} else {
		err = l.replay.step(step)
	}
	stopped := errors.Is(err, exec.ErrNotFinite)
	if err != nil && !stopped {
		return err
	}
	took := time.Since(begin)
	if l.sum.Ran > 0 { // the first one reads data, and starts threads
		l.grace.ran(took)
	}
	m := &l.told
	waits, err := l.procs.stepEnded(ctx, l.waits.end(l.dev.m), l.saver.parts(), m.WaitMs[:0])
	if err != nil {
		return err
	}
	l.measure(m, step, took)
	m.WaitMs = waits
	l.log.Tell(m)
	l.sum.Loss = m.Loss
	if !stopped {
		l.sum.Steps = step
		l.sum.Ran++
	}
	if l.batches != nil {
		if err := l.batches.add(step, b); err != nil {
			return err
		}
	}
	return l.numbers.watch(m, b, stopped)
}

// measure says what the devices reported of a step, which took so long.
func (l *loop) measure(m *metrics.Step, step int64, took time.Duration) {
	s := took.Seconds()
	*m = metrics.Step{Step: step, Loss: l.dev.loss(), GradNorm: l.dev.gradNorm(), LR: l.dev.lr(), LossScale: l.dev.lossScale(), Ms: 1e3 * s, TokensPerS: math.NaN(),
		NoGradNorm: !l.dev.training.Known("grad_norm"), NoLR: !l.dev.training.Known("lr"), Metrics: m.Metrics[:0]}
	for _, a := range l.plan.Data.Averages {
		if a.Stat != "" {
			m.Metrics = append(m.Metrics, metrics.Figure{Name: a.Name, Value: l.dev.stat(a.Stat)})
		}
	}
	if n := l.plan.Stats.TokensPerStep; n > 0 && s > 0 {
		m.TokensPerS = float64(n) / s
	}
}

// save saves the state after the last step that is done.
func (l *loop) save(last bool) error {
	step, begun := l.sum.Steps, time.Now()
	if ok, err := l.numbers.maySave(step, fmt.Sprintf("ptc saves no checkpoint of step %d", step)); !ok {
		return err
	}
	return l.saver.save(step, l.sum.Loss, last, begun)
}

// close ends what goes on behind the steps, and removes what was not finished.
func (l *loop) close() {
	if l.batches != nil {
		l.batches.close()
	}
	l.sum.Checkpoint = l.saver.close()
}
