package memory

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// updatesLast makes every new parameter and state writable over the old one:
// nothing may read the old value after the kernel that writes the new one, and
// that kernel must read it element by element. Where this does not hold, the
// new value gets a place of its own and a copy at the end of the program.
func (p *planner) updatesLast(f *ir.Func) {
	for i := range f.Results {
		r := &f.Results[i]
		a := f.Arg(r.Role, r.Path)
		if a == nil || a.Value == r.Value {
			continue
		}
		if r.Value.Def == nil || p.clashes(f, r.Value, a.Value) || p.sharesResult(f, i) {
			r.Value = p.copyAtEnd(f, r.Value)
		}
	}
}

// clashes reports whether writing v over old would be seen by a reader of old.
func (p *planner) clashes(f *ir.Func, v, old *ir.Value) bool {
	written := false
	for _, o := range f.Ops {
		if o.Name == "done" && written && slices.Contains(o.Args[0].Def.Args, old) {
			return true // it is sent until here
		}
		reads := false
		for n, a := range o.Args {
			if a != old {
				continue
			}
			if reads || written {
				return true
			}
			reads = true
			if o == v.Def && !mayOverwrite(o, p.kernel(o), n, resultIndex(o, v)) {
				return true
			}
		}
		written = written || o == v.Def
	}
	return false
}

// sharesResult reports whether an earlier result is the same value.
func (p *planner) sharesResult(f *ir.Func, i int) bool {
	for j := range f.Results {
		if j != i && f.Results[j].Value == f.Results[i].Value && f.Results[j].Role != ir.RoleGrad {
			return true
		}
	}
	return false
}

func resultIndex(o *ir.Op, v *ir.Value) int {
	for i, r := range o.Results {
		if r == v {
			return i
		}
	}
	return -1
}

func (p *planner) copyAtEnd(f *ir.Func, v *ir.Value) *ir.Value {
	k := p.copyKernel(v.Type)
	call := f.NewOp("call", []*ir.Value{v}, ir.A("fn", ir.Sym(k)), v.Type.Clone())
	f.Ops = append(f.Ops, call)
	return call.Results[0]
}

// copyKernel is the name of the kernel that copies a value of type t.
func (p *planner) copyKernel(t ir.Type) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("copy_%d", i)
		if k := p.kernels[name]; k != nil {
			if k.F.Args[0].Value.Type.Equal(t) {
				return name
			}
			continue
		}
		f := &ir.Func{Name: name, Attrs: ir.A("class", ir.Name("kernel"), "kind", ir.Name(string(fusion.Map)))}
		b := op.Builder{F: f}
		in := f.AddArg(t.Clone(), ir.RoleIn, "", nil, b.Pos)
		out := b.Emit("cast", ir.A("to", ir.Name(t.DType.String())), in)
		f.Results = []ir.Result{{Value: out, Role: ir.RoleOut}}
		k, err := fusion.Analyze(f)
		if err != nil {
			panic("memory: the copy kernel: " + err.Error())
		}
		p.kernels[name] = k
		p.m.Funcs = append(p.m.Funcs, f)
		return name
	}
}
