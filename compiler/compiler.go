package compiler

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ptc/backend"
	"ptc/backend/assemble"
	_ "ptc/backend/cpu" // registers itself
	"ptc/backend/cpu/llvm"
	_ "ptc/backend/gpu" // registers itself
	_ "ptc/backend/ref" // registers itself
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/targetinfo"
	"ptc/ir/verify"
	"ptc/lang"
	"ptc/passes"
	"ptc/passes/pass"
	"ptc/passes/roll"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/stdlib"
)

// Version is ptc's version; the build sets it.
var Version = "0.1.0-dev"

// EnvVerify is the environment variable that turns on Options.VerifyEach for every
// compilation. `make test` sets it, so that every test that compiles also finds the
// first pass that leaves an invalid module.
const EnvVerify = "PTC_VERIFY_EACH"

var verifyAlways = os.Getenv(EnvVerify) != ""

// Options say what to compile, for what, and who watches.
type Options struct {
	File   string // name of the main file as the user gave it
	Source []byte
	// Read reads a file that the main file imports; its path is relative to
	// where the main file's path is.
	Read func(path string) ([]byte, error)
	// Tokenizer reads the file of a tokenizer that the data names, by its path from
	// the main file's folder; nil: it is not looked at.
	Tokenizer func(path string) ([]byte, error)
	Set       []string // "key=value" replacements of config entries
	// Ports are config entries that the plan is told when it runs, in place of constants.
	// Those of which more than arithmetic depends are constants all the same; the report
	// says which, and why. A plan that samples has none.
	Ports []string
	// Layout is the layout's name; empty for the file's first.
	Layout string
	// Target is cpu, ref, or a full name; empty for the best there is here.
	Target string
	// VerifyEach verifies the module after every pass. The environment variable
	// [EnvVerify] turns it on for every compilation of the process.
	VerifyEach bool
	// CheckMemory is how many bytes Check may take: sizes that need more are an error. 0: no
	// matter how many.
	CheckMemory int64
	// Chunk, where it is not nil, says in the place of the target which products are done
	// for some rows at a time.
	Chunk *targetinfo.Chunk
	// Parts, where it is not nil, says in the place of the target into how many parts the
	// sum of a product is cut.
	Parts func(product *fusion.Kernel) int64
	// Schedules, where it is not nil, says how kernels are cut, as `ptc tune` found it.
	Schedules *schedule.Table
	// Sample, where it is not nil, asks for a plan that samples in place of one that trains.
	Sample *Sample
	// plan is whose library and config hold instead of the library of this ptc
	// and of Set; nil for a compilation from files.
	plan *program.Plan
	// Forms is the target whose kernels and memory the plan has, where it is not Target: one of
	// the reference, for which no code is made, then says what one of another target needs, and
	// plans of two targets can be compared kernel by kernel.
	Forms string
	// Stack is other software whose kernels the plan has; nil: ptc's own.
	Stack *Stack
	// Without are passes to leave out, none of which is required.
	Without []string
	// Stop is the last pass to run, and Compile then makes no plan; empty for all passes.
	Stop string
	// Why is a pass whose reasons for what it did not do the report has; empty for none.
	Why string
	// Rewrites limits what passes rewrite; nil allows everything.
	Rewrites *pass.Rewrites
	// Hooks see the lowered module (index 0) and that after each pass.
	Hooks []Hook
}

// Stack says which kernels other software has for a model, to predict what it takes there. Such a plan computes the
// same numbers.
type Stack struct {
	// Join reports whether one kernel may hold a producer and its consumer.
	Join func(producer, consumer *ir.Op) bool
	// Attention says that attention is a kernel, and Chunks that the loss is computed some rows at a time.
	Attention, Chunks bool
}

// Hook sees the module after a pass: the pass's index in the table and name,
// the module's text on demand, and how long the pass took.
type Hook func(index int, name string, text func() string, took time.Duration) error

// Report is what a compilation says besides the plan.
type Report struct {
	Target   string
	Layout   string
	Params   int // parameters: tensors and elements
	Elements int
	Warnings []string
	Static   []Static // of the ports that were asked for
	Remarks  []pass.Remark
	Reasons  []pass.Remark // of the pass Options.Why
	Stages   []Stage
	Total    time.Duration
	// mathematics is the FLOPs of a step before any is rematerialized.
	mathematics float64
	// parted are the products that were asked about in how many parts they are summed, where
	// schedules are given.
	parted []string
	// Source is the text of a source that was read, for rendering errors. It is
	// set also when the compilation fails.
	Source func(file string) (string, bool)
}

// Static is a config entry that cannot be a port, and why, as "changes shapes m.ptl:3:4".
type Static struct{ Name, Why string }

