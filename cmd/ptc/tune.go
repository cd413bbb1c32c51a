package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/backend/tile/schedule"
	"ptc/compiler/tune"
	"ptc/internal/processors"
	"ptc/internal/units"
)

type tuneFlags struct {
	output  string
	threads int
	seconds float64
	fresh   bool
	json    bool
}

func newTune(a *app) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune PLAN [-o FILE] [--threads N] [--seconds S]",
		Short: "Find faster schedules for a plan's kernels by measuring",
		Long: `Measure which block sizes make a plan's matrix products and attention kernels fastest
on this machine, and write the schedules to a file for "ptc compile --schedules FILE".
The plan is only read, and none of its code runs.

The compiler tiles a product for registers, caches and threads by estimates. This
command compiles each in up to some twenty ways, runs these alternately, on operands
that are in no cache, and keeps the fastest if it gains at least 2%; otherwise it keeps
the compiler's choice. A kernel's results stay the same, up to the rounding of
sums. Other work on the machine distorts the measurement: stop it.

A schedule belongs to a kernel's text and a target: other sizes have other kernels, and
other layouts of the same model share equal ones. FILE has a line for each kernel. It is
written after each kernel, so Ctrl-C keeps what was found; kernels in it are not measured
again unless --fresh is given.`,
		Example: `  ptc tune plan.bin
  ptc compile model.ptl --schedules plan.schedules -o plan.bin`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tune(cmd.Context(), cmd, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "write the schedules to `FILE` (default PLAN with .schedules for its extension)")
	fl.IntVar(&f.threads, "threads", 0, "measure with `N` threads (default one for each processor)")
	fl.Float64Var(&f.seconds, "seconds", tune.DefaultSeconds, "measure each kernel for about `S` seconds")
	fl.BoolVar(&f.fresh, "fresh", false, "also measure kernels whose schedule is already in FILE")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) tune(ctx context.Context, cmd *cobra.Command, path string, f *tuneFlags) error {
	if err := checkThreads(cmd, f.threads); err != nil {
		return err
	}
	if !(f.seconds > 0 && f.seconds <= math.MaxInt32) {
		return usagef("--seconds is %g, and must be more than 0", f.seconds)
	}
	plan, err := readPlan(path)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(plan.Target, "cpu:") {
		return inputf("%s is for the target %s, whose kernels have no schedules; a plan for cpu has", path, plan.Target)
	}
	output := f.output
	if output == "" {
		output = strings.TrimSuffix(path, filepath.Ext(path)) + ".schedules"
	}
	if err := keepsInputs(output, path); err != nil {
		return err
	}
	o := tune.Options{Threads: f.threads, Seconds: f.seconds}
	if o.Threads == 0 {
		o.Threads = processors.Count()
	}
	if !f.fresh {
		if o.Known, err = a.knownSchedules(output, plan.Target); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.signals.finish(func(s os.Signal) {
		fmt.Fprintf(a.err, "\n%s: finishing the kernel; once more ends at once\n", s)
		cancel()
	})
	o.Done = func(r *tune.Report, k *tune.Kernel) error {
		if !f.json {
			if err := a.print(k.Line() + "\n"); err != nil {
				return err
			}
		}
		return a.writeFile(output, []byte(r.Table.String()))
	}
	r, err := tune.Plan(ctx, plan, o)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.err, "stopped; %s has what was found, and the same command goes on\n", output)
		return &fault{code: exitInterrupt, err: err, silent: true}
	}
	if err != nil {
		return fileError(err)
	}
	if err := a.writeFile(output, []byte(r.Table.String())); err != nil {
		return err
	}
	if f.json {
		return a.printJSON(r)
	}
	return a.print(r.Text() + output + "\n")
}

// knownSchedules are those of an earlier search, which is for the same target; nil where
// there was none.
func (a *app) knownSchedules(path, target string) (*schedule.Table, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || path == stdio {
		return nil, nil
	}
	t, err := a.readSchedules(path)
	if err == nil && t.Target != target {
		err = inputf("%s has schedules for %s, and the plan is for %s; `-o` names another file, and `--fresh` replaces it", path, t.Target, target)
	}
	return t, err
}

// readSchedules reads a file of schedules.
func (a *app) readSchedules(path string) (*schedule.Table, error) {
	text, err := a.readText(path, schedule.MaxBytes)
	if err != nil {
		return nil, err
	}
	t, err := schedule.ParseTable(string(text))
	if err != nil {
		return nil, inputf("%s (%s) is no file of schedules: %w", path, units.Bytes(int64(len(text))), err)
	}
	return t, nil
}
