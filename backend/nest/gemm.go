package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/op"
)

// contraction is a dot as a matrix product with loops around it.
type contraction struct {
	*gen
	left, right   *ir.Value // operands: left has the rows, right the columns
	m, n, k       []dim     // of each at most one: rows, columns, and the contracted axis
	outer, outerK []dim
	works         int // how many memories of its own the program has
}

// gemm is products: a task owns a block of rows and columns and carries its sums over
// blocks of the contracted axis. What is before the product is computed where its
// operands are demanded, what is after it where its results are stored.
//
//	grid (outer…, rows, cols) { loop contracted… { acc = dot left, right init acc }; compute; store }
//
// Operands that the schedule packs for all tasks are stored to work memory by a phase
// before. A sum in parts is two kernels (package fusion, InParts), and none of this.
func (g *gen) gemm() {
	x := newContraction(g)
	g.declare()
	for _, o := range []struct {
		v    *ir.Value
		pack schedule.Pack
	}{{x.left, g.s.Left}, {x.right, g.s.Right}} {
		if o.pack == schedule.PerPhase && g.packed[o.v] == nil {
			x.pack(o.v)
		}
	}
	root := g.k.Root.Result()
	grid, loops := g.outer(x.outer)
	x.tasks(grid, loops, func() {
		g.know(root, x.sum())
		g.storeAll()
	})
}

// tasks is a phase over blocks of rows and columns.
func (x *contraction) tasks(grid, loops []dim, body func()) {
	inner := append(x.ranges(x.m, x.s.Rows), x.ranges(x.n, x.s.Cols)...)
	x.phase(append(x.ranges(grid), inner...), func() {
		x.nest(loops, nil, func([]*tile.Value) []*tile.Value { body(); return nil })
	})
}

// sum is the product at the present rows and columns.
func (x *contraction) sum() *tile.Value {
	root := x.gen.k.Root
	acc := []*tile.Value{x.b.Const(root.Result().Type.DType, 0, x.along(root.Result(), x.results())...)}
	return x.nest(x.outerK, acc, func(acc []*tile.Value) []*tile.Value {
		if len(x.k) == 0 {
			return []*tile.Value{x.product(acc[0])}
		}
		r := x.k[0].block(x.s.Over)
		return x.loop(r, int(x.s.Stages), acc, func(acc []*tile.Value) []*tile.Value {
			x.set(x.k[0], r)
			return []*tile.Value{x.product(acc[0])}
		})
	})[0]
}

// product is acc and the product at the present positions.
func (x *contraction) product(acc *tile.Value) *tile.Value {
	root := x.gen.k.Root
	dims := append(x.results(), x.k...)
	left := x.operand(x.left, x.s.Left, x.panels(x.left, x.m, x.s.Dot.M), dims)
	right := x.operand(x.right, x.s.Right, x.panels(x.right, x.n, x.s.Dot.N), dims)
	var over []*tile.Range
	if len(x.k) > 0 {
		over = x.along(x.left, x.k)
	}
	return x.b.Dot(left, right, acc, root.Result().Type.DType, over...)
}

// results are the dimensions of the product's result.
func (x *contraction) results() []dim {
	return append(append(append([]dim(nil), x.outer...), x.m...), x.n...)
}

// operand is v at the present positions, in shared memory where it is packed by the
// task: copied there if it is only read, else computed there.
func (x *contraction) operand(v *ir.Value, pack schedule.Pack, l tile.Layout, dims []dim) *tile.Value {
	if _, view := x.gen.k.Views[v]; view && pack == schedule.PerTask {
		w := x.view(v)
		at := x.indices(w)
		c := x.b.Copy(w, l, at...)
		x.b.Wait(c)
		return c
	}
	out := x.over(v, x.along(v, dims))
	if pack == schedule.PerTask && out.Type.Space == tile.Reg && out.Def.Kind != tile.For {
		x.b.Share(out, l)
	}
	return out
}

// panels is the layout of v in panels of n positions along free, its dimension that is
// not contracted; any where it has none, or where the schedule leaves n open.
func (x *contraction) panels(v *ir.Value, free []dim, n int64) tile.Layout {
	along := x.along(v, free)
	if len(along) == 0 || along[0].Size == 1 || len(x.k) == 0 || x.k[0].block(x.s.Over).Size == 1 || n == 0 {
		return tile.Layout{}
	}
	return tile.Layout{Along: along[0], N: n}
}

// pack is a phase that stores operand v to work memory, dense in the order of its dims.
func (x *contraction) pack(v *ir.Value) {
	var mine []dim
	for _, d := range append(append(x.results(), x.outerK...), x.k...) {
		if v.Type.Has(d.last()) {
			mine = append(mine, d)
		}
	}
	view := x.work("pack", v.Type.DType, mine)
	x.phase(x.ranges(mine, x.s.Over, x.s.Cols), func() {
		x.b.Store(view, x.value(v), x.indices(view)...)
	})
	x.packed[v] = view
}

// work is memory of the program's own with the dimensions.
func (x *contraction) work(name string, d ir.DType, dims []dim) *tile.View {
	s := op.Strided{}
	n := 1
	for _, d := range slices.Backward(dims) {
		s.Axes = append(s.Axes, op.StridedAxis{Name: d.name(), Size: int(d.size), Stride: n})
		n *= int(d.size)
	}
	slices.Reverse(s.Axes)
	x.works++
	buf := x.b.Buffer(name+string(rune('0'+x.works)), d, int64(n), tile.Work)
	return x.b.View(buf.Name, buf, s)
}

func newContraction(g *gen) *contraction {
	root := g.k.Root
	x := &contraction{gen: g, left: root.Args[0], right: root.Args[1]}
	// Columns are the axis that the result stores last.
	for _, a := range slices.Backward(g.k.Space) {
		l, r := x.left.Type.Has(a.Name), x.right.Type.Has(a.Name)
		if l == r || a.Size == 1 {
			continue
		}
		if l {
			x.left, x.right = x.right, x.left
		}
		break
	}
	has := func(l, r bool) []dim {
		var out []ir.Axis
		for _, a := range g.k.Space {
			if x.left.Type.Has(a.Name) == l && x.right.Type.Has(a.Name) == r {
				out = append(out, a)
			}
		}
		return g.dims(out)
	}
	var ks []ir.Axis
	for _, a := range x.left.Type.Axes {
		if slices.Contains(root.Attrs.Names("over"), a.Name) {
			ks = append(ks, a)
		}
	}
	x.outer = has(true, true)
	ms, ns, kd := has(true, false), has(false, true), g.dims(ks)
	x.m, ms = take(ms, largest(ms))
	x.n, ns = take(ns, len(ns)-1)
	x.k, x.outerK = take(kd, len(kd)-1)
	x.outer = append(append(x.outer, ms...), ns...)
	return x
}

// largest is where the largest of dims is, the last one of several.
func largest(dims []dim) int {
	best := len(dims) - 1
	for i, d := range dims {
		if d.size > dims[best].size {
			best = i
		}
	}
	return best
}

// take separates the i-th of dims, if there are any.
func take(dims []dim, i int) (one, rest []dim) {
	if len(dims) == 0 {
		return nil, nil
	}
	return dims[i : i+1], slices.Concat(dims[:i], dims[i+1:])
}
