package assemble

import (
	"fmt"
	"slices"
	"strings"

	"ptc/backend"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/runtime/program"
)

// Plan builds the plan of m for target t.
func Plan(m *ir.Module, t backend.Target) (*program.Plan, error) { return Scheduled(m, t, nil) }

// Scheduled is Plan with kernels that are cut as given says. The plan has what was used
// of it.
func Scheduled(m *ir.Module, t backend.Target, given *schedule.Table) (*program.Plan, error) {
	if m.Level != ir.Planned {
		return nil, fmt.Errorf("assemble: the module is %s, not planned", m.Level)
	}
	p := &program.Plan{Name: m.Name, Target: t.Info().Name}
	for _, a := range m.Mesh {
		p.Mesh = append(p.Mesh, program.MeshAxis{Name: a.Name, Size: a.Size})
	}
	if t := m.MetaTerm("refined"); t != nil {
		for _, x := range t.Args {
			p.Refined = append(p.Refined, program.KV{Key: x.Key, Value: t.Args.Text(x.Key)})
		}
	}
	a := &assembler{plan: p, module: m, kernels: map[*ir.Func]int{}}
	if err := a.code(t, given); err != nil {
		return nil, err
	}
	p.By = a.by()
	a.meta()
	var err error
	p.Devices, err = a.devices()
	return p, err
}

type assembler struct {
	plan    *program.Plan
	module  *ir.Module
	kernels map[*ir.Func]int
}

// code generates the kernels.
func (a *assembler) code(t backend.Target, given *schedule.Table) error {
	var fns []*ir.Func
	for _, f := range a.module.Funcs {
		if f.Class == ir.Kernel {
			a.kernels[f] = len(fns)
			fns = append(fns, f)
		}
	}
	c, err := t.Generate(fns, given)
	if err != nil {
		return err
	}
	a.plan.Features, a.plan.LLVM, a.plan.Code, a.plan.Roof, a.plan.Variants = c.Features, c.Maker, c.Code, c.Roof, c.Variants
	for i, f := range fns {
		k := c.Kernels[i]
		k.Name, k.Class, k.IR = f.Name, f.Attrs.Text("kind"), ir.PrintFunc(f)
		k.Flops, k.Bytes, k.Factors = fusion.Flops(f), fusion.Moves(f), fusion.Factors(f)
		for _, x := range f.Args {
			k.Args = append(k.Args, program.Arg{Bytes: int64(x.Value.Type.Bytes())})
		}
		for _, r := range f.Results {
			k.Args = append(k.Args, program.Arg{Bytes: int64(r.Value.Type.Bytes()), Write: true})
		}
		a.plan.Kernels = append(a.plan.Kernels, k)
	}
	return a.schedules(fns, given)
}

// schedules notes what is given for a kernel, or for a section of one, in the order of
// keys.
func (a *assembler) schedules(fns []*ir.Func, given *schedule.Table) error {
	if given == nil {
		return nil
	}
	used := map[string]bool{}
	for _, f := range fns {
		k, err := fusion.Analyze(f)
		if err != nil {
			return fmt.Errorf("assemble: kernel @%s: %w", f.Name, err)
		}
		for _, part := range k.Apart() {
			used[fusion.Key(part.F)] = true
		}
	}
	for _, key := range given.Keys() {
		if s, _ := given.Of(key); used[key] {
			a.plan.Schedules = append(a.plan.Schedules, program.KV{Key: key, Value: s.String()})
		}
	}
	return nil
}

// meta copies what the module says of the whole: layout, config, data.
func (a *assembler) meta() {
	m, p := a.module, a.plan
	p.Layout = layout.Of(m).Name
	for _, r := range layout.All[*layout.Device](layout.Of(m)) {
		p.Memory = r.Memory
	}
	if t := m.MetaTerm("config"); t != nil {
		p.Config = pairs(t.Args)
	}
	if t := m.MetaTerm("data"); t != nil {
		p.Data.Kind = t.Args.Text("kind")
		p.Data.Options = pairs(t.Args, "kind", "sources")
		for i, s := range t.Args.Terms("sources") { // of a mixture
			for _, kv := range pairs(s.Args) {
				p.Data.Options = append(p.Data.Options, program.KV{Key: fmt.Sprintf("%d.%s", i+1, kv.Key), Value: kv.Value})
			}
		}
	}
	if t := m.MetaTerm("train"); t != nil {
		p.Data.Steps, p.Data.Epochs, p.Data.EvalEvery = t.Args.Int("steps", 0), t.Args.Int("epochs", 0), t.Args.Int("eval_every", 0)
		for _, s := range t.Args.Terms("stop") {
			p.Data.Stop = &program.Stop{On: s.Args.Text("on"), Most: s.Args.Bool("highest"), Patience: s.Args.Int("patience", 1), Least: s.Args.Float("least", 0)}
		}
	}
	p.Data.Averages = averages(m)
	if t := m.MetaTerm("adapters"); t != nil {
		for _, r := range t.Args.Terms("rules") {
			p.Adapters = append(p.Adapters, program.Adapter{On: strings.Split(r.Args.Text("on"), ", "), Scale: r.Args.Float("scale", 1)})
		}
	}
	if t := m.MetaTerm("stats"); t != nil {
		p.Stats.OpsBeforeFusion = int(t.Args.Int("ops", 0))
	}
	for _, f := range m.Funcs {
		if name := programName(f); name == "step" || name == "sample" {
			a.stats(f)
		}
	}
}

