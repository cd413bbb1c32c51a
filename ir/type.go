package ir

import (
	"slices"
	"strconv"
	"strings"

	"ptc/internal/dtype"
)

// DType is the type of a tensor's elements.
type DType = dtype.DType

// The dtypes that the compiler itself makes values of; internal/dtype has them all.
const (
	Bool   = dtype.Bool
	I32    = dtype.I32
	F16    = dtype.F16
	BF16   = dtype.BF16
	F8E4M3 = dtype.F8E4M3
	F8E5M2 = dtype.F8E5M2
	F32    = dtype.F32
	F64    = dtype.F64
)

// ParseDType is the inverse of DType's String.
func ParseDType(s string) (DType, bool) { return dtype.Parse(s) }

// Axis is one named axis of a tensor.
type Axis struct {
	Name string
	// Size counts elements: of the whole tensor at Global and Sharded, of one
	// device's part from Local on.
	Size int
	// Mesh lists the mesh axes that the axis is sharded over, major to minor.
	// From Local on it records which part of the whole this device holds:
	// the part's global offset is the device's coordinate times Size.
	Mesh []string
}

// Partial is a reduction over a mesh axis that is still to be done: every device of it
// has a partial sum or maximum. The reductions of a type are a set: passes derive them in
// different orders, so no reader depends on the order.
type Partial struct {
	Mesh   string // mesh axis
	Reduce string // "sum" or "max"
}

// Type is the type of a tensor value: dtype, named axes in storage order
// (last is contiguous), and over what it is partial. Axis names are unique within
// a type. A Type is a value: functions that change one copy it first.
type Type struct {
	DType   DType
	Axes    []Axis
	Partial []Partial
	// Pad is how many elements that hold nothing follow each row, which is what is along the last
	// axis. Only what kernels alone write and read has any (passes/memory/pitch); what is computed from
	// such a value has none by itself.
	Pad int
}

// Scalar is the type with no axes.
func Scalar(d DType) Type { return Type{DType: d} }

// Rank is the number of axes.
func (t Type) Rank() int { return len(t.Axes) }

// Elems is the product of the sizes; 1 for a scalar.
func (t Type) Elems() int {
	n := 1
	for _, a := range t.Axes {
		n *= a.Size
	}
	return n
}

// Room is the number of elements that there is memory for: those of the rows, and what pads them.
func (t Type) Room() int {
	if t.Pad == 0 || len(t.Axes) == 0 {
		return t.Elems()
	}
	row := t.Axes[len(t.Axes)-1].Size
	return t.Elems() / row * (row + t.Pad)
}

// Bytes is the size in memory.
func (t Type) Bytes() int { return dtype.Bytes(t.DType, t.Room()) }

// Index is the position of the axis called name, or -1.
func (t Type) Index(name string) int {
	for i, a := range t.Axes {
		if a.Name == name {
			return i
		}
	}
	return -1
}

// Has reports whether the type has the axis.
func (t Type) Has(name string) bool { return t.Index(name) >= 0 }

// Size is the size of the named axis, or 0 where it is missing.
func (t Type) Size(name string) int {
	if i := t.Index(name); i >= 0 {
		return t.Axes[i].Size
	}
	return 0
}

// Names lists the axis names in order.
func (t Type) Names() []string {
	n := make([]string, len(t.Axes))
	for i, a := range t.Axes {
		n[i] = a.Name
	}
	return n
}

// Clone is a copy that shares no slice with t.
func (t Type) Clone() Type {
	c := Type{DType: t.DType, Pad: t.Pad}
	if t.Axes != nil {
		c.Axes = make([]Axis, len(t.Axes))
		n := 0
		for i, a := range t.Axes {
			c.Axes[i] = Axis{Name: a.Name, Size: a.Size}
			n += len(a.Mesh)
		}
		if n > 0 {
			mesh := make([]string, 0, n) // of all axes
			for i, a := range t.Axes {
				if k := len(mesh); len(a.Mesh) > 0 {
					mesh = append(mesh, a.Mesh...)
					c.Axes[i].Mesh = mesh[k:len(mesh):len(mesh)]
				}
			}
		}
	}
	if len(t.Partial) > 0 {
		c.Partial = append([]Partial(nil), t.Partial...)
	}
	return c
}

