package op

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/ir"
)

// axisErr is a ShapeError about one axis.
func axisErr(axis, format string, args ...any) *ShapeError {
	return &ShapeError{Msg: fmt.Sprintf(format, args...), Axis: axis}
}

// unknownAxis says that none of the operands has the axis and offers theirs.
func unknownAxis(name string, args ...ir.Type) *ShapeError {
	var names []string
	seen := map[string]bool{}
	for _, t := range args {
		for _, n := range t.Names() {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	who := "the operand does not have it"
	switch {
	case len(args) == 2:
		who = "neither operand has it"
	case len(args) > 2:
		who = "no operand has it"
	}
	e := axisErr(name, "unknown axis `%s`: %s", name, who)
	e.Candidates = names
	if len(names) == 0 {
		e.Want = "no axis, as the operand is a scalar"
	} else {
		e.Want = oneOf(names)
	}
	return e
}

// oneOf lists names for a person: `a`, or `a`, `b` or `c`.
func oneOf(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = "`" + n + "`"
	}
	if len(q) == 1 {
		return q[0]
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}

// side names operand i of n.
func side(i, n int) string {
	switch {
	case n == 2 && i == 0:
		return "on the left"
	case n == 2:
		return "on the right"
	}
	return fmt.Sprintf("in operand %d", i+1)
}

// sizesDiffer is the error for an axis that two operands have in two sizes.
func sizesDiffer(name string, n, i, size, j, other int) *ShapeError {
	return axisErr(name, "axis `%s` is %d %s and %d %s", name, size, side(i, n), other, side(j, n))
}

// cloneAxes copies axes with their mesh lists.
func cloneAxes(axes ...ir.Axis) []ir.Axis { return ir.Type{Axes: axes}.Clone().Axes }

// align is the axes of an elementwise result: those of the operand with the
// most axes (the first on ties) in its order, then those that it lacks, in
// operand order. Sizes agree by name.
func align(args []ir.Type) ([]ir.Axis, error) {
	base := 0
	for i, t := range args {
		if t.Rank() > args[base].Rank() {
			base = i
		}
	}
	var out ir.Type
	if len(args) > 0 {
		out.Axes = cloneAxes(args[base].Axes...)
	}
	first := map[string]int{} // operand that an axis was first seen in
	for i, t := range args {
		for _, a := range t.Axes {
			j, seen := first[a.Name]
			if !seen {
				first[a.Name] = i
			} else if size := args[j].Size(a.Name); size != a.Size {
				return nil, sizesDiffer(a.Name, len(args), j, size, i, a.Size)
			}
			if !out.Has(a.Name) {
				out.Axes = append(out.Axes, cloneAxes(a)...)
			}
		}
	}
	return out.Axes, nil
}

// sameDType is the dtype that all operands have.
func sameDType(args []ir.Type) (ir.DType, error) {
	for i, t := range args {
		if t.DType != args[0].DType {
			return 0, &ShapeError{
				Msg:  fmt.Sprintf("the operands are %s %s and %s %s", args[0].DType, side(0, len(args)), t.DType, side(i, len(args))),
				Want: "one dtype; there are no implicit casts",
			}
		}
	}
	return args[0].DType, nil
}

// kinds is the set of classes of dtypes that an operation takes.
type kinds uint8

const (
	floats  = kinds(1 << dtype.Float)
	ints    = kinds(1 << dtype.Integer)
	bools   = kinds(1 << dtype.Boolean)
	numbers = floats | ints
	anyType = numbers | bools
)

func (k kinds) has(d ir.DType) bool { return k&(1<<d.Class()) != 0 }

func (k kinds) String() string {
	switch k {
	case floats:
		return "a float dtype"
	case numbers:
		return "a float dtype or i32"
	case bools:
		return "bool"
	case ints:
		return "i32"
	}
	return "any dtype"
}

// wantKind refuses an operand whose dtype the operation named does not take.
func wantKind(name string, t ir.Type, k kinds) error {
	if k.has(t.DType) {
		return nil
	}
	return &ShapeError{Msg: fmt.Sprintf("`%s` of %s", name, t.DType), Want: k.String()}
}

// without is names less those in drop.
func without(names []string, drop ...string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(drop, n) {
			out = append(out, n)
		}
	}
	return out
}

// repeated is a name that occurs twice, or empty.
func repeated(names []string) string {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return n
		}
	}
	return ""
}

// one makes the usual result of Infer.
func one(t ir.Type) ([]ir.Type, error) { return []ir.Type{t}, nil }

// only returns t as the type of the only result, or the error.
func only(t ir.Type, err error) ([]ir.Type, error) {
	if err != nil {
		return nil, err
	}
	return one(t)
}

// typesOf is the types of values.
func typesOf(vs []*ir.Value) []ir.Type {
	ts := make([]ir.Type, len(vs))
	for i, v := range vs {
		ts[i] = v.Type
	}
	return ts
}

// sizesOf is a type's axes as an attribute.
func sizesOf(t ir.Type) ir.Sizes {
	s := make(ir.Sizes, len(t.Axes))
	for i, a := range t.Axes {
		s[i] = ir.SizeOf{Name: a.Name, N: a.Size}
	}
	return s
}
