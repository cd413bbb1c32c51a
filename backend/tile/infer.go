package tile

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// check verifies what o says by itself, and returns the type of its result (of those
// kinds that have one and are neither loop nor if). given is the type that its author
// gives it: the dtype of a constant, a cast or a product, the dimensions of a constant,
// and the space.
func (o *Op) check(given Type) (Type, error) {
	t, err := o.infer(given)
	if err != nil {
		return t, fmt.Errorf("%s: %w", o.Kind, err)
	}
	t.Space, t.Layout = given.Space, given.Layout
	return t, nil
}

func (o *Op) infer(given Type) (Type, error) {
	if !o.Kind.known() {
		return Type{}, fmt.Errorf("found no such operation; expected one of the form's own or an elementwise one or a reduction of ir/op")
	}
	if n, ok := arity[o.Kind]; ok && (len(o.Args) < n[0] || len(o.Args) > n[1]) {
		return Type{}, fmt.Errorf("found %d operands; expected %d to %d", len(o.Args), n[0], n[1])
	}
	if o.Kind.hasView() {
		return o.access()
	}
	switch o.Kind {
	case Wait:
		if d := o.Args[0].Def; d == nil || d.Kind != Copy {
			return Type{}, fmt.Errorf("found a tile that no copy makes; expected the result of a copy")
		}
		return Type{}, nil
	case Const:
		if !given.DType.Holds(o.Const) {
			return Type{}, fmt.Errorf("found %v; expected a value of %s", o.Const, given.DType)
		}
		return Type{DType: given.DType, Dims: given.Dims}, nil
	case Index:
		return Type{DType: ir.I32, Dims: dims(o.Range)}, nil
	case First, Last:
		return Type{DType: ir.I32}, nil
	case Random:
		return o.random()
	case Repeat:
		x := o.Args[0].Type
		if x.Has(o.Range) {
			return Type{}, fmt.Errorf("found a tile over %s already; expected one without", o.Range.Name)
		}
		return Type{DType: x.DType, Dims: union(x.Dims, dims(o.Range))}, nil
	case Dot:
		return o.dot(given)
	}
	if o.Kind.reduces() {
		return o.reduction()
	}
	return o.computed(given)
}

// arity is the least and the most operands of the kinds that ir/op does not know.
var arity = map[Kind][2]int{
	Load: {0, 0}, Copy: {0, 0}, Wait: {1, 1}, Store: {1, 1}, Scatter: {1, 1}, Dot: {2, 3}, Const: {0, 0},
	Index: {0, 0}, First: {0, 0}, Last: {0, 0}, Random: {3, 3}, Repeat: {1, 1}, If: {1, 1},
}

// access is a load, a copy, a store or a scatter.
func (o *Op) access() (Type, error) {
	v := o.View
	if len(o.At) != len(v.Axes) {
		return Type{}, fmt.Errorf("%s: found %d indices; expected one for each of its %d axes", v.Name, len(o.At), len(v.Axes))
	}
	all, err := indexed(o.At)
	if err != nil {
		return Type{}, fmt.Errorf("%s: %w", v.Name, err)
	}
	switch o.Kind {
	case Copy:
		return Type{DType: v.Buffer.DType, Dims: all, Space: Shared}, v.may(Use.loads, "read")
	case Load:
		return Type{DType: v.Buffer.DType, Dims: all}, v.may(Use.loads, "read")
	}
	x := o.Args[0].Type
	if x.DType != v.Buffer.DType {
		return Type{}, fmt.Errorf("%s: found %s; expected %s", v.Name, x.DType, v.Buffer.DType)
	}
	for _, d := range x.Dims {
		if !slices.Contains(all, d) {
			return Type{}, fmt.Errorf("%s: found a tile over %s, of which no index says where its elements go; expected dimensions that are in the indices", v.Name, d.Name)
		}
	}
	if o.Kind == Scatter {
		if x.DType == ir.Bool {
			return Type{}, fmt.Errorf("%s: found bool; expected numbers", v.Name)
		}
		if err := v.may(Use.loads, "read"); err != nil {
			return Type{}, err
		}
	}
	return Type{}, v.may(Use.stores, "written")
}

func (v *View) may(has func(Use) bool, what string) error {
	if !has(v.Buffer.Use) {
		return fmt.Errorf("%s: found a view of %s, which is declared %s; expected one that may be %s", v.Name, v.Buffer.Name, v.Buffer.Use, what)
	}
	return nil
}

// indexed are the dimensions of what is found at the indices.
func indexed(at []Affine) ([]*Range, error) {
	var all []*Range
	for _, x := range at {
		for _, t := range x.Terms {
			if t.Range != nil {
				all = union(all, dims(t.Range))
				continue
			}
			if t.Value.Type.DType != ir.I32 {
				return nil, fmt.Errorf("found an index of %s; expected i32", t.Value.Type.DType)
			}
			all = union(all, t.Value.Type.Dims)
		}
	}
	return all, nil
}

