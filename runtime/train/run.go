package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// Run trains: from the first step, or from the one after a checkpoint's, to the
// last. When ctx is done it finishes the step that is under way, saves what it
// would save at the end, and returns as if that step were the last; validation
// is then left out. The plan has to be a decoded or validated one.
//
// Every error says by a method ExitCode() int what the process should exit
// with; the Summary says how far the run came.
func Run(ctx context.Context, plan *program.Plan, o Options) (Summary, error) {
	r := &run{plan: plan, o: o, log: o.Log, sum: Summary{Loss: math.NaN(), ValLoss: math.NaN()}}
	err := r.connect(plan, o.Comm)
	if r.log == nil || !r.root() {
		r.log = metrics.Multi()
	}
	if err == nil {
		err = r.all(ctx)
	}
	return r.sum, r.disconnect(err)
}

// all is the run from its beginning to its end.
func (r *run) all(ctx context.Context) error {
	defer r.close()
	err := r.sameOptions()
	if err == nil {
		err = r.agree(r.prepare())
	}
	var from *checkpoint.Checkpoint
	if err == nil {
		from, err = r.openCheckpoint()
	}
	if err == nil && r.o.Init != "" && from == nil {
		err = r.openInit()
	}
	if err == nil {
		err = r.agree(r.open(from))
	}
	if err == nil {
		err = r.sameStart()
	}
	if err == nil {
		err = r.agree(r.begin())
	}
	if err == nil {
		r.tellStart()
		err = r.train(ctx)
	}
	if e := r.closeTrace(); err == nil {
		err = e
	}
	return err
}

// run is one run.
type run struct {
	processes
	plan    *program.Plan // with every run written out, once it is open
	o       Options
	log     metrics.Sink
	tensors []checkpoint.Tensor
	dev     *devices
	feed    *feed
	init    checkpoint.Values // nil: none, or they are loaded
	keeper  *keeper           // nil: no checkpoints
	batches *batchDump        // nil: no dump
	trace   *tracer           // nil: no trace
	profile *profiler         // nil: no profile

	seed        uint64
	first, last int64
	resumed     string        // folder of the checkpoint, if any
	changed     change        // since that checkpoint
	bad         int           // steps in a row that were not finite
	warned      bool          // of the first such step
	noted       bool          // it was told how validation averages
	best        float64       // validation loss of the best checkpoint
	patience    *patience     // nil: the run ends with its last step
	unmeasured  bool          // the checkpoint that the run goes on from has no validation loss
	skips       int           // steps that were skipped because scaled gradients were not
	longest     time.Duration // of the steps
	hurried     bool          // it was told that a save takes longer than a scheduler waits
	sum         Summary
	told        metrics.Step // the last
	waits       waits
}

func (r *run) warn(message string) { r.log.Tell(&metrics.Warning{Message: message}) }

// prepare finds out what can be found wrong before anything is opened.
func (r *run) prepare() (err error) {
	if r.last, err = r.o.check(r.plan); err != nil {
		return err
	}
	if r.plan, err = r.plan.Expanded(); err != nil {
		return &Error{Code: ExitFile, Msg: "the plan cannot be run", Err: err}
	}
	if r.tensors, err = planTensors(r.plan); err != nil {
		return err
	}
	if r.o.SaveAverage != "" && !slices.ContainsFunc(r.tensors, isAverage) {
		return errorf(ExitUsage, "the plan keeps no average of parameters").hint("`average = 0.999` in the optimizer keeps one")
	}
	return r.probeFiles()
}

// open gets everything ready for the first step; c is the checkpoint to go on from, if any.
func (r *run) open(c *checkpoint.Checkpoint) (err error) {
	if c != nil {
		defer c.Close()
	}
	if r.end != nil && data.OneReader(r.plan.Data.Kind) { // the others wait for what the root reads
		if err := r.agree(nil); err != nil {
			return err
		}
	}
	if r.feed, err = openFeed(r.plan, &r.o, r.seed, r.feedRank(), c, &r.processes); err != nil {
		return err
	}
	r.feed.warn = r.warn
	if err := r.endOfEpochs(c); err != nil {
		return err
	}
	if err := r.openPhase(c); err != nil {
		return err
	}
	if r.patience = patienceOf(&r.o, r.plan); c != nil && !r.changed.data { // else other windows are validated
		r.patience.goOn(c.Meta.Patience)
	}
	if r.keeper != nil {
		r.keeper.meta.Patience = r.patience.kept()
	}
	if err := r.openDevices(c); err != nil || r.o.OnNaN != NaNStop {
		return err
	}
	return r.dev.watchNumbers()
}

