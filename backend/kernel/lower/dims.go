package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// dim is one loop: axes that are next to each other in every buffer, as one.
type dim struct {
	axes []string // major first
	size int64
}

// set puts the computation at position c of the loop: the last axis carries
// the linear position, the others stand still.
func (g *gen) set(d dim, c coord) {
	for i, a := range d.axes {
		if i == len(d.axes)-1 {
			g.at[a] = c
		} else {
			g.at[a] = coord{}
		}
	}
}

// dims merges axes, given in loop order, into loops. Axes of size 1 need none.
// A dimension named in pinned stays apart: something reads its position.
func (g *gen) dims(axes []ir.Axis) []dim {
	views := g.strides()
	pinned := g.pinned()
	var out []dim
	for _, a := range axes {
		if a.Size == 1 {
			g.at[a.Name] = coord{}
			continue
		}
		n := len(out)
		if n > 0 && !pinned[a.Name] && !pinned[last(out[n-1])] && adjacent(views, last(out[n-1]), a) {
			out[n-1].axes = append(out[n-1].axes, a.Name)
			out[n-1].size *= int64(a.Size)
			continue
		}
		out = append(out, dim{[]string{a.Name}, int64(a.Size)})
	}
	return out
}

func last(d dim) string { return d.axes[len(d.axes)-1] }

// adjacent reports whether, in every view, axis a follows outer without a gap,
// or neither is there.
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

// strides lists the views that are loaded or stored, and the element numbers
// of random operations, which count like a dense buffer.
func (g *gen) strides() []op.Strided {
	var out []op.Strided
	for _, o := range g.k.F.Ops {
		if _, ok := g.k.Views[o.Result()]; ok {
			continue
		}
		for _, a := range o.Args {
			if v, ok := g.k.Views[a]; ok {
				out = append(out, v.Strided)
			}
		}
		if o.Name == op.Random {
			out = append(out, g.numbering(o))
		}
	}
	for _, r := range g.k.F.Results {
		out = append(out, op.Dense(r.Value.Type))
		if v, ok := g.k.Views[r.Value]; ok {
			out = append(out, v.Strided)
		}
	}
	return out
}

// numbering sees the elements that this device computes of a source as they
// are numbered in the whole tensor.
func (g *gen) numbering(o *ir.Op) op.Strided {
	t := o.Result().Type
	whole := t.Clone()
	for i, a := range t.Axes {
		whole.Axes[i].Size = op.WholeOf(o, i, g.parts(a))
	}
	v := op.Dense(whole)
	for i, a := range t.Axes {
		v.Axes[i].Size = a.Size
		v.Offset += op.FirstOf(o, i) * v.Axes[i].Stride
	}
	return v
}

// pinned lists the axes whose position is read: by index, and around lookups.
func (g *gen) pinned() map[string]bool {
	out := map[string]bool{}
	for _, o := range g.k.F.Ops {
		switch op.Of(o).Class {
		case op.Source:
			if o.Attrs.Has("axis") {
				out[o.Attrs.Text("axis")] = true
			}
		case op.Indexed:
			out[o.Attrs.Text("axis")] = true
			for _, a := range o.Args[len(o.Args)-1].Type.Axes {
				out[a.Name] = true
			}
		}
	}
	if g.k.Root != nil && g.k.Class != "gemm" {
		out[g.k.Root.Attrs.Text("axis")] = true
	}
	return out
}

// tasksOf splits loops into those that number the tasks and those inside a
// task: enough tasks to balance many threads, but no more of them than useful.
func tasksOf(dims []dim, inner int64) (outer, rest []dim, tasks int64) {
	const enough, minWork = 64, 4096
	tasks = 1
	work := inner
	for _, d := range dims {
		work *= d.size
	}
	for len(dims) > 0 && tasks < enough && (tasks == 1 || work/tasks > minWork) {
		tasks *= dims[0].size
		outer, dims = append(outer, dims[0]), dims[1:]
	}
	return outer, dims, tasks
}

// position puts the computation where number t, of the loops in dims taken as
// one, is.
func (g *gen) position(dims []dim, t *kernel.Value) {
	for i := len(dims) - 1; i >= 0; i-- {
		if i == 0 {
			g.set(dims[0], coord{idx: kernel.Of(t)})
			return
		}
		n := g.b.ConstInt(kernel.Scalar(kernel.I64), dims[i].size)
		g.set(dims[i], coord{idx: kernel.Of(g.b.Rem(t, n))})
		t = g.b.Div(t, n)
	}
}

// taskValue is the number of the running task as a value.
func (g *gen) taskValue() *kernel.Value { return g.b.Value(g.b.Task()) }

// nest runs body inside a loop for each of dims.
func (g *gen) nest(dims []dim, hoist func(inner []dim), body func()) {
	if len(dims) == 0 {
		body()
		return
	}
	if hoist != nil {
		hoist(dims)
	}
	g.b.For(kernel.Span(dims[0].size), func(i kernel.Index) {
		g.within(func() {
			g.set(dims[0], coord{idx: i})
			g.nest(dims[1:], hoist, body)
		})
	})
}