func (o *Op) random() (Type, error) {
	for _, a := range o.Args {
		if a.Type.DType != ir.I32 || len(a.Type.Dims) > 0 {
			return Type{}, fmt.Errorf("found an operand %s; expected seed, step and site, each an i32 scalar", a.Type)
		}
	}
	if len(o.At) != 1 {
		return Type{}, fmt.Errorf("found %d indices; expected one, the number of the element", len(o.At))
	}
	all, err := indexed(o.At)
	return Type{DType: ir.F32, Dims: all}, err
}

func (o *Op) dot(given Type) (Type, error) {
	a, b := o.Args[0].Type, o.Args[1].Type
	if a.DType != b.DType && !(a.DType.IsScaled() && b.DType.IsScaled()) || !a.DType.IsFloat() || !given.DType.IsFloat() {
		return Type{}, fmt.Errorf("found a product of %s and %s as %s; expected floats, both of one dtype or of one byte", a.DType, b.DType, given.DType)
	}
	for i, r := range o.Over {
		if slices.Contains(o.Over[:i], r) {
			return Type{}, fmt.Errorf("found %s twice; expected each range once", r.Name)
		}
		for _, x := range []Type{a, b} {
			if r.Size > 1 && !x.Has(r) {
				return Type{}, fmt.Errorf("found an operand %s; expected one over %s, which is summed", x, r.Name)
			}
		}
	}
	t := Type{DType: given.DType, Dims: without(union(a.Dims, b.Dims), o.Over)}
	if len(o.Args) == 3 {
		if init := o.Args[2].Type; !init.same(t) {
			return Type{}, fmt.Errorf("found an initial sum %s; expected %s", init, t)
		}
	}
	return t, nil
}

func (o *Op) reduction() (Type, error) {
	if len(o.Args) != 1 {
		return Type{}, fmt.Errorf("found %d operands; expected 1", len(o.Args))
	}
	x := o.Args[0].Type
	if len(o.Over) == 0 {
		return Type{}, fmt.Errorf("found no ranges; expected one at least")
	}
	for i, r := range o.Over {
		if slices.Contains(o.Over[:i], r) {
			return Type{}, fmt.Errorf("found %s twice; expected each range once", r.Name)
		}
		if r.Size > 1 && !x.Has(r) {
			return Type{}, fmt.Errorf("found an operand %s; expected one over %s, which is reduced", x, r.Name)
		}
	}
	if _, err := op.Infer(string(o.Kind), []ir.Type{{DType: x.DType}}, ir.A("over", ir.Names(nil))); err != nil {
		return Type{}, err
	}
	return Type{DType: x.DType, Dims: without(x.Dims, o.Over)}, nil
}

// computed is an elementwise operation. Its row in ir/op knows the dtypes.
func (o *Op) computed(given Type) (Type, error) {
	in := make([]ir.Type, len(o.Args))
	var t Type
	for i, a := range o.Args {
		in[i] = ir.Type{DType: a.Type.DType}
		t.Dims = union(t.Dims, a.Type.Dims)
	}
	res, err := op.Infer(string(o.Kind), in, o.attrs(given))
	if err != nil {
		return Type{}, err
	}
	t.DType = res[0].DType
	return t, nil
}

// attrs are the attributes of the row in ir/op that o is computed by.
func (o *Op) attrs(given Type) ir.Attrs {
	if o.Kind == op.Cast {
		return ir.A("to", ir.Name(given.DType.String()))
	}
	return nil
}

// Attrs are the attributes of the row in ir/op that computes o.
func (o *Op) Attrs() ir.Attrs { return o.attrs(o.Result().Type) }

// Span are the dimensions that the indices of o have: of what it loads, and of what it
// stores once that is repeated along those that it lacks.
func (o *Op) Span() []*Range {
	all, _ := indexed(o.At)
	return all
}

// dims are the dimensions of what is found along r.
func dims(r *Range) []*Range {
	if r.Size == 1 {
		return nil
	}
	return []*Range{r}
}

// union is the dimensions that x or y has, in the order of the ranges.
func union(x, y []*Range) []*Range {
	out := append([]*Range(nil), x...)
	for _, r := range y {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *Range) int { return a.order - b.order })
	return out
}

func without(x, y []*Range) []*Range {
	var out []*Range
	for _, r := range x {
		if !slices.Contains(y, r) {
			out = append(out, r)
		}
	}
	return out
}

// String is the type as the text has it: shared f32[i, d] panels(i by 6).
func (t Type) String() string {
	var names []string
	for _, d := range t.Dims {
		names = append(names, d.Name)
	}
	s := t.DType.String() + "[" + strings.Join(names, ", ") + "]"
	if t.Space == Shared {
		s = "shared " + s
	}
	if l := t.Layout; l.Along != nil {
		s += fmt.Sprintf(" %s(%s by %d)", layoutNames[l.Kind], l.Along.Name, l.N)
	}
	return s
}
