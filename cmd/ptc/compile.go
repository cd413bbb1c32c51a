package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

type compileFlags struct {
	sourceFlags
	output     string
	dump       string
	printAfter []string
	schedules  string
	verifyEach bool
	sample     bool
	quiet      bool
	verbose    bool
}

func newCompile(a *app) *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile FILE [-o PLAN] [--layout NAME] [--set name=value]... [--target TARGET]",
		Short: "Compile a model to a plan",
		Long: `Compile a model, its training and one of its layouts to a plan: a single file
that "ptc run" executes and "ptc explain" describes, with nothing else beside it.

The same inputs give a byte-identical plan on any machine, for the same target.
Without -o the plan is written to the current folder, under the source's name
with the extension .bin. Nothing is written if there is an error.

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
	f.addPorts(cmd)
	fl.StringVar(&f.schedules, "schedules", "", "cut kernels as `FILE` says, which \"ptc tune\" writes")
	fl.BoolVar(&f.sample, "sample", false, "make a plan that \"ptc sample\" uses as it is, in place of one that trains")
	fl.BoolVar(&f.verifyEach, "verify-each", false, "verify the IR after each pass")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "do not say what was compiled")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "also say how long each pass took")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	cmd.MarkFlagsMutuallyExclusive("port", "sample")
	complete(cmd, "print-after", func([]string) []string { return printable() })
	return cmd
}

// printable lists what --print-after takes.
func printable() []string { return append([]string{"all", "lower"}, passNames()...) }

func (a *app) compile(path string, f *compileFlags) error {
	for _, name := range f.printAfter {
		if err := (&choice{words: printable()}).Set(name); err != nil {
			return usagef("unknown pass `%s` for --print-after: %w", name, err)
		}
	}
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
	d := &dumper{app: a, dir: f.dump, printAfter: f.printAfter}
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

// dumper writes and prints the IR as it changes. The compiler takes a hook's
// error for a fault of its own, so that the first one is kept here.
type dumper struct {
	app        *app
	dir        string
	printAfter []string
	err        error
}

func (d *dumper) wanted() bool { return d.dir != "" || len(d.printAfter) > 0 }

func (d *dumper) hook(index int, name string, text func() string, _ time.Duration) error {
	if d.dir != "" {
		d.err = d.dump(fmt.Sprintf("%02d-%s.ptir", index, name), text())
	}
	if d.err == nil && (slices.Contains(d.printAfter, name) || slices.Contains(d.printAfter, "all")) {
		head := ""
		if len(d.printAfter) > 1 || d.printAfter[0] == "all" {
			head = fmt.Sprintf("// ---- %02d-%s\n", index, name)
		}
		d.err = d.app.print(head + text())
	}
	return d.err
}

func (d *dumper) dump(name, text string) error {
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return fileError(wrapWrite(d.dir, err))
	}
	return d.app.writeFile(filepath.Join(d.dir, name), []byte(text))
}
