package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// scatter generates scatter_add. A task owns a slice of the contiguous axis of
// the result, where that axis comes from the updates: it clears the slice, and
// adds every update in order, so that the sum does not depend on threads.
func (g *gen) scatter() (*kernel.Kernel, error) {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	out := root.Result().Type
	idx := root.Args[1].Type
	s := &scattering{gen: g, root: root, axis: axis}

	// Axes of the result that only the updates have may be cut into tasks.
	free := func(a ir.Axis) bool { return a.Name != axis && !idx.Has(a.Name) }
	var own *ir.Axis
	if n := len(out.Axes); n > 0 && free(out.Axes[n-1]) && out.Axes[n-1].Size > 1 {
		own = &out.Axes[n-1]
	}
	for _, a := range out.Axes {
		switch {
		case a.Size == 1 && a.Name != axis:
			g.at[a.Name] = coord{}
		case own != nil && a.Name == own.Name:
		case a.Name == axis:
		case free(a):
			s.free = append(s.free, dim{[]string{a.Name}, int64(a.Size)})
		default:
			s.shared = append(s.shared, dim{[]string{a.Name}, int64(a.Size)})
		}
	}
	for _, a := range root.Args[0].Type.Axes {
		if !out.Has(a.Name) {
			s.summed = append(s.summed, dim{[]string{a.Name}, int64(a.Size)})
		}
	}
	if own == nil {
		g.begin(1)
		s.run(func(body func()) { body() })
		return g.b.Finish()
	}
	return s.cut(dim{[]string{own.Name}, int64(own.Size)})
}

type scattering struct {
	*gen
	root   *ir.Op
	axis   string
	free   []dim // of the result and the updates, not the indices
	shared []dim // of the result and the indices
	summed []dim // of the indices, not the result
}

// cut makes tasks of blocks of the contiguous axis.
func (s *scattering) cut(own dim) (*kernel.Kernel, error) {
	lanes := s.vectorLanes()
	width := lanes
	for width*2*8 <= own.size {
		width *= 2
	}
	tasks := (own.size + width - 1) / width
	s.begin(tasks)
	lo := s.b.Task().Mul(width)
	block := func(n int64) func() {
		return func() { s.run(func(body func()) { s.sweep(own, lo, n, body) }) }
	}
	rest := own.size - (tasks-1)*width
	if rest == width {
		block(width)()
		return s.b.Finish()
	}
	t := s.taskValue()
	s.b.If(s.b.Lt(t, s.b.ConstInt(t.Type, tasks-1)),
		func() []*kernel.Value { s.within(block(width)); return nil },
		func() []*kernel.Value { s.within(block(rest)); return nil })
	return s.b.Finish()
}

// run clears the task's part of the result and adds the updates; along runs
// its argument over the contiguous axis.
func (s *scattering) run(along func(body func())) {
	n := int64(s.root.Result().Type.Size(s.axis))
	looked := dim{[]string{s.axis}, n}
	outer := append(append([]dim(nil), s.shared...), s.free...)
	t := s.root.Result().Type
	view := op.Dense(t)
	s.nest(append([]dim{looked}, outer...), nil, func() {
		along(func() { s.storeTo(s.results[0], view, s.b.Const(register(t.DType, 1), 0)) })
	})
	s.nest(append(append([]dim(nil), s.summed...), s.shared...), nil, func() {
		j := s.local(s.value(s.root.Args[1]), s.root.Result().Type, s.axis)
		c, inside := s.lookup(j, n)
		s.b.If(inside, func() []*kernel.Value {
			s.within(func() {
				s.nest(s.free, nil, func() {
					along(func() {
						up := s.value(s.root.Args[0])
						s.at[s.axis] = c
						sum := s.b.Add(s.b.Splat(s.load(s.results[0], view), up.Type.Lanes), up)
						s.storeTo(s.results[0], view, sum)
						delete(s.at, s.axis)
					})
				})
			})
			return nil
		}, nil)
	})
}
