package assemble

import (
	"fmt"
	"strconv"

	"ptc/backend"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/runtime/program"
)

// Plan builds the plan of m for target t.
func Plan(m *ir.Module, t backend.Target) (*program.Plan, error) {
	if m.Level != ir.Planned {
		return nil, fmt.Errorf("assemble: the module is %s, not planned", m.Level)
	}
	p := &program.Plan{Name: m.Name, Target: t.Name()}
	for _, a := range m.Mesh {
		p.Mesh = append(p.Mesh, program.MeshAxis{Name: a.Name, Size: a.Size})
	}
	if t := m.MetaTerm("refined"); t != nil {
		for _, x := range t.Args {
			p.Refined = append(p.Refined, program.KV{Key: x.Key, Value: t.Args.Text(x.Key)})
		}
	}
	a := &assembler{plan: p, module: m, kernels: map[*ir.Func]int{}}
	if err := a.code(t); err != nil {
		return nil, err
	}
	a.meta()
	p.Devices = a.devices()
	return p, nil
}

type assembler struct {
	plan    *program.Plan
	module  *ir.Module
	kernels map[*ir.Func]int
}

// code generates the kernels.
func (a *assembler) code(t backend.Target) error {
	var fns []*ir.Func
	for _, f := range a.module.Funcs {
		if f.Class == ir.Kernel {
			a.kernels[f] = len(fns)
			fns = append(fns, f)
		}
	}
	c, err := t.Generate(fns)
	if err != nil {
		return err
	}
	a.plan.Features, a.plan.LLVM, a.plan.Code = c.Features, c.Maker, c.Code
	for i, f := range fns {
		k := c.Kernels[i]
		k.Name, k.Class, k.IR = f.Name, f.Attrs.Text("kind"), ir.PrintFunc(f)
		for _, o := range f.Ops {
			k.Flops += op.Of(o).Flops(o)
		}
		for _, x := range f.Args {
			k.Args = append(k.Args, program.Arg{Bytes: int64(x.Value.Type.Bytes())})
		}
		for _, r := range f.Results {
			k.Args = append(k.Args, program.Arg{Bytes: int64(r.Value.Type.Bytes()), Write: true})
		}
		for _, x := range k.Args {
			k.Bytes += x.Bytes
		}
		a.plan.Kernels = append(a.plan.Kernels, k)
	}
	return nil
}

// meta copies what the module says of the whole: layout, config, data.
func (a *assembler) meta() {
	m, p := a.module, a.plan
	p.Layout = layout.Of(m).Name
	if t := m.MetaTerm("config"); t != nil {
		p.Config = pairs(t.Args, "")
	}
	if t := m.MetaTerm("data"); t != nil {
		p.Data.Kind = t.Args.Text("kind")
		p.Data.Options = pairs(t.Args, "kind")
	}
	if t := m.MetaTerm("train"); t != nil {
		p.Data.Steps, p.Data.EvalEvery = t.Args.Int("steps", 0), t.Args.Int("eval_every", 0)
	}
	if t := m.MetaTerm("stats"); t != nil {
		p.Stats.OpsBeforeFusion = int(t.Args.Int("ops", 0))
	}
	for _, f := range m.Funcs {
		if programName(f) == "step" {
			a.stats(f)
		}
	}
}

