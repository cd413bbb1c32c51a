package pitch

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// pads are the paddings of the operands and results of a call.
type pads struct{ args, results []int }

func (p *padder) padsOf(o *ir.Op) pads {
	var x pads
	for _, v := range o.Args {
		x.args = append(x.args, p.pads[v])
	}
	for _, v := range o.Results {
		x.results = append(x.results, p.pads[v])
	}
	return x
}

func (x pads) none() bool {
	return !slices.ContainsFunc(slices.Concat(x.args, x.results), func(n int) bool { return n > 0 })
}

func (x pads) equal(y pads) bool {
	return slices.Equal(x.args, y.args) && slices.Equal(x.results, y.results)
}

// padded is a copy of a kernel with such arguments and results.
func (x pads) padded(f *ir.Func) *ir.Func {
	f = f.Clone()
	for i, a := range f.Args {
		a.Value.Type.Pad = x.args[i]
	}
	for j, r := range f.Results {
		r.Value.Type.Pad = x.results[j]
	}
	return f
}

// form is a kernel with paddings.
type form struct {
	pads
	f *ir.Func
}

// write gives values and kernels their padding. A kernel keeps its name where all calls have the
// same, and what a task calls in its first tick has none.
func (p *padder) write(c *pass.Context) {
	forms := map[*ir.Func][]form{}
	of := func(f *ir.Func, x pads) *form {
		all := forms[f]
		i := slices.IndexFunc(all, func(y form) bool { return x.equal(y.pads) })
		if i < 0 {
			i = len(all)
			forms[f] = append(all, form{pads: x})
		}
		return &forms[f][i]
	}
	calls := p.calls()
	for _, o := range calls {
		of(o.Callee, p.padsOf(o))
		if o.First != nil {
			of(o.First, pads{make([]int, len(o.First.Args)), make([]int, len(o.First.Results))})
		}
	}
	p.m.Funcs = p.formed(forms)
	for _, o := range calls {
		p.tell(c, o)
		o.Callee = of(o.Callee, p.padsOf(o)).f
		if o.First != nil {
			o.First = of(o.First, pads{make([]int, len(o.First.Args)), make([]int, len(o.First.Results))}).f
		}
	}
	for _, o := range calls {
		for _, v := range o.Results {
			v.Type.Pad = p.pads[v]
		}
	}
}

// formed are the functions with a kernel in each of its forms.
func (p *padder) formed(forms map[*ir.Func][]form) []*ir.Func {
	names := map[string]bool{}
	for _, f := range p.m.Funcs {
		names[f.Name] = true
	}
	var out []*ir.Func
	for _, f := range p.m.Funcs {
		all := forms[f]
		if f.Class != ir.Kernel || len(all) == 0 {
			out = append(out, f)
			continue
		}
		for i := range all {
			x := &all[i]
			if x.f = f; !x.none() {
				x.f = x.padded(f)
			}
			if len(all) > 1 && !x.none() {
				name := f.Name + "_pitch"
				for n := 2; names[name]; n++ {
					name = fmt.Sprintf("%s_pitch%d", f.Name, n)
				}
				names[name], x.f.Name = true, name
			}
			out = append(out, x.f)
		}
	}
	return out
}

// tell records which results of a call are padded.
func (p *padder) tell(c *pass.Context, o *ir.Op) {
	if !op.Has(o, op.Calls) {
		return
	}
	for _, v := range o.Results {
		if n := p.pads[v]; n > 0 {
			row := v.Type.Axes[v.Type.Rank()-1].Size
			c.Remarkf(o, "rows of %s have %d bytes each and %d bytes of padding after them", v.Type, row*v.Type.DType.Size(), n*v.Type.DType.Size())
		}
	}
}
