package eval

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/value"
)

// Builder is the entry function being built.
type Builder struct {
	Func     *ir.Func
	Ops      op.Builder
	Training bool
	Values   map[*value.Param]*ir.Value // those read so far
	Order    []*value.Param             // that all get an argument, once known
	Step     *ir.Value
	Seed     *ir.Value
	Sites    int // random operations so far
}

// Param is the argument that holds a parameter.
func (fb *Builder) Param(p *value.Param) *ir.Value {
	v := fb.Values[p]
	if v == nil {
		v = fb.Func.NewValue(p.Type, nil)
		fb.Values[p] = v
	}
	return v
}

func NewBuilder(name string, training bool) *Builder {
	fb := &Builder{Func: &ir.Func{Name: name, Class: ir.Entry}, Training: training, Values: map[*value.Param]*ir.Value{}}
	fb.Ops.F = fb.Func
	if training {
		fb.Step = fb.Func.NewValue(ir.Scalar(ir.I32), nil)
		fb.Seed = fb.Func.NewValue(ir.Scalar(ir.I32), nil)
	}
	return fb
}

// Renumber gives the values of a finished function numbers in the order of the
// text.
func Renumber(f *ir.Func) *ir.Func {
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
	g := &ir.Func{Name: f.Name, Class: f.Class, Attrs: f.Attrs, Args: f.Args, Ops: f.Ops, Results: f.Results}
	g.Adopt(n - 1)
	return g
}
