package lang

import (
	"ptc/ir"
	"ptc/ir/op"
)

// funcBuilder is the entry function being built.
type funcBuilder struct {
	f        *ir.Func
	b        op.Builder
	training bool
	values   map[*param]*ir.Value // those read so far
	order    []*param             // that all get an argument, once known
	step     *ir.Value
	seed     *ir.Value
	sites    int // random operations so far
}

// param is the argument that holds a parameter.
func (fb *funcBuilder) param(p *param) *ir.Value {
	v := fb.values[p]
	if v == nil {
		v = fb.f.NewValue(p.typ, nil)
		fb.values[p] = v
	}
	return v
}

func newFunc(name string, training bool) *funcBuilder {
	fb := &funcBuilder{f: &ir.Func{Name: name, Attrs: ir.A("class", ir.Name("entry"))}, training: training, values: map[*param]*ir.Value{}}
	fb.b.F = fb.f
	if training {
		fb.step = fb.f.NewValue(ir.Scalar(ir.I32), nil)
		fb.seed = fb.f.NewValue(ir.Scalar(ir.I32), nil)
	}
	return fb
}

// renumber gives the values of a finished function numbers in the order of the
// text.
func renumber(f *ir.Func) *ir.Func {
	n := 0
	set := func(v *ir.Value) { v.ID = n; n++ }
	for _, a := range f.Args {
		set(a.Value)
	}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			set(r)
		}
	}
	// nextID of f counts what was never placed; a fresh function does not.
	g := &ir.Func{Name: f.Name, Attrs: f.Attrs, Args: f.Args, Ops: f.Ops, Results: f.Results}
	g.Adopt(n - 1)
	return g
}
