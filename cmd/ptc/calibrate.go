package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"ptc/foresight/calibrate"
	"ptc/foresight/machine"
	"ptc/internal/processors"
	"ptc/internal/units"
)

type calibrateFlags struct {
	output  string
	plans   []string
	threads int
	seconds float64
	name    string
	note    string
}

func newMachineCalibrate(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate [-o FILE] [--plan PLAN]... [--threads N] [--seconds S]",
		Short: "Measure this host and write the file of its machine",
		Long: `Measure the processors of this host and write a complete .ptm file: peaks of products by
dtype, memory and caches, launches, exchanges between devices of one process, and the shares of
these that the kernels of a small program reach. Logical devices of a plan share the host's
processors, and so they do in the file.

With --plan, run some steps of a plan for processors, with one device, on zeros in place of its
data. The time of each of its kernels goes into the file by the key of the kernel, and counts for
every plan that has the kernel; the rates are fitted to it as well. It runs the code in the plan.

Other work on the machine distorts the measurement: stop it. The numbers differ a little from one
time to the next; nothing else in the file does. GPUs are not measured.`,
		Example: `  ptc machine calibrate -o here.ptm
  ptc machine calibrate --plan plan.bin -o here.ptm
  ptc simulate other.bin --machine here.ptm:8`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.calibrate(cmd.Context(), cmd, &f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", stdio, "write the machine to `FILE`")
	fl.StringArrayVar(&f.plans, "plan", nil, "also measure the kernels of `PLAN`; may be given several times")
	fl.IntVar(&f.threads, "threads", 0, "measure `N` threads, which the devices of a plan share (default one for each processor)")
	fl.Float64Var(&f.seconds, "seconds", defaultCalibration, "measure each program for about `S` seconds")
	fl.StringVar(&f.name, "name", "here", "call the machine `NAME`")
	fl.StringVar(&f.note, "note", "", "add `TEXT`, such as the date, to the source of each number")
	return cmd
}

// defaultCalibration is for how many seconds each program is measured.
const defaultCalibration = 4.0

func (a *app) calibrate(ctx context.Context, cmd *cobra.Command, f *calibrateFlags) error {
	if err := checkThreads(cmd, f.threads); err != nil {
		return err
	}
	switch {
	case !(f.seconds > 0 && f.seconds <= math.MaxInt32):
		return usagef("--seconds is %g, but must be more than 0", f.seconds)
	case !machineName.MatchString(f.name):
		return usagef("--name is %q, but must be letters, digits and `_`, and begin with a letter", f.name)
	case strings.ContainsAny(f.note, "\n\r"):
		return usagef("--note has several lines, but must be one")
	case f.output != stdio && !machine.IsFile(f.output):
		return usagef("-o is %s, but files of machines end in %s", f.output, machine.Extension)
	}
	o := calibrate.Options{Name: f.name, Threads: f.threads, Seconds: f.seconds, Note: f.note, Bytes: arrayBytes}
	if o.Threads == 0 {
		o.Threads = processors.Count()
	}
	for _, path := range f.plans {
		p, err := readPlan(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(p.Target, "cuda"):
			return inputf("%s is for the target %s, but GPUs are not measured: use a plan for processors (ptc compile --target cpu)", path, p.Target)
		case !strings.HasPrefix(p.Target, "cpu:"):
			return inputf("%s is for the target %s, whose kernels are interpreted: use a plan with native code (ptc compile --target cpu)", path, p.Target)
		case p.Mesh.Ranks() != 1:
			return inputf("%s has %d devices, which compute at the same time on the same processors: use a plan of one device", path, p.Mesh.Ranks())
		}
		o.Plans = append(o.Plans, p)
	}
	if err := keepsInputs(f.output, f.plans...); err != nil {
		return err
	}
	o.Done = func(name string, launches int) {
		fmt.Fprintf(a.err, "measured %s of %s\n", units.Plural(launches, "launch"), name)
	}
	r, err := calibrate.Host(ctx, o)
	if err != nil {
		return fileError(err)
	}
	if err := a.writeFile(f.output, []byte(r.Text)); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s: %s in the table; for others the model is off by %.0f%% (median over time)\n",
		filepath.Base(f.output), units.Plural(r.Kernels, "kernel"), 100*r.Deviation)
	return nil
}

// machineName is a name of the language.
var machineName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