// stats adds up the work of a step and the tokens of a batch.
func (a *assembler) stats(f *ir.Func) {
	m, p := a.module, a.plan
	for _, o := range f.Ops {
		if !op.Has(o, op.Calls) {
			continue
		}
		flops := float64(p.Kernels[a.kernels[o.Callee]].Flops) * float64(f.TimesOf(o))
		if o.First != nil { // in the first tick, in its place
			flops += float64(p.Kernels[a.kernels[o.First]].Flops-p.Kernels[a.kernels[o.Callee]].Flops) * float64(o.Times())
		}
		p.Stats.FlopsPerStep += flops * float64(p.Copies())
	}
	for _, x := range f.Args {
		if x.Role == ir.RoleData {
			n := int64(1)
			for _, g := range axesOf(m, x.Value.Type) {
				n *= int64(g.Global)
			}
			p.Stats.TokensPerStep = max(p.Stats.TokensPerStep, n)
		}
	}
}

// pairs are attributes as text; strings lose their quotes.
func pairs(attrs ir.Attrs, without ...string) []program.KV {
	var out []program.KV
	for _, x := range attrs {
		if slices.Contains(without, x.Key) {
			continue
		}
		v := x.Val.String()
		if s, ok := x.Val.(ir.Str); ok {
			v = string(s)
		}
		out = append(out, program.KV{Key: x.Key, Value: v})
	}
	return out
}

// devices builds the program that every device runs, or one for each stage of
// a pipeline.
func (a *assembler) devices() ([]program.Device, error) {
	stages := map[int]*device{}
	var order []*device
	for _, f := range a.module.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		stage, staged := f.Stage.Get()
		d := stages[stage]
		if d == nil {
			d = &device{assembler: a, index: map[string]int{}, tensors: map[string]bool{}}
			if staged && len(a.plan.By) > 0 {
				d.At = []int{stage}
			}
			d.Arena, d.Host, d.Disk = f.Attrs.Int("arena", 0), f.Attrs.Int(ir.Host.String(), 0), f.Attrs.Int(ir.Disk.String(), 0)
			stages[stage] = d
			order = append(order, d)
		}
		if err := d.entry(f); err != nil {
			return nil, fmt.Errorf("assemble: @%s: %w", f.Name, err)
		}
	}
	var out []program.Device
	for _, d := range order {
		out = append(out, d.Device)
	}
	return out, nil
}

// by is the mesh axis of a pipeline, along which devices have programs of their own;
// none where there is no pipeline.
func (a *assembler) by() []string {
	staged := false
	for _, f := range a.module.Funcs {
		_, ok := f.Stage.Get()
		staged = staged || ok && f.Class == ir.Entry
	}
	if !staged {
		return nil
	}
	for _, f := range a.module.Funcs {
		for _, o := range f.Ops {
			if op.Has(o, op.Message) {
				return o.Attrs.Names("over")[:1]
			}
		}
	}
	return nil
}

// programName is the program that an entry function is, or is a stage of.
func programName(f *ir.Func) string {
	if of := f.Of; of != "" {
		return of
	}
	return f.Name
}

func spaceOf(role string) program.Space {
	switch role {
	case ir.RoleParam:
		return program.Params
	case ir.RoleState:
		return program.Optimizer
	}
	return program.Inputs
}

// axesOf are the axes of a tensor with their sizes here and as a whole.
func axesOf(m *ir.Module, t ir.Type) []program.Axis {
	var out []program.Axis
	for _, x := range t.Axes {
		n := x.Size
		for _, mesh := range x.Mesh {
			n *= m.MeshSize(mesh)
		}
		out = append(out, program.Axis{Name: x.Name, Size: x.Size, Global: n, Mesh: x.Mesh})
	}
	return out
}
