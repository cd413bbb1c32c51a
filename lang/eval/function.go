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
