package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// scores makes the products whose results are scores known, at the present rows and keys. The
// operand whose positions come first is the left one.
func (f *folding) scores() {
	f.copies()
	for _, o := range f.a.Into {
		left, right := f.operand(o.Row), f.operand(o.Key)
		if !f.overKeys() {
			left, right = right, left
		}
		over := f.along(o.Row, f.contracted(o.Op))
		f.know(o.Result(), f.b.Dot(left, right, nil, o.Result().Type.DType, over...))
	}
}

// contracted are the loops that o sums over, but for those of which a block is one position.
func (f *folding) contracted(o *ir.Op) []fusion.Loop {
	var over []fusion.Loop
	for _, d := range f.all {
		if slices.Contains(o.Attrs.Names("over"), d.Last()) && f.larger(d) {
			over = append(over, d)
		}
	}
	return over
}

func (f *folding) larger(d fusion.Loop) bool {
	r := f.present([]fusion.Loop{d})
	return len(r) > 0 && r[0].Size > 1
}

// operand is v along all loops of its axes, in shared memory where
// the schedule says so.
func (f *folding) operand(v *ir.Value) *tile.Value {
	f.copy(v)
	if c := f.find(v).x; f.copying[c] {
		f.b.Wait(c)
		delete(f.copying, c)
	}
	x := f.over(v, f.along(v, f.all))
	if f.packs(v) == schedule.PerTask && x.Type.Space == tile.Reg && x.Def.Kind != tile.For && x.Def.Kind != tile.Load {
		f.b.Share(x, tile.Layout{})
	}
	return x
}

// copy starts to copy v to shared memory, if the schedule says so and it is only read. What is
// copied before a loop is waited for there.
func (f *folding) copy(v *ir.Value) {
	if _, view := f.k.Views[v]; !view || f.packs(v) != schedule.PerTask || f.isKnown(v) {
		return
	}
	w := f.mem.view(v)
	at := f.indices(w)
	x := f.place(nil, rangesOf(at), func([]*tile.Value) *tile.Value { return f.b.Copy(w, tile.Layout{}, at...) })
	f.scopes[x.depth-1][v] = x
	if x.depth == f.b.Depth() {
		f.copying[x.x] = true
		return
	}
	f.b.Hoist(x.depth, func() { f.b.Wait(x.x) })
}

// copies starts all copies of the present block, in the order in which they are read.
func (f *folding) copies() {
	for _, o := range f.a.Into {
		for _, v := range o.Args {
			f.copy(v)
		}
	}
	for _, o := range f.Outs {
		f.copy(o.Of)
	}
}

// packs is where the schedule puts operand v.
func (f *folding) packs(v *ir.Value) schedule.Pack {
	if v.Type.Has(f.a.Key.Name) {
		return f.s.Right
	}
	return f.s.Left
}

func (f *folding) isKnown(v *ir.Value) bool {
	return slices.ContainsFunc(f.scopes, func(s map[*ir.Value]known) bool { _, ok := s[v]; return ok })
}

// zero are sums of v to begin with.
func (f *folding) zero(v *ir.Value) *tile.Value {
	return f.b.Const(v.Type.DType.Acc(), 0, f.along(v, f.all)...)
}

// sum is acc and the product o of the weights at the present rows and keys.
func (f *folding) sum(o *fusion.Out, acc *tile.Value) *tile.Value {
	left := f.over(o.Weights, f.along(o.Weights, f.all))
	return f.b.Dot(left, f.operand(o.Of), acc, acc.Type.DType, f.along(o.Of, f.contracted(o.Op))...)
}
