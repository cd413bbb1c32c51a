package op

import "ptc/ir"

// Strided is a way to see a dense buffer as a tensor: each axis has a distance
// in elements between neighbours (0 repeats the element).
type Strided struct {
	Offset int // elements before the first
	Axes   []StridedAxis
}

// StridedAxis is one axis of a [Strided] view.
type StridedAxis struct {
	Name         string
	Size, Stride int
	// Pad is how many elements follow the last one that hold nothing and are nobody else's: they
	// may be read and overwritten.
	Pad int
}

// Dense is the view of a buffer that stores t row-major, rows with their padding.
func Dense(t ir.Type) Strided {
	v := Strided{Axes: make([]StridedAxis, len(t.Axes))}
	for i, s := range t.Steps() {
		v.Axes[i] = StridedAxis{Name: t.Axes[i].Name, Size: t.Axes[i].Size, Stride: s}
	}
	if n := len(v.Axes); n > 0 {
		v.Axes[n-1].Pad = t.Pad
	}
	return v
}

// Axis is the named axis, or false.
func (s Strided) Axis(name string) (StridedAxis, bool) {
	for _, a := range s.Axes {
		if a.Name == name {
			return a, true
		}
	}
	return StridedAxis{}, false
}

// ViewFunc says how a movement operation's result is a view of the buffer that
// its operand is a view of; false where the strides do not allow it.
type ViewFunc func(o *ir.Op, in Strided) (Strided, bool)

// View is the result of o as a view of its operand's buffer; false where its
// row has no view or the strides do not allow it.
func View(o *ir.Op, in Strided) (Strided, bool) {
	if !CanView(o) {
		return Strided{}, false
	}
	return Of(o).View(o, in)
}

// CanView reports whether o may be a view, given the right strides.
func CanView(o *ir.Op) bool {
	d := Lookup(o.Name)
	return d != nil && d.View != nil
}

func viewRename(o *ir.Op, in Strided) (Strided, bool) {
	out := Strided{Offset: in.Offset, Axes: append([]StridedAxis(nil), in.Axes...)}
	for i := range out.Axes {
		for _, p := range o.Attrs.Pairs("axes") {
			if in.Axes[i].Name == p.From {
				out.Axes[i].Name = p.To
			}
		}
	}
	return out, true
}

// viewByName orders the axes as the result does; those that are missing
// repeat.
func viewByName(o *ir.Op, in Strided) (Strided, bool) {
	out := Strided{Offset: in.Offset}
	for _, a := range o.Result().Type.Axes {
		x, ok := in.Axis(a.Name)
		if !ok {
			x = StridedAxis{Name: a.Name, Size: a.Size}
		}
		out.Axes = append(out.Axes, x)
	}
	return out, true
}

func viewSplit(o *ir.Op, in Strided) (Strided, bool) {
	out := Strided{Offset: in.Offset}
	axis, into := o.Attrs.Text("axis"), o.Attrs.Sizes("into")
	for _, a := range in.Axes {
		if a.Name != axis {
			out.Axes = append(out.Axes, a)
			continue
		}
		stride := a.Stride * a.Size
		for _, p := range into {
			stride /= p.N
			out.Axes = append(out.Axes, StridedAxis{Name: p.Name, Size: p.N, Stride: stride})
		}
	}
	return out, true
}

func viewMerge(o *ir.Op, in Strided) (Strided, bool) {
	names := o.Attrs.Names("axes")
	out := Strided{Offset: in.Offset}
	for i := 0; i < len(in.Axes); i++ {
		if in.Axes[i].Name != names[0] {
			out.Axes = append(out.Axes, in.Axes[i])
			continue
		}
		if i+len(names) > len(in.Axes) {
			return Strided{}, false
		}
		m := StridedAxis{Name: o.Attrs.Text("into"), Size: 1}
		for k := range names {
			a := in.Axes[i+k]
			if k > 0 && in.Axes[i+k-1].Stride != a.Stride*a.Size {
				return Strided{}, false
			}
			m.Size *= a.Size
			m.Stride = a.Stride
		}
		out.Axes = append(out.Axes, m)
		i += len(names) - 1
	}
	return out, true
}

func viewSlice(o *ir.Op, in Strided) (Strided, bool) {
	out := Strided{Offset: in.Offset, Axes: append([]StridedAxis(nil), in.Axes...)}
	axis := o.Attrs.Text("axis")
	for i, a := range out.Axes {
		if a.Name == axis {
			start := int(o.Attrs.Int("start", 0))
			out.Offset += start * a.Stride
			limit := int(o.Attrs.Int("limit", int64(a.Size)))
			if out.Axes[i].Size = limit - start; limit < a.Size {
				out.Axes[i].Pad = 0
			}
		}
	}
	return out, true
}
