package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

type compileFlags struct {
	sourceFlags
	output      string
	dump        string
	printAfter  []string
	printBefore []string
	kernels     string
	without     []string
	stop        string
	why         string
	cpuProfile  string
	memProfile  string
	schedules   string
	verifyEach  bool
	sample      bool
	quiet       bool
	verbose     bool
}

func newCompile(a *app) *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile FILE [-o PLAN] [--layout NAME] [--set name=value]... [--target TARGET]",
		Short: "Compile a model to a plan",
		Long: `Compile a model, its training and one of its layouts to a plan: a single
self-contained file that "ptc run" executes and "ptc explain" describes.

The same inputs give a byte-identical plan on any machine, for the same target.
Without -o the plan is written to the current folder, under the source's name
with the extension .bin. If there is an error, nothing is written.

Passes, in order, for --print-after and as names of dumps:
` + passTable(),
		Example: `  ptc compile examples/gpt/gpt.ptl -o plan.bin
  ptc compile gpt.ptl --layout single --set layers=12 --set embed=768
  ptc compile gpt.ptl --target ref
  ptc compile gpt.ptl --port lr,decay && ptc run gpt.bin --set lr=1e-3
  ptc compile gpt.ptl --dump-ir ir/ --verify-each
  ptc compile gpt.ptl --print-after fuse | less`,
		Args:              exactly("FILE"),
		ValidArgsFunction: completeFiles("ptl"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.compile(args[0], &f) },
	}
	f.sourceFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "write the plan to `PLAN` (default FILE's name with .bin, in the current folder)")
	fl.StringVar(&f.dump, "dump-ir", "", "write the IR after each pass to `DIR`/NN-pass.ptir; 00- is the lowered source")
	fl.StringSliceVar(&f.printAfter, "print-after", nil, "print the IR after `PASS`, or after every pass with all")
	fl.StringSliceVar(&f.printBefore, "print-before", nil, "print the IR before `PASS`")
	fl.StringVar(&f.kernels, "dump-kernels", "", "write the forms of each kernel to `DIR`/NAME.*: IR, tile program, loop form, LLVM IR or PTX, assembly, and the disassembly of its code in the plan")
	fl.StringSliceVar(&f.without, "disable-pass", nil, "leave out `PASS`, an optional optimization")
	fl.StringVar(&f.stop, "stop-after", "", "stop after `PASS`, without a plan")
	fl.StringVar(&f.why, "why", "", "print what `PASS` decided, and why it left the rest unchanged: reasons of simplify, context, cleanup, regroup, remat, propagate, collectives, chunk, fuse, overlap, memory")
	fl.StringVar(&f.cpuProfile, "cpuprofile", "", "write where the compiler's processor time goes to `FILE`, for go tool pprof")
	fl.StringVar(&f.memProfile, "memprofile", "", "write what the compiler allocates to `FILE`, for go tool pprof")
	f.addPorts(cmd)
	fl.StringVar(&f.schedules, "schedules", "", "tile kernels by the schedules in `FILE`, from \"ptc tune\"")
	fl.BoolVar(&f.sample, "sample", false, "make a plan for \"ptc sample\" instead of one that trains")
	fl.BoolVar(&f.verifyEach, "verify-each", false, "verify the IR after each pass")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print no summary")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "also print the time of each pass")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	cmd.MarkFlagsMutuallyExclusive("port", "sample")
	cmd.MarkFlagsMutuallyExclusive("stop-after", "output")
	cmd.MarkFlagsMutuallyExclusive("stop-after", "dump-kernels")
	complete(cmd, "print-after", func([]string) []string { return printable() })
	for _, name := range []string{"print-before", "disable-pass", "stop-after", "why"} {
		complete(cmd, name, func([]string) []string { return passNames() })
	}
	return cmd
}

// printable lists what --print-after takes.
func printable() []string { return append([]string{"all", "lower"}, passNames()...) }

func (a *app) compile(path string, f *compileFlags) error {
	if err := f.passesExist(); err != nil {
		return err
	}
	stop, err := a.profiles(f.cpuProfile, f.memProfile)
	if err != nil {
		return err
	}
	err = a.compileTo(path, f)
	if bad := stop(); err == nil {
		err = bad
	}
	return err
}

// passesExist says which pass of a flag there is not.
func (f *compileFlags) passesExist() error {
	for _, of := range []struct {
		flag         string
		names, words []string
	}{{"print-after", f.printAfter, printable()}, {"print-before", f.printBefore, passNames()}, {"disable-pass", f.without, passNames()},
		{"stop-after", []string{f.stop}, passNames()}, {"why", []string{f.why}, passNames()}} {
		for _, name := range of.names {
			if err := (&choice{words: of.words}).Set(name); err != nil && name != "" {
				return usagef("unknown pass `%s` for --%s: %w", name, of.flag, err)
			}
		}
	}
	return nil
}

