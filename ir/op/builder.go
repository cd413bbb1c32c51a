package op

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
)

// Builder appends operations to a function with inferred types. Scope and Pos
// are given to each operation emitted.
type Builder struct {
	F     *ir.Func
	Scope string
	Pos   diag.Pos
	// Sink, where set, takes operations instead of F.Ops; a pass uses it to
	// insert in the middle.
	Sink *[]*ir.Op
	// Slot is given to each operation emitted.
	Slot ir.Slot
}

// TryEmit appends an operation, or returns the *ShapeError of its inference.
func (b *Builder) TryEmit(name string, args []*ir.Value, attrs ir.Attrs) ([]*ir.Value, error) {
	d := Lookup(name)
	if d == nil {
		return nil, fmt.Errorf("op: no row for %q", name)
	}
	res, err := d.Check(typesOf(args), attrs)
	if err != nil {
		return nil, err
	}
	return b.append(b.F.NewOp(name, args, attrs, res...)), nil
}

// append places o where the builder appends and returns its results.
func (b *Builder) append(o *ir.Op) []*ir.Value {
	o.Scope, o.Pos, o.Slot = b.Scope, b.Pos, b.Slot
	if b.Sink != nil {
		*b.Sink = append(*b.Sink, o)
	} else {
		b.F.Ops = append(b.F.Ops, o)
	}
	return o.Results
}

// Each makes what is emitted next one for each instance of s, in a run of its own
// unless the builder is in one of s already; where s is nil it is outside of runs.
func (b *Builder) Each(s *ir.Stack) {
	switch {
	case s == nil:
		b.Slot.Run = nil
	case b.Slot.Run == nil || b.Slot.Run.Stack != s:
		b.Slot.Run = &ir.Run{Stack: s}
	}
}

// Chain carries a value through operations that are outside of runs and in runs in
// turn: into a run, from instance to instance, and out of it.
type Chain struct {
	B       *Builder
	entered *ir.Value
}

// Each is [Builder.Each], with v, which the operations before have made of the chain:
// it gives the value as what is emitted next reads it.
func (c *Chain) Each(s *ir.Stack, v *ir.Value) *ir.Value {
	if run := c.B.Slot.Run; run != nil && run.Stack == s || run == nil && s == nil {
		return v
	}
	if c.entered != nil {
		v = c.B.Emit(Leave, nil, c.entered, v)
		c.entered = nil
	}
	if c.B.Each(s); s != nil {
		v = c.B.Emit(Enter, nil, v)
		c.entered = v
	}
	return v
}

func arity(d *Def) string {
	switch {
	case d.MaxArgs < 0:
		return fmt.Sprintf("at least %d operands", d.MinArgs)
	case d.MinArgs == 1 && d.MaxArgs == 1:
		return "one operand"
	case d.MinArgs == d.MaxArgs:
		return fmt.Sprintf("%d operands", d.MinArgs)
	}
	return fmt.Sprintf("%d to %d operands", d.MinArgs, d.MaxArgs)
}

// Emit is TryEmit for compiler-made operations of one result: an error is a
// bug of ours and panics.
func (b *Builder) Emit(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	r, err := b.TryEmit(name, args, attrs)
	if err != nil {
		panic(fmt.Sprintf("op: emitting %s: %v", name, err))
	}
	return r[0]
}

// Const is a scalar of the dtype.
func (b *Builder) Const(d ir.DType, v float64) *ir.Value {
	return b.Emit("const", ir.A("dtype", ir.Name(d.String()), "value", ir.Float(v)))
}

// Like is a scalar constant of x's dtype.
func (b *Builder) Like(x *ir.Value, v float64) *ir.Value { return b.Const(x.Type.DType, v) }

func (b *Builder) Add(x, y *ir.Value) *ir.Value { return b.Emit("add", nil, x, y) }
func (b *Builder) Sub(x, y *ir.Value) *ir.Value { return b.Emit("sub", nil, x, y) }
func (b *Builder) Mul(x, y *ir.Value) *ir.Value { return b.Emit("mul", nil, x, y) }
func (b *Builder) Div(x, y *ir.Value) *ir.Value { return b.Emit("div", nil, x, y) }
func (b *Builder) Neg(x *ir.Value) *ir.Value    { return b.Emit("neg", nil, x) }

// Scale is x times a number.
func (b *Builder) Scale(x *ir.Value, v float64) *ir.Value { return b.Mul(x, b.Like(x, v)) }

// Select is x where c, else y.
func (b *Builder) Select(c, x, y *ir.Value) *ir.Value { return b.Emit("select", nil, c, x, y) }

// Cast is x as another dtype; x itself when it has it already.
func (b *Builder) Cast(x *ir.Value, d ir.DType) *ir.Value {
	if x.Type.DType == d {
		return x
	}
	return b.Emit("cast", ir.A("to", ir.Name(d.String())), x)
}

// Sum reduces over the named axes; x itself where there are none.
func (b *Builder) Sum(x *ir.Value, over ...string) *ir.Value {
	if len(over) == 0 {
		return x
	}
	return b.Emit("reduce_sum", ir.A("over", ir.Names(over)), x)
}

// Broadcast gives x exactly the axes and order of t (same dtype as x).
func (b *Builder) Broadcast(x *ir.Value, t ir.Type) *ir.Value {
	if x.Type.SameShape(t.WithDType(x.Type.DType)) {
		return x
	}
	return b.Emit("broadcast", ir.A("axes", sizesOf(t)), x)
}

// Reorder transposes x to the order of axes in t, which has the same names.
func (b *Builder) Reorder(x *ir.Value, t ir.Type) *ir.Value {
	same := true
	for i, a := range x.Type.Axes {
		same = same && t.Axes[i].Name == a.Name
	}
	if same {
		return x
	}
	return b.Emit("transpose", ir.A("order", ir.Names(t.Names())), x)
}

// Unbroadcast turns g, the gradient of an operand's broadcast form, into the
// gradient of the operand of type t: sums the axes that t lacks, and takes
// t's order.
func (b *Builder) Unbroadcast(g *ir.Value, t ir.Type) *ir.Value {
	var over []string
	for _, a := range g.Type.Axes {
		if !t.Has(a.Name) {
			over = append(over, a.Name)
		}
	}
	return b.Reorder(b.Expand(b.Sum(g, over...), t), t)
}

// Expand adds the axes of t that x lacks, if any.
func (b *Builder) Expand(x *ir.Value, t ir.Type) *ir.Value {
	if slices.ContainsFunc(t.Axes, func(a ir.Axis) bool { return !x.Type.Has(a.Name) }) {
		return b.Broadcast(x, t)
	}
	return x
}
