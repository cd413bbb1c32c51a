package nest

import (
	"strings"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// dim is one loop: axes that are next to each other in every view, as one.
type dim struct {
	axes []string // major first
	size int64
}

// name is what the axis of d is called in views.
func (d dim) name() string { return strings.Join(d.axes, ".") }

func (d dim) last() string { return d.axes[len(d.axes)-1] }

// block is a range of d in blocks of the given size; 0 is the whole.
func (d dim) block(size int64) *tile.Range {
	if size == 0 {
		size = d.size
	}
	return &tile.Range{Name: d.name(), Axis: d.name(), Extent: d.size, Size: min(size, d.size)}
}

// dims merges axes, given in loop order, into loops. Axes of size 1 need none. A
// dimension named in pinned stays apart: something reads its position.
func (g *gen) dims(axes []ir.Axis) []dim {
	out := mergeable(g.k, axes)
	for _, d := range out {
		if len(d.axes) > 1 {
			g.merged = append(g.merged, d)
		}
	}
	return out
}

func mergeable(k *fusion.Kernel, axes []ir.Axis) []dim {
	views := strides(k)
	pin := pinned(k)
	var out []dim
	for _, a := range axes {
		if a.Size == 1 {
			continue
		}
		n := len(out)
		if n > 0 && !pin[a.Name] && !pin[out[n-1].last()] && adjacent(views, out[n-1].last(), a) {
			out[n-1].axes = append(out[n-1].axes, a.Name)
			out[n-1].size *= int64(a.Size)
			continue
		}
		out = append(out, dim{[]string{a.Name}, int64(a.Size)})
	}
	return out
}

// single makes a dimension of each axis larger than 1.
func single(axes []ir.Axis) []dim {
	var out []dim
	for _, a := range axes {
		if a.Size > 1 {
			out = append(out, dim{[]string{a.Name}, int64(a.Size)})
		}
	}
	return out
}

// adjacent reports whether, in every view, axis a follows outer without a gap, or
// neither is there.
func adjacent(views []op.Strided, outer string, a ir.Axis) bool {
	for _, v := range views {
		x, hasX := v.Axis(outer)
		y, hasY := v.Axis(a.Name)
		if hasX != hasY || hasX && x.Stride != y.Stride*y.Size {
			return false
		}
	}
	return true
}

// strides lists the views that are loaded or stored, and the element numbers of random
// operations, which count like a dense buffer.
func strides(k *fusion.Kernel) []op.Strided {
	var out []op.Strided
	for _, o := range k.F.Ops {
		if _, ok := k.Views[o.Result()]; ok {
			continue
		}
		for _, a := range o.Args {
			if v, ok := k.Views[a]; ok {
				out = append(out, v.Strided)
			}
		}
		if o.Name == op.Random {
			out = append(out, numbering(k.F, o))
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

// pinned lists the axes whose position is read: by index, and around lookups.
func pinned(k *fusion.Kernel) map[string]bool {
	out := map[string]bool{}
	for _, o := range k.F.Ops {
		switch op.Of(o).Class {
		case op.Source:
			if o.Attrs.Has("axis") {
				out[o.Attrs.Text("axis")] = true
			}
			for i, a := range o.Result().Type.Axes {
				out[a.Name] = out[a.Name] || o.Name == op.Random && scattered(k.F, o, i)
			}
		case op.Indexed:
			out[o.Attrs.Text("axis")] = true
			for _, a := range o.Args[len(o.Args)-1].Type.Axes {
				out[a.Name] = true
			}
		}
	}
	if k.Root != nil && k.Class != fusion.Gemm {
		out[k.Root.Attrs.Text("axis")] = true
	}
	return out
}

// joined is s with the axes of size 1 left out, unless positions are looked up along them, and those that became one merged.
func (g *gen) joined(s op.Strided) op.Strided {
	out := op.Strided{Offset: s.Offset}
	done := map[string]bool{}
	for _, a := range s.Axes {
		if a.Size == 1 && !g.looked[a.Name] || done[a.Name] {
			continue
		}
		x := a
		for _, d := range g.merged {
			if !has(d.axes, a.Name) {
				continue
			}
			inner, _ := s.Axis(d.last())
			x = op.StridedAxis{Name: d.name(), Size: int(d.size), Stride: inner.Stride}
			for _, n := range d.axes {
				done[n] = true
			}
		}
		out.Axes = append(out.Axes, x)
	}
	return out
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// declare makes the views of the results; all merging is done by then.
func (g *gen) declare() {
	g.outs = make([]*tile.View, len(g.results))
	for _, i := range g.stored {
		g.outs[i] = g.b.View(g.results[i].Name, g.results[i], g.joined(op.Dense(g.k.F.Results[i].Value.Type)))
	}
}
