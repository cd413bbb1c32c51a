package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/storage"
	"ptc/runtime/sweep"
	"ptc/runtime/train"
)

type sweepFlags struct {
	sourceFlags
	over       []string
	output     string
	checkpoint string // --checkpoint
	list       bool
	point      int
	steps      int64
	every      int64
	threads    int
	requeue    int
}

func newSweep(a *app) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep FILE [--over name=value,value...] -o DIR [--list | --point K]",
		Short: "Train a model with every combination of some settings",
		Long: `Compile and train a model once for each combination of the values that its block
"sweep { lr = [1e-3, 3e-3]  seed = 1..3 }", or --over in its place, gives to config
entries, and to seed, which need not be one. a..b stands for all whole numbers from a
to b. Of several axes the last one's values are in turn first.

Point K has the folder DIR/point-K with the log, checkpoints and the result; with
--checkpoint the checkpoints are below that place. Points
that have a result are kept, so that the same command goes on after it was stopped;
those that failed are tried again. A result of other settings or of another model is
an error. At the end there is a table, and DIR/results.csv and DIR/results.json.

--point K runs that point alone, for jobs of their own, as of an array of Slurm; then
the command without it makes the table.`,
		Example: `  ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep
  ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep --list
  sbatch --array=1-6 --wrap 'ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep --point $SLURM_ARRAY_TASK_ID'`,
		Args:              exactly("FILE"),
		ValidArgsFunction: completeFiles("ptl"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(f.over) == 0 {
			src, err := a.readText(args[0], maxSource)
			if err != nil {
				return err
			}
			f.over = compiler.SweepAxes(args[0], src)
		}
		points, err := f.check(cmd)
		if err != nil {
			return err
		}
		return a.sweep(cmd.Context(), args[0], &f, points)
	}
	f.sourceFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.over, "over", nil, "go through the values in `name=value,value...`; may be given again")
	fl.StringVarP(&f.output, "output", "o", "", "keep the points in `DIR`")
	fl.BoolVar(&f.list, "list", false, "show the points, and run none")
	fl.IntVar(&f.point, "point", 0, "run point `K` alone")
	fl.Int64Var(&f.steps, "steps", 0, "train to step `N` (default as the source says)")
	fl.Int64Var(&f.every, "every", 0, "save a checkpoint every `N` steps, to go on from within a point")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "keep the points' checkpoints below `DIR`, which may be s3://bucket/key (default each in its folder)")
	fl.IntVar(&f.threads, "threads", 0, "use `N` threads (default one for each processor)")
	fl.IntVar(&f.requeue, "requeue-exit-code", 0, "exit with `N` when SIGTERM or SIGUSR1 has ended the sweep early")
	cmd.MarkFlagsMutuallyExclusive("list", "point")
	return cmd
}

// check gives the points.
func (f *sweepFlags) check(cmd *cobra.Command) ([]sweep.Point, error) {
	var axes []sweep.Axis
	for _, text := range f.over {
		axis, err := sweep.ParseAxis(text)
		if err != nil {
			return nil, usagef("--over: %w", err)
		}
		for _, set := range f.set {
			if name, _, _ := strings.Cut(set, "="); name == axis.Name {
				return nil, usagef("--set and --over both say what %s is", name)
			}
		}
		axes = append(axes, axis)
	}
	if len(axes) == 0 {
		return nil, usagef("there is nothing to go through: the source has no block `sweep { lr = [1e-3, 3e-3] }`, and --over lr=1e-3,3e-3 is not given")
	}
	points, err := sweep.Points(axes)
	if err != nil {
		return nil, usagef("--over: %w", err)
	}
	_, job := launched()
	switch {
	case f.output == "" && !f.list:
		return nil, usagef("-o is missing: the folder for the points")
	case storage.Remote(f.output):
		return nil, usagef("-o is a folder of this machine; --checkpoint takes a place in an object store")
	case cmd.Flags().Changed("point") && (f.point < 1 || f.point > len(points)):
		return nil, usagef("--point is %d, and the sweep has the points 1 to %d", f.point, len(points))
	case cmd.Flags().Changed("steps") && f.steps < 1 || f.every < 0 || f.threads < 0:
		return nil, usagef("numbers of steps and threads are above 0")
	case job:
		return nil, usagef("a sweep trains in one process; start `ptc run` for a job of several")
	}
	return points, checkRequeue(f.requeue)
}

// sweeping is a sweep that is under way.
type sweeping struct {
	*app
	f       *sweepFlags
	path    string
	entries []string // of the source's config

	set  []string // that plan was compiled with
	plan *program.Plan
}

