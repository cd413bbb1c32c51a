package compiler

import (
	"errors"
	"slices"
	"sync"
	"time"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/pipeline"
	"ptc/lang"
	"ptc/lang/syntax"
	"ptc/passes"
	"ptc/passes/pass"
	"ptc/passes/roll"
	"ptc/runtime/program"
	"ptc/stdlib"
)

// Prober compiles layouts of one source with one config, to see what each would take: memory, kernels and messages are those of
// [Compile], but there is no native code, and nothing is proved. What does not depend on the layout is done once. Only one
// goroutine at a time may use it; several probers of one source are independent.
type Prober struct {
	options   Options
	program   *lang.Program
	set       []lang.Override
	target    backend.Target
	schedules pipeline.Cache
	models    [2]*lang.Model // with instances of repeated modules omitted, and with all of them: made when needed
}

// NewProber reads the source of the options and lowers it for their config. Of the options it takes File, Source, Read,
// Tokenizer, Set, Target, Forms, Stack, Chunk, Parts and Without; a prober is for Target "ref" with the Forms of a machine's
// target, as `ptc simulate` compiles. The error is diagnostics of the source, as Compile's; the report has the text of
// sources for rendering them, and is never nil.
func NewProber(o Options) (*Prober, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	p := &Prober{options: o}
	var err error
	if p.set, err = overrides(o.Set); err != nil {
		return nil, r, err
	}
	program, list := lang.LoadWith(o.File, o.Source, o.Read, stdlib.Read)
	p.program, r.Source = program, program.Source
	if len(list) > 0 {
		return nil, r, list
	}
	if p.target, err = backend.Resolve(o.Target); err != nil {
		return nil, r, err
	}
	r.Target = p.target.Info().Name
	if _, err := p.model(true); err != nil {
		return nil, r, err
	}
	if o.Forms != "" {
		if _, err := backend.Resolve(o.Forms); err != nil {
			return nil, r, err
		}
	}
	return p, r, pinTokenizer(o, r, p.models[0].Module())
}

// model is the source lowered with the config, with or without what the language may omit.
func (p *Prober) model(omit bool) (*lang.Model, error) {
	i := 0
	if !omit {
		i = 1
	}
	if p.models[i] == nil {
		m, errs := p.program.LowerModel(lang.Options{Set: p.set, Omit: omit})
		if len(errs) > 0 {
			return nil, errs
		}
		p.models[i] = m
	}
	return p.models[i], nil
}

// Probed is what a layout takes.
type Probed struct {
	// Plan has the programs of the devices that were compiled, without code to run. Where the layout has a pipeline, these
	// are some of the devices along it: Plan.Devices[i].At says which.
	Plan *program.Plan
	// Stands is, for each device along the pipeline, the number in Plan.Devices of that which stands for it; nil without a
	// pipeline.
	Stands []int
	whole  func() *program.Plan
	// Remarks and Warnings are as Compile's, of what was compiled.
	Remarks  []pass.Remark
	Warnings []string
}

// Whole is the plan of all devices. Compile gives the same instructions, messages and tensors on each, but for names of kernels,
// tags, places in memory and code. A device for which another one stands has the arena of that: as large as its own or larger. It
// is made when it is first asked for, shares most of its memory with Plan, and is not to be changed.
func (p *Probed) Whole() *program.Plan { return p.whole() }

// Probe compiles the source under a layout, which need not be in it; nil is one device. The error is as Compile's under that
// layout.
func (p *Prober) Probe(l *syntax.Layout) (*Probed, error) {
	x, err := p.probe(l, true)
	var no errIrregular
	if errors.As(err, &no) {
		x, err = p.probe(l, false)
	}
	return x, err
}

// probe compiles some devices of a pipeline, or each.
func (p *Prober) probe(l *syntax.Layout, some bool) (*Probed, error) {
	low, err := p.under(l)
	if err != nil {
		return nil, err
	}
	r, m := &Report{}, low.Module
	c, err := p.run(r, m, some)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(memories(m, p.target), sizes(m)); err != nil {
		return nil, err
	}
	plan, err := assemble.Scheduled(m, p.target, nil)
	if err != nil {
		return nil, generated(err)
	}
	plan.Compiler, plan.Stats.ModelFlops = Version, r.mathematics
	plan.Config = (&lowered{p.program, p.set, low}).config()
	x := &Probed{Plan: plan, whole: func() *program.Plan { return plan }, Remarks: r.Remarks, Warnings: r.Warnings}
	if c.Stands != nil {
		e, err := expansionOf(plan, c.Stands)
		if err != nil {
			return nil, err
		}
		x.whole = sync.OnceValue(e.whole)
	}
	if len(plan.By) > 0 {
		x.Stands = standing(plan, c.Stands)
	}
	if large(plan) {
		if err := fits(x.Whole()); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// large reports whether a plan may exceed a limit of plans, so that it is worth looking.
func large(p *program.Plan) bool {
	const ranks, bytes, count = 1 << 22, 1 << 43, 1 << 20
	return p.Mesh.Ranks() > ranks || slices.ContainsFunc(p.Devices, func(d program.Device) bool {
		return max(d.Arena, d.Host, d.Disk) > bytes || slices.ContainsFunc(d.Progs, func(x program.Program) bool {
			return max(len(x.Instrs), len(x.Ticks), x.Micro) > count
		})
	})
}

// standing is, for each device along the pipeline, the number in p of that which stands for it.
func standing(p *program.Plan, s *pass.Stands) []int {
	var out []int
	for d := range p.Mesh.Parts(p.By) {
		if s != nil {
			d = slices.IndexFunc(p.Devices, func(x program.Device) bool { return x.At[0] == s.Of[d] })
		}
		out = append(out, d)
	}
	return out
}

// under is the model under a layout, with repeated modules written once.
func (p *Prober) under(l *syntax.Layout) (*lang.Result, error) {
	for _, omit := range []bool{true, false} {
		m, err := p.model(omit)
		if err != nil {
			return nil, err
		}
		res, errs := m.Under(l)
		if len(errs) > 0 && !omit {
			return nil, errs
		}
		if len(errs) > 0 { // mistakes are found in what is written
			continue
		}
		if len(res.Omitted) == 0 || roll.Complete(&pass.Context{Pass: "roll"}, res.Module, omitted(res)) {
			return res, nil
		}
	}
	panic("a model with all instances lacks some")
}

// run runs the passes.
func (p *Prober) run(r *Report, m *ir.Module, some bool) (*pass.Context, error) {
	c, err := contextOf(p.options, r, p.target)
	if err != nil {
		return nil, err
	}
	c.Representatives, c.Schedules = some, &p.schedules
	hook := func(_ int, name string, m *ir.Module, _ time.Duration) error {
		if f := m.Func("step"); name == "precision" && f != nil {
			r.mathematics = fusion.Mathematics(f)
		}
		return nil
	}
	err = passes.Run(c, m, &passes.Options{Hooks: []passes.Hook{hook}, Without: p.options.Without, Blind: true, Unproved: true})
	r.Remarks = append(r.Remarks, c.Remarks...)
	r.Warnings = append(r.Warnings, warnings(c.Remarks)...)
	if err == nil && c.Stands != nil && c.Stands.Irregular != "" {
		return nil, errIrregular{c.Stands.Irregular}
	}
	return c, classify(err)
}
