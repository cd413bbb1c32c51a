package nest

import (
	"fmt"
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// product generates a product.
type product struct {
	*gen
	*fusion.Contraction
	out *Nest
}

// gemm is products: a task owns a block of rows and columns and carries its sums over
// blocks of the contracted axis. What is before the product is computed where its
// operands are demanded, what is after it where its results are stored.
//
//	grid (outer…, rows, cols) { loop contracted… { acc = dot left, right init acc }; compute; store }
//
// Operands that the schedule packs for all tasks are stored to work memory by a phase
// before. A sum in parts is two kernels (package fusion, InParts), and none of this.
func gemm(g *gen, out *Nest) {
	x := &product{gen: g, Contraction: g.k.Contraction, out: out}
	g.mem.declare(x.all())
	for _, o := range []struct {
		v    *ir.Value
		pack schedule.Pack
	}{{x.Left, g.s.Left}, {x.Right, g.s.Right}} {
		if o.pack == schedule.PerPhase && g.instead[o.v] == nil {
			x.pack(o.v)
		}
	}
	root := g.k.Root.Result()
	grid, loops := split(x.Outer, g.s.Grid)
	x.tasks(grid, loops, func() {
		sum := x.sum()
		out.Tiles[root] = sum
		g.know(root, sum)
		g.storeAll()
	})
	out.note(g, x.all())
}

// all are the product's loops.
func (x *product) all() []fusion.Loop { return slices.Concat(x.results(), x.OuterK, x.K) }

// tasks is a phase over blocks of rows and columns.
func (x *product) tasks(grid, loops []fusion.Loop, body func()) {
	inner := append(x.ranges(x.M, x.s.Rows), x.ranges(x.N, x.s.Cols)...)
	x.phase(append(x.ranges(grid), inner...), func() {
		x.nest(loops, nil, func([]*tile.Value) []*tile.Value { body(); return nil })
	})
}

// sum is the product at the present rows and columns.
func (x *product) sum() *tile.Value {
	root := x.gen.k.Root
	acc := []*tile.Value{x.b.Const(root.Result().Type.DType, 0, x.along(root.Result(), x.results())...)}
	return x.nest(x.OuterK, acc, func(acc []*tile.Value) []*tile.Value {
		if len(x.K) == 0 {
			return []*tile.Value{x.step(acc[0])}
		}
		r := block(x.K[0], x.s.Over)
		return x.loop(r, int(x.s.Stages), acc, func(acc []*tile.Value) []*tile.Value {
			x.set(x.K[0], r)
			return []*tile.Value{x.step(acc[0])}
		})
	})[0]
}

// step is acc and the product at the present positions.
func (x *product) step(acc *tile.Value) *tile.Value {
	root := x.gen.k.Root
	loops := append(x.results(), x.K...)
	left := x.operand(x.Left, x.s.Left, x.panels(x.Left, x.M, x.s.Dot.M), loops)
	right := x.operand(x.Right, x.s.Right, x.panels(x.Right, x.N, x.s.Dot.N), loops)
	var over []*tile.Range
	if len(x.K) > 0 {
		over = x.along(x.Left, x.K)
	}
	x.out.Tiles[x.Left], x.out.Tiles[x.Right] = left, right
	return x.b.Dot(left, right, acc, root.Result().Type.DType, over...)
}

// results are the loops of the product's result.
func (x *product) results() []fusion.Loop {
	return slices.Concat(x.Outer, x.M, x.N)
}

// operand is v at the present positions, in shared memory where it is packed by the
// task: copied there if it is only read, else computed there.
func (x *product) operand(v *ir.Value, pack schedule.Pack, l tile.Layout, loops []fusion.Loop) *tile.Value {
	if _, view := x.gen.k.Views[v]; view && pack == schedule.PerTask {
		w := x.mem.view(v)
		at := x.indices(w)
		c := x.b.Copy(w, l, at...)
		x.b.Wait(c)
		return c
	}
	out := x.over(v, x.along(v, loops))
	if pack == schedule.PerTask && out.Type.Space == tile.Reg && out.Def.Kind != tile.For {
		x.b.Share(out, l)
	}
	return out
}

// panels is the layout of v in panels of n positions along free, its loop that is
// not contracted; any where it has none, or where the schedule leaves n open.
func (x *product) panels(v *ir.Value, free []fusion.Loop, n int64) tile.Layout {
	along := x.along(v, free)
	if len(along) == 0 || along[0].Size == 1 || len(x.K) == 0 || block(x.K[0], x.s.Over).Size == 1 || n == 0 {
		return tile.Layout{}
	}
	return tile.Layout{Along: along[0], N: n}
}

// pack is a phase that stores operand v to work memory, dense in the order of its loops.
func (x *product) pack(v *ir.Value) {
	var mine []fusion.Loop
	for _, d := range x.all() {
		if v.Type.Has(d.Last()) {
			mine = append(mine, d)
		}
	}
	view := x.work(fmt.Sprintf("pack%d", len(x.instead)+1), v.Type.DType, mine)
	x.phase(x.ranges(mine, x.s.Over, x.s.Cols), func() {
		x.b.Store(view, x.value(v), x.indices(view)...)
	})
	x.instead[v] = func() known { return x.load(view, x.indices(view), nil) }
}

// work is memory of the program's own over loops.
func (x *product) work(name string, d ir.DType, loops []fusion.Loop) *tile.View {
	s := op.Strided{}
	n := 1
	for _, d := range slices.Backward(loops) {
		s.Axes = append(s.Axes, op.StridedAxis{Name: d.Name(), Size: int(d.Size), Stride: n})
		n *= int(d.Size)
	}
	slices.Reverse(s.Axes)
	buf := x.b.Buffer(name, d, int64(n), tile.Work)
	return x.b.View(buf.Name, buf, s)
}
