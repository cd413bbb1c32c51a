package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/foresight/stack"
	"ptc/runtime/program"
)

// simulateFlags are those of `ptc simulate`.
type simulateFlags struct {
	sourceFlags
	machine     string
	stack       string
	asJSON      bool
	sensitivity bool
	slow        float64
	slowRank    int
	jitter      float64
	seed        uint64
	restart     time.Duration
	trace       string
}

func newSimulate(a *app) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate PLAN|FILE --machine NAME:LEVELS",
		Short: "Predict a plan's step time, memory and cost on a machine",
		Long: `Run a training step of a plan on a machine that is described and need not be there, and
print its time by cause, its memory against the device's, tokens, money and energy, and what
bounds it. The machine is one that ptc knows (ptc machine show lists them), or a .ptm file; LEVELS
are the sizes of its levels, the outermost first: h100:128x8 is 128 nodes of 8 devices.

A source is compiled first, with --layout and --set, for the machine's kind of device.

The simulation executes the plan's own instructions and messages. Kernels take the time that
their tiles, bytes and arithmetic need on the machine, and exchanges that of the fastest
algorithm; exchanges that run at the same time share links. Each moment has one cause:
compute.CLASS of kernels, comm.AXIS of exchanges that nothing hides, copy, bubble while a
pipeline waits, wait for other members of a group, host. They add up to the step.`,
		Example: `  ptc simulate plan.bin --machine h100:128x8
  ptc simulate gpt.ptl --layout big --machine a100_80:16x8 --sensitivity
  ptc simulate plan.bin --machine cluster.ptm:4x16x8 --json | jq .time_by_cause
  ptc simulate plan.bin --machine h100:128x8 --trace step.json`,
		Args:              exactly("PLAN or FILE"),
		ValidArgsFunction: completeFiles("bin", "ptl"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.simulate(args[0], &f) },
	}
	f.sourceFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.machine, "machine", "", "simulate on `NAME:LEVELS`, of a machine that ptc knows or a .ptm file")
	fl.StringVar(&f.stack, "stack", "", "predict what a source takes under other software, `NAME` or a .json file, with its kernels")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	fl.BoolVar(&f.sensitivity, "sensitivity", false, "also simulate machines, and software of --stack, whose rates are 10% lower and higher and half, and one slow device")
	fl.Float64Var(&f.slow, "slow", 1, "kernels of one device take `FACTOR` times as long")
	fl.IntVar(&f.slowRank, "slow-rank", 0, "the slow device is `RANK`")
	fl.Float64Var(&f.jitter, "jitter", 0, "kernels' times vary with this standard deviation, a `SHARE` of them")
	fl.Uint64Var(&f.seed, "seed", 0, "`SEED` of the jitter")
	fl.DurationVar(&f.restart, "restart", restart, "assume that training goes on `TIME` after a failure")
	fl.StringVar(&f.trace, "trace", "", "write turns, exchanges and waits to `FILE`, for Perfetto")
	_ = cmd.MarkFlagRequired("machine")
	return cmd
}

// simulate prints the forecast of a plan, or of a source.
func (a *app) simulate(path string, f *simulateFlags) error {
	c, err := a.cluster(f.machine)
	if err != nil {
		return err
	}
	s, err := a.stackOf(f.stack)
	if err != nil {
		return err
	}
	collectLess()
	plan, err := a.planFor(path, f, c, s)
	if err != nil {
		return err
	}
	o, err := f.options(plan)
	if err != nil {
		return err
	}
	o.Stack = s
	x, job, err := forecast.Of(plan, c, o)
	if err != nil {
		return inputf("%w", err)
	}
	if f.trace != "" {
		if err := a.writeTrace(f.trace, path, plan, job, o.How); err != nil {
			return err
		}
	}
	if f.asJSON {
		return a.printJSON(x)
	}
	return a.print(x.Text())
}

// writeTrace writes the simulated step for Perfetto.
func (a *app) writeTrace(file, plan string, p *program.Plan, job *sim.Job, how sim.How) error {
	if err := keepsInputs(file, plan); err != nil {
		return err
	}
	var b bytes.Buffer
	left, err := forecast.Trace(&b, p, job, how)
	if err != nil {
		return err
	}
	if left > 0 {
		a.message("warning", fmt.Sprintf("the trace has the first %d turns and exchanges; %d more are left out", forecast.MostSpans, left))
	}
	return a.writeFile(file, b.Bytes())
}

// cluster is the machine NAME:LEVELS.
func (a *app) cluster(spec string) (*machine.Cluster, error) {
	name, levels := machine.Split(spec)
	m, err := machine.Named(name)
	if machine.IsFile(name) {
		if m, err = a.readMachine(name); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, inputf("%w", err)
	}
	c, err := m.On(levels)
	if err != nil {
		return nil, inputf("%w", err)
	}
	return c, nil
}

// planFor reads a plan, or compiles a source for the machine's kind of device.
func (a *app) planFor(path string, f *simulateFlags, c *machine.Cluster, s *stack.Stack) (*program.Plan, error) {
	if filepath.Ext(path) != ".ptl" {
		if s != nil {
			return nil, usagef("--stack predicts what a source takes under other software; %s is a plan, which has the kernels of ptc", path)
		}
		return readPlan(path)
	}
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return nil, err
	}
	f.apply(&u.opts)
	u.opts.Target = "ref"
	if strings.HasPrefix(c.Device.Target, "cuda:") {
		u.opts.Forms = c.Device.Target
	}
	if s != nil {
		u.opts.Stack = &compiler.Stack{Join: s.Join(), Attention: s.Attention, Chunks: s.Chunks}
		u.opts.Without = s.Without
	}
	plan, r, err := compiler.Compile(u.opts)
	if err != nil {
		return nil, compileError(err, u.sources(r))
	}
	return plan, nil
}

// stackOf is the stack of a name or file; nil without one.
func (a *app) stackOf(name string) (*stack.Stack, error) {
	if name == "" {
		return nil, nil
	}
	if filepath.Ext(name) != ".json" {
		s, err := stack.Named(name)
		if err != nil {
			return nil, inputf("%w", err)
		}
		return s, nil
	}
	text, err := a.readText(name, stack.MaxBytes)
	if err != nil {
		return nil, err
	}
	s, err := stack.Load(text)
	if err != nil {
		return nil, inputf("%s: %w", name, err)
	}
	return s, nil
}

// options are what the flags say.
func (f *simulateFlags) options(p *program.Plan) (o forecast.Options, err error) {
	o.Sensitivity, o.Restart, o.How = f.sensitivity, f.restart.Seconds(), sim.How{Jitter: f.jitter, Seed: f.seed}
	if f.slow != 1 {
		if f.slowRank < 0 || f.slowRank >= p.Mesh.Ranks() {
			return o, usagef("--slow-rank is %d; the plan has the ranks 0 to %d", f.slowRank, p.Mesh.Ranks()-1)
		}
		o.Sim.Slow = map[int]float64{f.slowRank: f.slow}
	}
	return o, nil
}
