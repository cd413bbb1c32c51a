package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/storage"
	"ptc/runtime/sweep"
	"ptc/runtime/train"
)

// modelOf is a hash of what a plan was compiled from, on whatever machine.
func modelOf(plan *program.Plan) string {
	h := sha256.New()
	fmt.Fprintf(h, "sweep 1\n%q\n", plan.Layout)
	for _, x := range plan.Sources {
		fmt.Fprintf(h, "%q %x\n", x.Name, sha256.Sum256([]byte(x.Text)))
	}
	for _, kv := range plan.Config {
		fmt.Fprintf(h, "%q %q\n", kv.Key, kv.Value)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// have is the result of a point that there is already, nil where it is to be run.
func (s *sweeping) have(p *placed) (*sweep.Result, error) {
	have, err := sweep.Load(s.f.output, p.Number)
	if err != nil {
		return nil, fileError(err)
	}
	if have == nil {
		return nil, nil
	}
	if err := have.Of(p.Point, modelOf(p.outline)); err != nil {
		return nil, fileError(fmt.Errorf("%s already has a result: %w; choose another folder", sweep.Dir(s.f.output, p.Number), err))
	}
	last := s.f.steps
	if last == 0 {
		last = p.outline.Data.Steps
	}
	if have.Error == "" && (have.Steps >= last || have.Stopped) {
		return have, nil
	}
	return nil, nil
}

// run runs a point by a plan of its group.
func (s *sweeping) run(ctx context.Context, cancel context.CancelCauseFunc, p *placed, plan *program.Plan) (*sweep.Result, error) {
	plan, err := plan.Set(p.values)
	if err != nil {
		return nil, err // the group's outline could be set to them
	}
	if modelOf(plan) != modelOf(p.outline) {
		return nil, fileError(fmt.Errorf("%s: the plan is of another model than point %d", s.f.plan, p.Number))
	}
	if err := sweep.MkdirAll(s.f.output, p.Number); err != nil {
		return nil, fileError(err)
	}
	r := &sweep.Result{Point: p.Number, Settings: p.Settings, Model: modelOf(p.outline)}
	if err := s.train(ctx, cancel, plan, r, p.seed); err != nil {
		return nil, err
	}
	defer s.signals.hold()()
	return r, fileError(r.Save(s.f.output))
}

// train runs a point. What fails is of its result; an error is that the sweep cannot go on.
func (s *sweeping) train(ctx context.Context, cancel context.CancelCauseFunc, plan *program.Plan, r *sweep.Result, seed *uint64) error {
	dir := sweep.Dir(s.f.output, r.Point)
	log, err := os.OpenFile(filepath.Join(dir, "log.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return fileError(err)
	}
	o := train.Options{Steps: s.f.steps, Seed: seed, Threads: s.f.threads, Every: s.f.every, Checkpoint: s.checkpoints(r.Point),
		ResumeIfAny: true, Log: metrics.NewJSON(log), Folder: filepath.Dir(s.path)}
	o.OnFault = func(err error) { os.Exit(s.reportBug(err.Error(), nil, os.Args[1:])) }
	o.Begun = func() {
		s.signals.finish(func(sig os.Signal) {
			fmt.Fprintf(s.err, "\n%s: finishing the step; once more ends at once\n", sig)
			if bySchedulers(sig) {
				cancel(train.ErrPreempted)
			} else {
				cancel(nil)
			}
		})
	}
	sum, err := train.Run(ctx, plan, o)
	s.signals.finish(nil)
	if e := o.Log.Close(); err == nil && e != nil {
		return fileError(e)
	}
	switch {
	case err == nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), train.ErrPreempted) && s.f.requeue > 0:
		return &fault{code: s.f.requeue, err: train.ErrPreempted, silent: true}
	case err == nil && ctx.Err() != nil: // the last validation may have been stopped, so that there is no result yet
		return &fault{code: exitInterrupt, err: context.Canceled, silent: true}
	case err != nil:
		var coded interface{ ExitCode() int }
		var held *checkpoint.HeldError // another job runs the point
		if !errors.As(err, &coded) || coded.ExitCode() != train.ExitFile || errors.As(err, &held) {
			return err
		}
		r.Error = err.Error()
		fmt.Fprintf(s.err, "point %d failed: %v\n", r.Point, err)
	}
	r.Steps, r.Loss, r.ValLoss, r.Stopped = sum.Steps, known(sum.Loss), known(sum.ValLoss), sum.Stopped != ""
	return nil
}

// checkpoints is the folder of a point's checkpoints.
func (s *sweeping) checkpoints(point int) string {
	if s.f.checkpoint == "" {
		return filepath.Join(sweep.Dir(s.f.output, point), "checkpoints")
	}
	return storage.Join(s.f.checkpoint, filepath.Base(sweep.Dir(s.f.output, point)))
}

// known is a number that JSON has; nil for any other.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