func (a *app) sweep(ctx context.Context, path string, f *sweepFlags, points []sweep.Point) error {
	if f.list {
		var b strings.Builder
		for _, p := range points {
			fmt.Fprintf(&b, "%d  %s\n", p.Number, p)
		}
		return a.print(b.String())
	}
	s := &sweeping{app: a, f: f, path: path, entries: compiler.ConfigEntries("main.ptl", named([]string{path}))}
	todo := points
	if f.point > 0 {
		todo = points[f.point-1 : f.point]
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var results []sweep.Result
	failed := 0
	for _, p := range todo {
		r, err := s.point(ctx, cancel, p, len(points))
		if err != nil {
			return err
		}
		if r.Error != "" {
			failed++
		}
		results = append(results, *r)
	}
	if err := s.finish(results); err != nil {
		return err
	}
	if failed > 0 {
		return fileError(fmt.Errorf("%d of %d points failed; the same command tries them again", failed, len(todo)))
	}
	return nil
}

// finish shows the results, and writes those of all points.
func (s *sweeping) finish(results []sweep.Result) error {
	if s.f.point == 0 {
		defer s.signals.hold()()
		if err := sweep.Write(s.f.output, results); err != nil {
			return fileError(wrapWrite(s.f.output, err))
		}
	}
	return s.print(sweep.Table(results))
}

// compile makes the plan of a point. The seed is the run's where the source's config has
// no entry for it, so that points that differ by it alone share a plan.
func (s *sweeping) compile(p sweep.Point) (seed *uint64, err error) {
	set := slices.Clone(s.f.set)
	for _, x := range p.Settings {
		if x.Name == "seed" && !slices.Contains(s.entries, "seed") {
			n, err := strconv.ParseUint(x.Value, 10, 64)
			if err != nil {
				return nil, usagef("--over: the seed %s is no whole number from 0", x.Value)
			}
			seed = &n
			continue
		}
		set = append(set, x.Name+"="+x.Value)
	}
	if s.plan != nil && slices.Equal(set, s.set) {
		return seed, nil
	}
	u, err := s.openUnit(s.path, s.f.importsBelow)
	if err != nil {
		return nil, err
	}
	s.f.apply(&u.opts)
	u.opts.Set = set
	plan, r, err := compiler.Compile(u.opts)
	if err != nil {
		return nil, compileError(err, u.sources(r))
	}
	s.set, s.plan = set, plan
	return seed, nil
}

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

// point gives the result of a point, which it runs where there is none.
func (s *sweeping) point(ctx context.Context, cancel context.CancelCauseFunc, p sweep.Point, of int) (*sweep.Result, error) {
	seed, err := s.compile(p)
	if err != nil {
		return nil, err
	}
	model := modelOf(s.plan)
	have, err := sweep.Load(s.f.output, p.Number)
	if err != nil {
		return nil, fileError(err)
	}
	if have != nil {
		if err := have.Of(p, model); err != nil {
			return nil, fileError(fmt.Errorf("%s has a result already: %w; give another folder", sweep.Dir(s.f.output, p.Number), err))
		}
		last := s.f.steps
		if last == 0 {
			last = s.plan.Data.Steps
		}
		if have.Error == "" && have.Steps >= last {
			return have, nil
		}
	}
	fmt.Fprintf(s.err, "point %d of %d: %s\n", p.Number, of, p)
	if err := sweep.MkdirAll(s.f.output, p.Number); err != nil {
		return nil, fileError(err)
	}
	r := &sweep.Result{Point: p.Number, Settings: p.Settings, Model: model}
	if err := s.train(ctx, cancel, r, seed); err != nil {
		return nil, err
	}
	defer s.signals.hold()()
	return r, fileError(r.Save(s.f.output))
}

// train runs a point. What fails is of its result; an error is that the sweep cannot go on.
func (s *sweeping) train(ctx context.Context, cancel context.CancelCauseFunc, r *sweep.Result, seed *uint64) error {
	dir := sweep.Dir(s.f.output, r.Point)
	log, err := os.OpenFile(filepath.Join(dir, "log.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return fileError(err)
	}
	o := train.Options{Steps: s.f.steps, Seed: seed, Threads: s.f.threads, Every: s.f.every, Checkpoint: s.checkpoints(r.Point),
		ResumeIfAny: true, Log: metrics.NewJSON(log), Folder: filepath.Dir(s.path)}
	o.OnFault = func(err error) { os.Exit(s.reportBug(err.Error(), nil, os.Args[1:])) }
	s.signals.preemptible(s.f.requeue, 0)
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
	sum, err := train.Run(ctx, s.plan, o)
	s.signals.finish(nil)
	if e := o.Log.Close(); err == nil && e != nil {
		return fileError(e)
	}
	switch {
	case err == nil && sum.Interrupted && sum.Preempted && s.f.requeue > 0:
		return &fault{code: s.f.requeue, err: train.ErrPreempted, silent: true}
	case err == nil && (sum.Interrupted || ctx.Err() != nil):
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
	r.Steps, r.Loss, r.ValLoss = sum.Steps, known(sum.Loss), known(sum.ValLoss)
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