// stats adds up the work of a step and the tokens of a batch.
func (a *assembler) stats(f *ir.Func) {
	m, p := a.module, a.plan
	copies := float64(len(a.ranks(int64(f.Stage.Or(-1)))))
	for _, o := range f.Ops {
		if op.Has(o, op.Calls) {
			p.Stats.FlopsPerStep += float64(p.Kernels[a.kernels[o.Callee]].Flops) * copies
		}
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
func pairs(attrs ir.Attrs, without string) []program.KV {
	var out []program.KV
	for _, x := range attrs {
		if x.Key == without {
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
func (a *assembler) devices() []program.Device {
	stages := map[int64]*device{}
	var order []*device
	for _, f := range a.module.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		stage := int64(f.Stage.Or(-1))
		d := stages[stage]
		if d == nil {
			d = &device{assembler: a, index: map[string]int{}, tensors: map[string]bool{}, started: map[*ir.Value]int{}}
			d.Ranks = a.ranks(stage)
			d.Arena, d.Host, d.Disk = f.Attrs.Int("arena", 0), f.Attrs.Int(ir.Host.String(), 0), f.Attrs.Int(ir.Disk.String(), 0)
			stages[stage] = d
			order = append(order, d)
		}
		d.entry(f)
	}
	var out []program.Device
	for _, d := range order {
		out = append(out, d.Device)
	}
	return out
}

// ranks are the devices of a pipeline's stage; all where there is none (below
// 0).
func (a *assembler) ranks(stage int64) []int {
	axis := a.pipelineAxis()
	var out []int
	for r := range a.module.Devices() {
		if stage < 0 || int64(a.coordinate(r, axis)) == stage {
			out = append(out, r)
		}
	}
	return out
}

// pipelineAxis is the mesh axis along which messages go.
func (a *assembler) pipelineAxis() string {
	for _, f := range a.module.Funcs {
		for _, o := range f.Ops {
			if op.Has(o, op.Message) {
				return o.Attrs.Names("over")[0]
			}
		}
	}
	return ""
}

// coordinate is rank r's position on a mesh axis.
func (a *assembler) coordinate(r int, axis string) int {
	for i := len(a.module.Mesh) - 1; i >= 0; i-- {
		m := a.module.Mesh[i]
		if m.Name == axis {
			return r % m.Size
		}
		r /= m.Size
	}
	return 0
}

// programName is the program that an entry function is, or is a stage of.
func programName(f *ir.Func) string {
	if of := f.Of; of != "" {
		return of
	}
	return f.Name
}

type device struct {
	*assembler
	program.Device
	index   map[string]int // buffers by place and type
	tensors map[string]bool
	trained map[string]bool   // parameters that the function has new values of
	started map[*ir.Value]int // results of started collectives, by instruction
}

// entry adds one program with its buffers, tensors and ports.
func (d *device) entry(f *ir.Func) {
	at := map[*ir.Value]int{}
	memory := op.Memories(f)
	d.trained = map[string]bool{}
	for _, r := range f.Results {
		if r.Role == ir.RoleParam {
			d.trained[r.Path] = true
		}
	}
	for _, x := range f.Args {
		at[x.Value] = d.buffer(x.Value.Type, memory[x.Value], x.At.Bytes(), spaceOf(x.Role))
		d.argument(f, x, at[x.Value])
	}
	grads := map[*ir.Value]bool{}
	for _, r := range f.Results {
		grads[r.Value] = grads[r.Value] || r.Role == ir.RoleGrad
	}
	prog := program.Program{Name: programName(f)}
	after := map[*ir.Value]int{}
	for _, o := range f.Ops {
		i := len(prog.Instrs)
		if op.Has(o, op.InPlace) { // no instruction: buffers, where the bytes are
			v := o.Result()
			at[v], after[v] = d.buffer(v.Type, memory[v], o.At[0], d.Buffers[at[o.Args[0]]].Space), i
			continue
		}
		in := program.Instr{Scope: o.Scope, NoWait: o.Wait != ir.WaitAll}
		if o.Pos.IsValid() {
			in.Pos = o.Pos.String()
		}
		if op.Has(o, op.Calls) {
			in.Kernel = d.kernels[o.Callee]
		} else {
			in.Comm = d.comm(o)
		}
		if op.Has(o, op.Completes) {
			for j, v := range o.Results {
				at[v], after[v] = at[o.Args[j]], i+1
				if grads[v] {
					d.Buffers[at[v]].Space = program.Grads
				}
			}
			prog.Instrs = append(prog.Instrs, in)
			continue
		}
		if o.Start {
			for _, v := range o.Results {
				d.started[v] = i
			}
		}
		for n, v := range o.Args {
			b := at[v]
			if _, _, _, ok := op.Piece(o); ok {
				b = d.piece(o, n, memory[v], &d.Buffers[b])
			}
			in.Bufs = append(in.Bufs, b)
		}
		for j, v := range o.Results {
			space := program.Activations
			if op.Has(o, op.Copies) {
				space = d.Buffers[at[o.Args[j]]].Space
			}
			if grads[v] {
				space = program.Grads
			}
			at[v] = d.buffer(v.Type, memory[v], o.At[j], space)
			after[v] = i + 1
			in.Bufs = append(in.Bufs, at[v])
		}
		prog.Instrs = append(prog.Instrs, in)
	}
	d.Progs = append(d.Progs, prog)
	for _, r := range f.Results {
		switch r.Role {
		case ir.RoleLoss, ir.RoleStat:
			d.Ports = append(d.Ports, program.Port{Program: programName(f), Role: r.Role, Path: r.Path, Buffer: at[r.Value]})
		case ir.RoleGrad:
			d.Ports = append(d.Ports, program.Port{Program: programName(f), Role: r.Role, Path: r.Path, Buffer: at[r.Value], After: after[r.Value]})
		}
	}
}

// argument adds the tensor or port that an argument is.
func (d *device) argument(f *ir.Func, x *ir.Arg, buf int) {
	switch x.Role {
	case ir.RoleParam, ir.RoleState:
		if d.tensors[x.Path] {
			return
		}
		d.tensors[x.Path] = true
		t := program.Tensor{Path: x.Path, Buffer: buf, Train: d.trained[x.Path], Of: x.Attrs.Text(ir.AttrCopyOf)}
		if init, ok := x.Attrs.Get("init").(ir.Term); ok {
			t.Init.Kind = init.Head
			for _, a := range init.Args {
				t.Init.Args = append(t.Init.Args, program.KV{Key: a.Key, Value: strconv.FormatFloat(init.Args.Float(a.Key, 0), 'g', -1, 64)})
			}
		}
		d.Tensors = append(d.Tensors, t)
	default:
		d.Ports = append(d.Ports, program.Port{Program: programName(f), Role: x.Role, Path: x.Path, Buffer: buf, Number: int32(x.Attrs.Int(ir.AttrNumber, 0))})
	}
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

// piece is the buffer of the piece of operand n that o fetches.
func (d *device) piece(o *ir.Op, n int, memory ir.Memory, of *program.Buffer) int {
	axis, from, _, _ := op.Piece(o)
	t := o.Args[n].Type
	return d.buffer(o.Results[n].Type, memory, of.Offset+from*int64(t.Strides()[t.Index(axis)]*t.DType.Size()), of.Space)
}

// buffer is the number of the buffer at a place, with a type.
func (d *device) buffer(t ir.Type, memory ir.Memory, at int64, space program.Space) int {
	key := fmt.Sprintf("%s %d %s", memory, at, t)
	if i, ok := d.index[key]; ok {
		return i
	}
	name := ""
	if memory != ir.Device {
		name = memory.String()
	}
	b := program.Buffer{Space: space, Memory: name, Offset: at, Bytes: int64(t.Bytes()), DType: t.DType.String(), Axes: axesOf(d.module, t)}
	d.index[key] = len(d.Buffers)
	d.Buffers = append(d.Buffers, b)
	return len(d.Buffers) - 1
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