// probeFiles finds out whether all files could be written that a run writes at its end.
func (r *run) probeFiles() error {
	for _, f := range []struct {
		path  string
		probe func(string) error
	}{{r.o.Save, probe}, {r.o.SaveAverage, probe}, {r.o.DumpGrads, probe}, {r.o.DumpBatches, probeLocal}, {r.o.Trace, probeLocal}, {r.o.ProfileFile, probeLocal}} {
		if f.path == "" || !r.root() {
			continue
		}
		if err := f.probe(f.path); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the files that grow while the run goes on. Before, a run leaves
// nothing behind, however it ends.
func (r *run) begin() (err error) {
	if r.o.Begun != nil {
		r.o.Begun()
	}
	if r.o.DumpBatches != "" && r.root() {
		if r.batches, err = createBatchDump(r.o.DumpBatches, r.feed.fields); err != nil {
			return err
		}
	}
	r.openProfile()
	if err := r.probeGrace(); err != nil {
		return err
	}
	return r.openTrace()
}

// feedRank is the rank whose part of the batches is read, -1 for whole ones.
func (r *run) feedRank() int {
	if r.o.DumpBatches != "" && r.root() {
		return -1
	}
	return r.rank()
}

// openDevices captures the programs and gives the tensors their first values.
func (r *run) openDevices(c *checkpoint.Checkpoint) (err error) {
	if r.dev, err = openDevices(r.plan, r.feed.fields, &r.o, r.seed, r.warn); err != nil {
		return err
	}
	defer r.dev.shed()
	if c != nil {
		return r.keeper.load(c, r.dev)
	}
	if err := r.dev.m.Initialize(r.seed); err != nil {
		return err
	}
	if r.init == nil {
		return nil
	}
	err = r.loadParams()
	_ = r.init.Close() // was only read
	r.init = nil
	return err
}

func (r *run) tellStart() {
	r.log.Tell(&metrics.Start{
		Name: r.plan.Name, Layout: r.plan.Layout, Target: r.plan.Target,
		Data: r.feed.describe(), Resumed: r.resumed, Changed: r.changed.what, GoesOn: r.changed.goesOn,
		First: r.first, Last: r.last, Seed: r.seed,
		Devices: r.plan.Mesh.Ranks(), On: onText(r.dev.m.On()), Params: count(params(r.tensors)),
		TokensPerStep: r.plan.Stats.TokensPerStep, FlopsPerStep: r.plan.Stats.FlopsPerStep,
		Settings: settingsOf(r.plan), Metrics: metricNames(r.plan),
	})
	if r.patience != nil && (!r.validates(0) || r.feed.heldOut(1).count == 0) {
		r.warn("training cannot end early, since nothing is validated while it lasts: hold data out, and validate every so many steps (--eval-every N)")
	}
	if r.first > r.last {
		r.warn(fmt.Sprintf("training already has %d steps, and %d were asked for: nothing is left to do", r.first-1, r.last))
	}
}

// train runs the steps, then saves and validates.
func (r *run) train(ctx context.Context) error {
	r.feed.start(r.first, r.last)
	if err := r.makeUp(ctx); err != nil {
		return err
	}
	for step := r.first; step <= r.last && !r.patience.over(); step++ {
		stop, err := r.stopped(ctx)
		if err != nil {
			return err
		}
		if stop {
			r.sum.Interrupted = true
			if r.sum.Preempted, err = r.preempted(ctx); err != nil {
				return err
			}
			break
		}
		if err := r.checkpointWritten(); err != nil {
			return err
		}
		switch err := r.step(ctx, step); {
		case errors.Is(err, errNoData):
			r.warn(fmt.Sprintf("the data ends with step %d, and the run with it, before step %d", step-1, r.last))
			return r.finish(ctx)
		case errors.Is(err, errStopped):
			r.sum.Interrupted = true
			if r.sum.Preempted, err = r.preempted(ctx); err != nil {
				return err
			}
			return r.finish(ctx)
		case err != nil:
			return err
		}
		if step == r.last {
			break
		}
		if err := r.between(ctx, step); err != nil {
			return err
		}
	}
	if r.patience.over() {
		r.sum.Stopped = r.patience.why(r.sum.Steps)
	}
	return r.finish(ctx)
}

// between saves and validates after a step that is not the last: what was trained is
// safe before more time is spent, unless what validation finds is to be saved with it.
func (r *run) between(ctx context.Context, step int64) error {
	save, validate := r.o.Every > 0 && step%r.o.Every == 0, r.validates(step)
	if save || validate {
		r.askAgain()
	}
	if save && !(validate && (r.o.KeepBest || r.patience != nil)) {
		if err := r.saveCheckpoint(false); err != nil {
			return err
		}
		save = false
	}
	if validate {
		s, err := r.validate(ctx)
		if err != nil {
			return err
		}
		if s != nil { // else a NaN would look like a model that diverged
			r.log.Tell(s.event(step))
			r.see(step, s)
			save = r.isBest(s.loss) || save
		}
	}
	if save {
		return r.saveCheckpoint(false)
	}
	return nil
}

// see notes a validation for the checkpoint of the step, and for whether the run goes on.
func (r *run) see(step int64, s *scores) {
	if r.patience.see(step, s); r.patience.over() {
		r.sum.ValLoss, r.sum.ValMetrics = s.loss, s.metrics
	}
	if r.keeper != nil {
		r.keeper.validated(step, s.loss)
		r.keeper.meta.Patience = r.patience.kept()
	}
}

// validates is whether there is a validation after a step that is not the last.
func (r *run) validates(step int64) bool {
	every := cmp.Or(r.o.ValidEvery, r.plan.Data.EvalEvery)
	return every > 0 && step%every == 0
}

// isBest reports whether the checkpoint of it is to be kept
// as the best so far. All processes have the same loss.
func (r *run) isBest(loss float64) bool {
	if !r.o.KeepBest {
		return false
	}
	if !(loss < r.best) {
		return false
	}
	r.best = loss
	return true
}

// step runs one step and tells it.
func (r *run) step(ctx context.Context, step int64) error {
	begin := time.Now()
	b, err := r.feed.next(ctx, step)
	if err != nil {
		return err
	}
	if err := r.dev.feed(b, step); err != nil {
		return err
	}
	r.waits.begin(r.dev.m)
	switch {
	case step == r.first && r.o.DumpGrads != "":
		err = r.dumpGrads(step)
	default:
		err = r.replay(step)
	}
	stopped := errors.Is(err, exec.ErrNotFinite)
	if err != nil && !stopped {
		return err
	}
	took := time.Since(begin)
	if r.sum.Ran > 0 { // the first one reads data, and starts threads
		r.longest = max(r.longest, took)
	}
	waits, ended := r.stepEnded(ctx, r.waits.end(r.dev.m))
	if ended != nil {
		return ended
	}
	m := &r.told
	r.measure(m, step, took)
	m.WaitMs = waits
	r.log.Tell(m)
	r.sum.Loss = m.Loss
	if !stopped {
		r.sum.Steps = step
		r.sum.Ran++
	}
	if r.batches != nil {
		if err := r.batches.add(step, b); err != nil {
			return err
		}
	}
	return r.watch(m, b, stopped)
}

// measure says what the devices reported of a step, which took so long.
func (r *run) measure(m *metrics.Step, step int64, took time.Duration) {
	s := took.Seconds()
	*m = metrics.Step{Step: step, Loss: r.dev.loss(), GradNorm: r.dev.gradNorm(), LR: r.dev.lr(), LossScale: r.dev.lossScale(), Ms: 1e3 * s, TokensPerS: math.NaN(),
		NoGradNorm: !r.dev.training.Known("grad_norm"), NoLR: !r.dev.training.Known("lr"), Metrics: m.Metrics[:0]}
	for _, a := range r.plan.Data.Averages {
		if a.Stat != "" {
			m.Metrics = append(m.Metrics, metrics.Figure{Name: a.Name, Value: r.dev.stat(a.Stat)})
		}
	}
	if n := r.plan.Stats.TokensPerStep; n > 0 && s > 0 {
		m.TokensPerS = float64(n) / s
	}
}

// saveCheckpoint saves the state after the last step that is done: behind the steps
// that follow, if any do.
func (r *run) saveCheckpoint(last bool) error {
	step, begun := r.sum.Steps, time.Now()
	if ok, err := r.maySave(fmt.Sprintf("no checkpoint of step %d is saved", step)); !ok {
		return err
	}
	if err := r.awaitCheckpoint(fmt.Sprintf("the checkpoint of step %d", step)); err != nil {
		return err
	}
	if r.several() {
		return r.saveTogether(step, last, begun)
	}
	if !last && !r.o.CheckpointSync && r.keeper.hasRoom() {
		if err := r.keeper.copyAll(r.dev); err != nil {
			return err
		}
		r.keeper.writeBehind(step, r.sum.Loss, begun)
		return nil
	}
	dir, err := r.keeper.save(step, r.sum.Loss, r.dev)
	if err != nil {
		return err
	}
	r.tellCheckpoint(&writing{step: step, dir: dir, wait: time.Since(begun)})
	return nil
}

// close frees what the run holds, and removes what it did not finish.
func (r *run) close() {
	if r.feed != nil {
		r.feed.stop()
	}
	if r.batches != nil {
		r.batches.close()
	}
	if r.init != nil {
		_ = r.init.Close() // was only read
	}
	if r.dev != nil {
		r.dev.close()
	}
	if r.keeper != nil {
		r.leaveNothing()
		r.keeper.close()
	}
}
