package eval

import (
	"slices"

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
	Settings []*ir.Arg // of traced numbers so far
	Sites    int       // random operations so far
	// Shares has calls of the model's own functions give what the same call gave before,
	// in place of computing it again; see [Builder.made].
	Shares bool
	calls  []call
	// Omitted are the lists of which instances are omitted, omitted how many operations
	// those would have, and inside is set while a loop over one runs.
	Omitted []Omitted
	omitted int
	inside  bool
	edges   []edge
	// Of parameters with adapters, or that are to have one: which a value is of, its sum
	// with the adapter, and the operations that only give such sums.
	adaptable map[*ir.Value]*value.Param
	sums      map[*value.Param]*ir.Value
	spare     []*ir.Op
}

// edge is the operations of a loop that are before a gap, and those behind it.
type edge struct {
	list          string
	before, after []*ir.Op
}

// Reads is whether an operation so far reads p, or would if it were not omitted.
func (fb *Builder) Reads(p *value.Param) bool {
	if p.Like != nil {
		p = p.Like
	}
	return fb.Values[p] != nil
}

// count is the operations so far with those that are omitted.
func (fb *Builder) count() int { return len(fb.Func.Ops) + fb.omitted }

func (fb *Builder) omit(o Omitted, before, after round) {
	if !slices.Contains(fb.Omitted, o) {
		fb.Omitted = append(fb.Omitted, o)
	}
	ops := fb.Func.Ops
	fb.edges = append(fb.edges, edge{o.List, ops[before.first:before.last], ops[after.first:after.last]})
}

// Differs is a list where something holds of an operation before the gap and not of
// that behind it, or the other way about, so that it may change from instance to
// instance; empty where there is none.
func (fb *Builder) Differs(holds func(*ir.Op) bool) string {
	for _, e := range fb.edges {
		if !slices.EqualFunc(e.before, e.after, func(o, p *ir.Op) bool { return holds(o) == holds(p) }) {
			return e.list
		}
	}
	return ""
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
	fb := &Builder{Func: &ir.Func{Name: name, Class: ir.Entry}, Training: training, Values: map[*value.Param]*ir.Value{},
		adaptable: map[*ir.Value]*value.Param{}, sums: map[*value.Param]*ir.Value{}}
	fb.Ops.F = fb.Func
	if training {
		fb.Step = fb.Func.NewValue(ir.Scalar(ir.I32), nil)
		fb.Seed = fb.Func.NewValue(ir.Scalar(ir.I32), nil)
	}
	return fb
}