// String is a sentence about it.
func (s Static) String() string { return "`" + s.Name + "` " + s.Why + ": compiled for each value" }

// Stage is the time of one part of a compilation.
type Stage struct {
	Name string
	Took time.Duration
}

// Bug is an error of ours: not the user's, not the machine's.
type Bug struct{ Err error }

func (b *Bug) Error() string { return b.Err.Error() }
func (b *Bug) Unwrap() error { return b.Err }

// Compile makes a plan, or none where Options.Stop names a pass. The error is diagnostics of the user's
// sources, what the target cannot do, or a *Bug. The report is never nil.
func Compile(o Options) (*program.Plan, *Report, error) {
	start := time.Now()
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	t, err := backend.Resolve(o.Target)
	if err != nil {
		return nil, r, err
	}
	r.Target = t.Info().Name
	if err := scheduled(o.Schedules, t); err != nil {
		return nil, r, err
	}
	m := low.result.Module
	if err := pinTokenizer(o, r, m); err != nil {
		return nil, r, err
	}
	pinNumbers(r, m)
	if err := runPasses(o, r, m, t, nil); err != nil {
		return nil, r, err
	}
	if o.Stop != "" {
		r.Total = time.Since(start)
		return nil, r, nil
	}
	began := time.Now()
	if bad := verify.Module(m); len(bad) > 0 {
		return nil, r, &Bug{fmt.Errorf("the finished module is invalid: %w", bad)}
	}
	r.stage("verify", began)
	if err := errors.Join(memories(m, t), sizes(m)); err != nil {
		return nil, r, err
	}
	began = time.Now()
	p, err := assemble.Scheduled(m, t, o.Schedules)
	if err != nil {
		return nil, r, generated(err)
	}
	r.stage("code", began)
	noteParts(p, o.Schedules, r.parted)
	if len(o.Schedules.Keys()) > 0 && len(p.Schedules) == 0 {
		r.Warnings = append(r.Warnings, "none of the schedules is of a kernel of this plan")
	}
	if text := explain.IdleWarning(p); text != "" {
		r.Warnings = append(r.Warnings, text)
	}
	finish(p, low, r)
	if err := fits(p); err != nil {
		return nil, r, err
	}
	r.Total = time.Since(start)
	return p, r, nil
}

func (r *Report) stage(name string, began time.Time) {
	r.Stages = append(r.Stages, Stage{name, time.Since(began)})
}

// finish adds what only the compiler knows.
func finish(p *program.Plan, low *lowered, r *Report) {
	p.Compiler, p.Stats.ModelFlops = Version, r.mathematics
	p.Sources = low.sources()
	p.Names = planNames(low.result.Names)
	p.Config = low.config()
	p.Settings, p.Guards = low.settings()
	for _, s := range r.Stages {
		if passes.Index(s.Name) > 0 {
			p.Passes = append(p.Passes, s.Name)
		}
	}
	for _, x := range r.Remarks {
		k := program.Remark{Pass: x.Pass, Scope: x.Scope, Text: x.Text}
		if x.Pos.IsValid() {
			k.Pos = x.Pos.String()
		}
		p.Remarks = append(p.Remarks, k)
	}
}

type lowered struct {
	program *lang.Program
	set     []lang.Override
	result  *lang.Result
}