// compileTo compiles, and writes what the flags name.
func (a *app) compileTo(path string, f *compileFlags) error {
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return err
	}
	f.apply(&u.opts)
	u.opts.VerifyEach = f.verifyEach
	if f.sample {
		u.opts.Sample = &compiler.Sample{}
	}
	if f.schedules != "" {
		if u.opts.Schedules, err = a.readSchedules(f.schedules); err != nil {
			return err
		}
	}
	u.opts.Without, u.opts.Stop, u.opts.Why = f.without, f.stop, f.why
	d := &dumper{app: a, dir: f.dump, printAfter: f.printAfter, printBefore: f.printBefore, without: f.without}
	if d.wanted() {
		u.opts.Hooks = []compiler.Hook{d.hook}
	}
	collectLess()
	plan, r, err := compiler.Compile(u.opts)
	if d.err != nil {
		return d.err
	}
	if err != nil {
		return compileError(err, u.sources(r))
	}
	for _, w := range r.Warnings {
		a.message("warning", w)
	}
	for _, s := range r.Static {
		a.message("warning", "no port: "+s.String())
	}
	if err := a.reasons(f.why, r); err != nil || plan == nil {
		return err
	}
	if f.kernels != "" {
		if err := a.dumpKernels(f.kernels, plan); err != nil {
			return err
		}
	}
	return a.writePlan(path, f, u, plan, r)
}

// reasons prints what a pass decided, and then what it did not do.
func (a *app) reasons(why string, r *compiler.Report) error {
	var b strings.Builder
	for _, x := range r.Remarks {
		if x.Pass == why && why != "" {
			b.WriteString(x.String() + "\n")
		}
	}
	for _, x := range r.Reasons {
		b.WriteString(x.String() + "\n")
	}
	return a.print(b.String())
}

// dumpKernels writes a file for each form of each kernel.
func (a *app) dumpKernels(dir string, p *program.Plan) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(wrapWrite(dir, err))
	}
	missing := ""
	for i := range p.Kernels {
		forms, err := compiler.Forms(p, &p.Kernels[i])
		if err != nil {
			return err
		}
		for _, x := range forms {
			if x.Missing != "" {
				missing = fmt.Sprintf("%s/*.%s are left out: %s", dir, x.Kind, x.Missing)
				continue
			}
			if err := a.writeFile(filepath.Join(dir, p.Kernels[i].Name+"."+x.Kind), []byte(x.Text)); err != nil {
				return err
			}
		}
	}
	if missing != "" {
		a.message("note", missing)
	}
	return nil
}

// writePlan writes the plan, and says what it is.
func (a *app) writePlan(path string, f *compileFlags, u *unit, plan *program.Plan, r *compiler.Report) error {
	data, err := program.EncodeValid(plan)
	if errors.Is(err, program.ErrTooLarge) {
		return inputf("%w", &diag.Error{Code: "E0618", Msg: fmt.Sprintf("the plan of %s is too large", path),
			Want: "at most " + units.Bytes(program.MaxBytes), Hint: "use fewer layers, microbatches or stages"})
	} else if err != nil {
		return err // the compiler made an invalid plan
	}
	output := f.output
	if output == "" {
		output = strings.TrimSuffix(u.opts.File, filepath.Ext(u.opts.File)) + ".bin"
	}
	if err := keepsInputs(output, path); err != nil {
		return err
	}
	if err := a.writeFile(output, data); err != nil {
		return err
	}
	if !f.quiet && a.telling.forPeople() {
		fmt.Fprint(a.err, compileSummary(path, output, len(data), plan, r, f.verbose))
	}
	return nil
}

// compiled compiles a source for a command that needs its plan once, and warns of what the compiler does.
func (a *app) compiled(path string, f sourceFlags) (*program.Plan, error) {
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return nil, err
	}
	f.apply(&u.opts)
	plan, r, err := compiler.Compile(u.opts)
	if err != nil {
		return nil, compileError(err, u.sources(r))
	}
	if rank, _ := launched(); rank == 0 {
		for _, w := range r.Warnings {
			a.message("warning", w)
		}
	}
	return plan, nil
}

// collectLess has garbage collected at nine times the live memory instead of twice,
// unless GOGC says when: GPT of 1T on 3,072 devices takes some 4 to 5.5 seconds of processor
// time and up to 1.7 GB, where at twice it would take 6.5 and 0.4 GB.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}

func compileSummary(path, output string, size int, p *program.Plan, r *compiler.Report, timings bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s (%s)\n", path, output, units.Bytes(int64(size)))
	b.WriteString(explain.Overview(p))
	fmt.Fprintf(&b, "  %-11s %s\n", "compiled in", units.Duration(r.Total))
	if timings {
		for _, s := range r.Stages {
			fmt.Fprintf(&b, "    %-11s %8s  %4.1f%%\n", s.Name, units.Duration(s.Took), 100*float64(s.Took)/float64(max(r.Total, 1)))
		}
	}
	return b.String()
}