// CloneTypes copies the types of values.
func CloneTypes(vs []*Value) []Type {
	out := make([]Type, len(vs))
	for i, v := range vs {
		out[i] = v.Type.Clone()
	}
	return out
}

// WithDType is t with another dtype, and no padding.
func (t Type) WithDType(d DType) Type {
	c := t.Clone()
	c.DType, c.Pad = d, 0
	return c
}

// Drop is t without the named axes, and without padding.
func (t Type) Drop(names ...string) Type {
	c := t.Clone()
	c.Pad = 0
	out := c.Axes[:0]
	for _, a := range c.Axes {
		keep := true
		for _, n := range names {
			keep = keep && a.Name != n
		}
		if keep {
			out = append(out, a)
		}
	}
	c.Axes = out
	return c
}

// Strides are the distances, in elements, between neighbours along each axis
// in row-major storage, without padding: those of a tensor of the evaluator.
func (t Type) Strides() []int { return t.strides(0) }

// Steps are such distances in memory, with padding.
func (t Type) Steps() []int { return t.strides(t.Pad) }

func (t Type) strides(pad int) []int {
	s := make([]int, len(t.Axes))
	n := 1
	for i := len(t.Axes) - 1; i >= 0; i-- {
		s[i] = n
		n *= t.Axes[i].Size + pad
		pad = 0
	}
	return s
}

// SameShape reports whether both types have the same axes, sizes and
// shardings in the same order, and are partial over the same.
func (t Type) SameShape(u Type) bool {
	return SamePartial(t.Partial, u.Partial) && slices.EqualFunc(t.Axes, u.Axes, func(a, b Axis) bool {
		return a.Name == b.Name && a.Size == b.Size && slices.Equal(a.Mesh, b.Mesh)
	})
}

// SameAxes reports whether both types have the same axes and sizes in the same order, whatever their shardings.
func (t Type) SameAxes(u Type) bool {
	return slices.EqualFunc(t.Axes, u.Axes, func(a, b Axis) bool { return a.Name == b.Name && a.Size == b.Size })
}

// Permutes reports whether both types have the same dtype, axes and sizes, in any order.
func (t Type) Permutes(u Type) bool {
	return t.DType == u.DType && t.Rank() == u.Rank() && !slices.ContainsFunc(t.Axes, func(a Axis) bool {
		return !u.Has(a.Name) || u.Size(a.Name) != a.Size
	})
}

// SamePartial reports whether a and b are the same reductions, in any order.
func SamePartial(a, b []Partial) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(p Partial) bool { return !slices.Contains(b, p) })
}

// Equal reports whether dtype, axes, shardings and reductions are the same, whatever the padding.
func (t Type) Equal(u Type) bool { return t.DType == u.DType && t.SameShape(u) }

// String is the type as the IR's text has it:
//
//	f32[batch=8@dp, seq=256@cp@tp, embed=384] partial(max dp, tp)
//	bf16[batch=8, vocab=50257+7]
//
// Equal types have equal texts: reductions are printed in the order of their mesh axes' names.
func (t Type) String() string {
	return string(t.Append(make([]byte, 0, 192)))
}

// Append is b with the text of the type behind it.
func (t Type) Append(b []byte) []byte {
	b = append(append(b, t.DType.String()...), '[')
	for i, a := range t.Axes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(append(append(b, a.Name...), '='), int64(a.Size), 10)
		if i == len(t.Axes)-1 && t.Pad > 0 {
			b = strconv.AppendInt(append(b, '+'), int64(t.Pad), 10)
		}
		for _, m := range a.Mesh {
			b = append(append(b, '@'), m...)
		}
	}
	b = append(b, ']')
	for i, p := range sortedPartial(t.Partial) {
		if i == 0 {
			b = append(b, " partial("...)
		} else {
			b = append(b, ", "...)
		}
		if p.Reduce != "sum" {
			b = append(append(b, p.Reduce...), ' ')
		}
		b = append(b, p.Mesh...)
	}
	if len(t.Partial) > 0 {
		b = append(b, ')')
	}
	return b
}

func sortedPartial(p []Partial) []Partial {
	if len(p) < 2 {
		return p
	}
	return slices.SortedFunc(slices.Values(p), func(a, b Partial) int { return strings.Compare(a.Mesh, b.Mesh) })
}
