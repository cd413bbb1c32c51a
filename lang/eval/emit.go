package eval

import (
	"errors"
	"math"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Emit appends an operation of one result. A mistake in its operands is
// reported at the node, or where the call names the axis at fault.
func (f *Frame) Emit(n syntax.Node, name string, attrs ir.Attrs, args ...value.Value) value.Value {
	fb := f.Interp.Builder
	if fb == nil {
		return f.Wants("E0219", n, "a value known at compile time", "", "tensors cannot be computed here")
	}
	vs := make([]*ir.Value, len(args))
	for i, a := range args {
		t, ok := a.(value.Tensor)
		if !ok {
			return f.NotA(n, a, "a tensor")
		}
		vs[i] = t.V
	}
	if fb.count() >= source.MaxOps {
		f.Interp.stop(f, n, "more than %d operations", source.MaxOps)
		return value.Unknown{}
	}
	before := len(fb.Func.Ops)
	fb.Ops.Scope, fb.Ops.Pos = f.Scope, place(n)
	res, err := fb.Ops.TryEmit(name, vs, attrs)
	if err != nil {
		return f.ShapeError(n, vs, err)
	}
	t := res[0].Type
	if bad := TooLarge(t); bad != "" {
		fb.Func.Ops = fb.Func.Ops[:before]
		return f.Errorf("E0216", n, "the result %s %s", t, bad)
	}
	f.Saw(t)
	return value.Tensor{V: res[0]}
}

// place is the position that an operation gets: an operator's own, else where
// the expression begins.
func place(n syntax.Node) diag.Pos {
	switch x := n.(type) {
	case *syntax.Binary:
		return x.OpPos.Diag()
	case *syntax.Call:
		if d, ok := x.Fun.(*syntax.Dot); ok {
			return d.Sel.At()
		}
	}
	return n.At()
}

// atOperator is an error where the operation of an expression is written.
func atOperator(code string, n syntax.Node, want, format string, args ...any) *diag.Error {
	e := source.Wanted(code, n, want, "", format, args...)
	e.Pos = place(n)
	if b, ok := n.(*syntax.Binary); ok {
		e.Len = len(b.Op)
	} else if e.Pos != n.At() {
		e.Len = 1
	}
	return e
}

// TooLarge says what bound a type exceeds; empty where it exceeds none.
func TooLarge(t ir.Type) string {
	if t.Rank() > source.MaxRank {
		return "has too many axes"
	}
	n := 1
	for _, a := range t.Axes {
		if a.Size > source.MaxSize || n > source.MaxElems/max(a.Size, 1) {
			return "is too large"
		}
		n *= a.Size
	}
	return ""
}

// ShapeError turns what inference found into an error with a place.
func (f *Frame) ShapeError(n syntax.Node, args []*ir.Value, err error) value.Value {
	var s *op.ShapeError
	if !errors.As(err, &s) {
		return f.Errorf("E0210", n, "%v", err)
	}
	e := atOperator("E0210", n, s.Want, "%s", s.Msg)
	sizes := map[int]bool{} // that the axis has in the operands
	for _, a := range args {
		if n := a.Type.Size(s.Axis); n > 0 {
			sizes[n] = true
		}
	}
	switch {
	case s.Axis == "" && slices.ContainsFunc(args, func(a *ir.Value) bool { return a.Type.DType != args[0].Type.DType }):
		e.Code = "E0207"
		e.Hint = "`cast(x, f32)` converts"
	case len(sizes) > 1:
		e.Code = "E0205"
	case s.Axis != "" && len(sizes) == 0:
		e.Code = "E0203"
		e.Hint = diag.DidYouMean(s.Axis, s.Candidates)
	}
	if at := naming(n, s.Axis); at != nil {
		e.Pos, e.Len = at.At(), at.Len()
	}
	for i, a := range args {
		if len(args) <= 3 {
			e.Note = append(e.Note, diag.Note{Msg: operand(i, len(args)) + " is " + a.Type.String()})
		}
	}
	f.ReportNamed(e, s.Axis)
	return value.Unknown{}
}

func operand(i, n int) string {
	switch {
	case n == 1:
		return "the operand"
	case n == 2:
		return [...]string{"the left operand", "the right operand"}[i]
	}
	return "operand " + value.FormatNumber(value.Whole(i+1))
}

// ConstTensor is a number as a scalar of dtype d.
func (f *Frame) ConstTensor(n syntax.Node, c value.Number, d ir.DType) value.Value {
	switch {
	case d.IsInt() && (c.V != math.Trunc(c.V) || math.Abs(c.V) > source.MaxSize):
		return f.Wants("E0207", n, "a whole number of 32 bits", "`cast(x, f32)` turns the tensor into numbers with fractions", "%s with an i32 tensor", c.What())
	case !d.Holds(c.V):
		return f.Wants("E0207", n, "true or false", "", "%s with a tensor of bool", c.What())
	}
	return f.Emit(n, "const", ir.A("dtype", ir.Name(d.String()), "value", ir.Float(c.V)))
}
