package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/runtime/program"
	"ptc/runtime/storage"
	"ptc/runtime/sweep"
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
	jobs       int
	plan       string // --plan: of a point that another process has compiled
	requeue    int
}

func newSweep(a *app) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep FILE [--over name=value,value...] -o DIR [--list | --point K]",
		Short: "Train a model with every combination of some settings",
		Long: `Train a model once for each combination of values. The source's block
"sweep { lr = [1e-3, 3e-3]  seed = 1..3 }", or --over instead, lists values of config
entries, and of seed, which need not be one. a..b stands for all integers from a to b.
The last of several axes varies fastest.

The model is compiled once for all points that differ only in numbers of its
arithmetic, such as a learning rate, its warm-up, a weight decay or a seed: these become
ports of the plan (ptc compile --port). A setting that changes a shape or an operation,
such as the number of layers, is compiled for each value, and ptc says why.

Point K has the folder DIR/point-K with its log, checkpoints and result; with
--checkpoint the checkpoints are below that place. Points that have a result are kept,
so the same command continues after an interruption; failed points are tried again.
Results of other settings or of another model are an error. At the end ptc prints a
table and writes DIR/results.csv and DIR/results.json.

--jobs N trains N points at once, each in its own process with its share of the
processors, unless --threads gives a number. On a signal all of them finish their step.

--point K runs only that point, for separate jobs such as a Slurm array; the command
without it then makes the table.`,
		Example: `  ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep
  ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep --list
  ptc sweep model.ptl --over lr=1e-3,3e-3 --over seed=1..3 -o sweep --jobs 4
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
	fl.StringArrayVar(&f.over, "over", nil, "try the values in `name=value,value...`; may be repeated")
	fl.StringVarP(&f.output, "output", "o", "", "keep the points in `DIR`")
	fl.BoolVar(&f.list, "list", false, "show the points, and run none")
	fl.IntVar(&f.point, "point", 0, "run only point `K`")
	fl.Int64Var(&f.steps, "steps", 0, "train to step `N` (default as the source says)")
	fl.Int64Var(&f.every, "every", 0, "save a checkpoint every `N` steps, so that a point can resume")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "keep the points' checkpoints below `DIR`, which may be s3://bucket/key (default each in its folder)")
	fl.IntVar(&f.threads, "threads", 0, "use `N` threads (default one for each processor)")
	fl.IntVar(&f.jobs, "jobs", 1, "train `N` points at once")
	fl.StringVar(&f.plan, "plan", "", "train --point by the plan in `FILE`, of which nothing but values of ports differ")
	if err := fl.MarkHidden("plan"); err != nil {
		panic(err) // the flag does not exist
	}
	fl.IntVar(&f.requeue, "requeue-exit-code", 0, "exit with `N` if SIGTERM or SIGUSR1 ended the sweep early")
	cmd.MarkFlagsMutuallyExclusive("list", "point")
	cmd.MarkFlagsMutuallyExclusive("jobs", "point")
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
	case f.jobs < 1:
		return nil, usagef("--jobs is %d, and must be at least 1", f.jobs)
	case cmd.Flags().Changed("steps") && f.steps < 1:
		return nil, usagef("--steps is %d, and must be at least 1", f.steps)
	case cmd.Flags().Changed("every") && f.every < 1:
		return nil, usagef("--every is %d, and must be at least 1", f.every)
	case job:
		return nil, usagef("a sweep trains in one process; start `ptc run` for a job of several")
	}
	if err := checkThreads(cmd, f.threads); err != nil {
		return nil, err
	}
	return points, checkRequeue(f.requeue)
}

// sweeping is a sweep that is under way.
type sweeping struct {
	*app
	f       *sweepFlags
	path    string
	entries []string // of the source's config
	of      int      // points
}

func (a *app) sweep(ctx context.Context, path string, f *sweepFlags, points []sweep.Point) error {
	s := &sweeping{app: a, f: f, path: path, entries: compiler.ConfigEntries("main.ptl", named([]string{path})), of: len(points)}
	if f.list {
		return s.list(points)
	}
	a.signals.preemptible(f.requeue, 0) // also while plans are compiled
	todo := points
	if f.point > 0 {
		todo = points[f.point-1 : f.point]
	}
	all, err := s.place(todo)
	if err != nil {
		return err
	}
	results := make([]*sweep.Result, len(all))
	for i, p := range all {
		if results[i], err = s.have(p); err != nil {
			return err
		}
		if results[i] == nil {
			p.group.left++
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f.jobs > 1 {
		err = s.atOnce(all, results)
	} else {
		err = s.inTurn(ctx, cancel, all, results)
	}
	if err != nil || f.plan != "" {
		return err
	}
	return s.finish(results)
}

// list shows the points, once their settings are known to be the source's: a name or a value that
// is wrong is found before a job is made of each.
func (s *sweeping) list(points []sweep.Point) error {
	if _, err := s.place(points); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%d  %s\n", p.Number, p)
	}
	return s.print(b.String())
}

// inTurn runs what has no result yet, one point after the other.
func (s *sweeping) inTurn(ctx context.Context, cancel context.CancelCauseFunc, all []*placed, results []*sweep.Result) error {
	for i, p := range all {
		if results[i] != nil {
			continue
		}
		plan, err := s.planOf(p)
		if err != nil {
			return err
		}
		s.tell(p)
		if results[i], err = s.run(ctx, cancel, p, plan); err != nil {
			return err
		}
	}
	return nil
}

// planOf is the plan of a point's group, which is compiled where it is needed first and
// dropped after it was needed last.
func (s *sweeping) planOf(p *placed) (plan *program.Plan, err error) {
	g := p.group
	if g.plan == nil {
		if s.f.plan != "" {
			g.plan, err = openPlan(s.f.plan, &trustFlags{})
		} else {
			g.plan, err = s.compile(g)
		}
		if err != nil {
			return nil, err
		}
	}
	plan = g.plan
	if g.left--; g.left == 0 {
		g.plan = nil
	}
	return plan, nil
}

// tell says which point begins, where no other process has said it.
func (s *sweeping) tell(p *placed) {
	if s.f.plan == "" {
		fmt.Fprintf(s.err, "point %d of %d: %s\n", p.Number, s.of, p)
	}
}

// finish shows the results, and writes those of all points.
func (s *sweeping) finish(points []*sweep.Result) error {
	var results []sweep.Result
	failed := 0
	for _, r := range points {
		if results = append(results, *r); r.Error != "" {
			failed++
		}
	}
	if s.f.point == 0 {
		defer s.signals.hold()()
		if err := sweep.Write(s.f.output, results); err != nil {
			return fileError(wrapWrite(s.f.output, err))
		}
	}
	if err := s.print(sweep.Table(results)); err != nil {
		return err
	}
	if failed > 0 {
		return fileError(fmt.Errorf("%d of %d points failed; the same command tries them again", failed, len(points)))
	}
	return nil
}