// lower runs the front end.
func lower(o Options, r *Report) (*lowered, error) {
	began := time.Now()
	set, err := overrides(o.Set)
	if err != nil {
		return nil, err
	}
	library := stdlib.Read
	if o.plan != nil {
		library = planLibrary(o.plan)
	}
	p, errs := lang.LoadWith(o.File, o.Source, o.Read, library)
	if o.plan != nil {
		set = planConfig(o.plan, p)
	}
	r.Source = p.Source
	if len(errs) > 0 {
		return nil, errs
	}
	rolled := &pass.Context{Pass: "roll"}
	var res *lang.Result
	if with := (lang.Options{Set: set, Layout: o.Layout, Ports: o.Ports}); o.Sample != nil {
		with.Ports = nil
		res, errs = lowerSample(p, with, o.Sample, r)
	} else {
		res, errs = lowerOnce(p, with, rolled)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	r.Layout, r.Params, r.Elements = res.Layout, res.Params, res.Elems
	for _, u := range res.Unused {
		r.Warnings = append(r.Warnings, "the loss does not read parameter `"+u+"`: it is not trained")
	}
	r.Warnings = append(r.Warnings, res.Warnings...)
	for _, s := range res.Static {
		r.Static = append(r.Static, Static(s))
	}
	for _, s := range res.Remarks {
		r.Remarks = append(r.Remarks, pass.Remark{Pass: "lower", Text: s})
	}
	r.Remarks = append(r.Remarks, rolled.Remarks...)
	r.stage("lower", began)
	return &lowered{p, set, res}, nil
}

// lowerOnce lowers each of the repeated modules that are alike once, as the pass roll
// writes them: what the language omits is in stacks, or the program is lowered with
// every instance written, and left to that pass.
func lowerOnce(p *lang.Program, o lang.Options, rolled *pass.Context) (*lang.Result, diag.List) {
	o.Omit = true
	r, errs := p.Lower(o)
	if len(errs) > 0 || len(r.Omitted) == 0 {
		return r, errs
	}
	if roll.Complete(rolled, r.Module, omitted(r)) {
		return r, nil
	}
	rolled.Remarks = nil
	o.Omit = false
	return p.Lower(o)
}

// omitted is what the functions of a module lack, for the pass roll.
func omitted(r *lang.Result) (out []roll.Omitted) {
	for _, x := range r.Omitted {
		out = append(out, roll.Omitted{Func: x.Func, List: x.List, From: x.From, To: x.To})
	}
	return out
}

// overrides splits "key=value" pairs.
func overrides(set []string) ([]lang.Override, error) {
	var out []lang.Override
	for _, s := range set {
		k, v, ok := strings.Cut(s, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, &diag.Error{Code: "E0505", Msg: fmt.Sprintf("`%s` is not an override", s), Want: "name=value"}
		}
		out = append(out, lang.Override{Key: k, Value: strings.TrimSpace(v)})
	}
	return out, nil
}

// described is what passes may know of a target.
func described(t backend.Target) pass.Target {
	return pass.Target{Info: t.Info(), Attention: true, Unfit: t.Unfit}
}

// contextOf is what passes know of target t, and of the options.
func contextOf(o Options, r *Report, t backend.Target) (*pass.Context, error) {
	c := &pass.Context{Target: described(t), Why: o.Why, Rewrites: o.Rewrites}
	if o.Forms != "" {
		like, err := backend.Resolve(o.Forms)
		if err != nil {
			return nil, err
		}
		d := like.Info()
		c.Target.Unfit, c.Target.Chunk, c.Target.Rows, c.Target.Block = like.Unfit, d.Chunk, d.Rows, d.Block
		t = like
	}
	if s := o.Stack; s != nil {
		c.Target.Join, c.Target.Attention = s.Join, s.Attention
		if !s.Chunks {
			c.Target.Chunk = targetinfo.Chunk{}
		}
	}
	c.Target.Parts = func(k *fusion.Kernel) int64 {
		if o.Schedules != nil {
			r.parted = append(r.parted, fusion.Key(k.F))
		}
		return t.Parts(k, o.Schedules)
	}
	if o.Parts != nil {
		c.Target.Parts = o.Parts
	}
	if o.Chunk != nil {
		c.Target.Chunk = *o.Chunk
	}
	return c, nil
}

// runPasses runs the table for target t.
func runPasses(o Options, r *Report, m *ir.Module, t backend.Target, more []passes.Hook) error {
	c, err := contextOf(o, r, t)
	if err != nil {
		return err
	}
	hooks := append([]passes.Hook(nil), more...)
	for _, h := range o.Hooks {
		hooks = append(hooks, func(i int, name string, m *ir.Module, took time.Duration) error {
			return h(i, name, func() string { return ir.Print(m) }, took)
		})
	}
	hooks = append(hooks, func(i int, name string, m *ir.Module, took time.Duration) error {
		if f := m.Func("step"); name == "precision" && f != nil { // before anything is rematerialized or split
			r.mathematics = fusion.Mathematics(f)
		}
		if i > 0 {
			r.Stages = append(r.Stages, Stage{name, took})
		}
		return nil
	})
	err = passes.Run(c, m, &passes.Options{VerifyEach: o.VerifyEach || verifyAlways, Hooks: hooks, Without: o.Without, Stop: o.Stop,
		Blind: len(o.Hooks) == 0 && len(more) == 0 && o.Why == ""})
	r.Remarks = append(r.Remarks, c.Remarks...)
	r.Reasons = append(r.Reasons, c.Reasons...)
	r.Warnings = append(r.Warnings, warnings(c.Remarks)...)
	return classify(err)
}

// generated marks what goes wrong in making code as a bug, but for the want of
// libLLVM and what a target cannot do.
func generated(err error) error {
	if _, ok := diag.As(err); ok || errors.Is(err, llvm.ErrNone) || errors.Is(err, llvm.ErrNotFound) {
		return err
	}
	return &Bug{err}
}

// classify marks errors that are not the user's as bugs.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := err.(*passes.Broken); ok {
		return &Bug{broken}
	}
	if _, ok := diag.As(err); ok {
		return err
	}
	return &Bug{err}
}
