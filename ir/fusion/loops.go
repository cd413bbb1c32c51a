package fusion

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// Loop is one loop of a kernel's nest: axes that are adjacent in every view, as one.
type Loop struct {
	Axes []string // outermost first
	Size int64
}

// Name is what views call the axis of l.
func (l Loop) Name() string { return strings.Join(l.Axes, ".") }

// Last is the innermost axis of l, which a value has exactly if it has the others.
func (l Loop) Last() string { return l.Axes[len(l.Axes)-1] }

// Iterations is how often the body of nested loops runs.
func Iterations(loops []Loop) int64 {
	n := int64(1)
	for _, l := range loops {
		n *= l.Size
	}
	return n
}

// Each is a loop for each axis larger than 1.
func Each(axes []ir.Axis) []Loop {
	var out []Loop
	for _, a := range axes {
		if a.Size > 1 {
			out = append(out, Loop{[]string{a.Name}, int64(a.Size)})
		}
	}
	return out
}

// Loops merges axes of k, given in loop order, into as few loops as views allow. Axes of size 1
// need none, and axes whose position is read keep a loop of their own.
func (k *Kernel) Loops(axes []ir.Axis) []Loop {
	views, pinned := k.accessed(), k.pinned()
	var out []Loop
	for _, l := range Each(axes) {
		n := len(out) - 1
		if n >= 0 && !pinned[l.Last()] && !pinned[out[n].Last()] && adjacent(views, out[n].Last(), l) {
			out[n] = Loop{append(out[n].Axes, l.Axes...), out[n].Size * l.Size}
			continue
		}
		out = append(out, l)
	}
	return out
}

// Kept are the axes of the space that are not reduced.
func (k *Kernel) Kept() []ir.Axis {
	return slices.DeleteFunc(slices.Clone(k.Space), func(a ir.Axis) bool {
		return slices.ContainsFunc(k.Reduce, func(b ir.Axis) bool { return a.Name == b.Name })
	})
}

// Scattering says what the axes of a scatter_add are.
type Scattering struct {
	Axis Loop // along which positions are looked up
	// Loops over the result's contiguous axis and its other ones that the updates alone have, those
	// that the indices have too, and those of the indices that the result lacks.
	Own, Free, Shared, Summed []Loop
}

// Scattering says what the axes of a kernel of class Scatter are.
func (k *Kernel) Scattering() (s Scattering) {
	axis, indices, updates := k.Root.Attrs.Text("axis"), k.Root.Args[1].Type, k.Root.Args[0].Type
	for i, a := range k.Space {
		loop := Each([]ir.Axis{a})
		switch {
		case a.Name == axis:
			s.Axis = Loop{[]string{axis}, int64(a.Size)}
		case indices.Has(a.Name):
			s.Shared = append(s.Shared, loop...)
		case i == len(k.Space)-1:
			s.Own = loop
		default:
			s.Free = append(s.Free, loop...)
		}
	}
	for _, a := range updates.Axes {
		if !slices.ContainsFunc(k.Space, func(b ir.Axis) bool { return a.Name == b.Name }) {
			s.Summed = append(s.Summed, Each([]ir.Axis{a})...)
		}
	}
	return s
}

// Piece is a run of positions of a concat or pad along its axis: an operand, or zeros where Value is nil.
type Piece struct {
	Value    *ir.Value
	At, Size int64
}

// Pieces are what the result of a kernel of class Pieces consists of.
func (k *Kernel) Pieces() (all []Piece) {
	root, at := k.Root, int64(0)
	add := func(v *ir.Value, n int64) { all, at = append(all, Piece{v, at, n}), at+n }
	if root.Name == op.Pad {
		add(nil, root.Attrs.Int("low", 0))
	}
	for _, v := range root.Args {
		add(v, int64(v.Type.Size(root.Attrs.Text("axis"))))
	}
	if root.Name == op.Pad {
		add(nil, root.Attrs.Int("high", 0))
	}
	return all
}

// adjacent reports whether the axis of inner follows outer without a gap in every view that has
// either.
func adjacent(views []op.Strided, outer string, inner Loop) bool {
	return !slices.ContainsFunc(views, func(v op.Strided) bool {
		x, hasX := v.Axis(outer)
		y, hasY := v.Axis(inner.Last())
		return hasX != hasY || hasX && x.Stride != y.Stride*y.Size
	})
}

// accessed are the views that are loaded or stored, and the element numbers of random operations,
// which count like a dense buffer.
func (k *Kernel) accessed() []op.Strided {
	var out []op.Strided
	for _, o := range k.F.Ops {
		if k.isView(o) {
			continue
		}
		for _, a := range o.Args {
			if v, ok := k.Views[a]; ok {
				out = append(out, v.Strided)
			}
		}
		if o.Name == op.Random {
			out = append(out, Numbering(k.F, o))
		}
	}
	for _, r := range k.F.Results {
		out = append(out, op.Dense(r.Value.Type))
		if v, ok := k.Views[r.Value]; ok {
			out = append(out, v.Strided)
		}
	}
	return out
}

// pinned are the axes whose position is read: by index, and around lookups.
func (k *Kernel) pinned() map[string]bool {
	out := map[string]bool{}
	for _, o := range k.F.Ops {
		switch op.Of(o).Class {
		case op.Source:
			if o.Attrs.Has("axis") {
				out[o.Attrs.Text("axis")] = true
			}
			for i, a := range o.Result().Type.Axes {
				out[a.Name] = out[a.Name] || o.Name == op.Random && Scattered(k.F, o, i)
			}
		case op.Indexed:
			out[o.Attrs.Text("axis")] = true
			for _, a := range o.Args[len(o.Args)-1].Type.Axes {
				out[a.Name] = true
			}
		}
	}
	if k.Root != nil && k.Class != Gemm {
		out[k.Root.Attrs.Text("axis")] = true
	}
	return out
}
