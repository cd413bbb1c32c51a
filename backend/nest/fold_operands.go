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
		row, key := o.Args[0], o.Args[1]
		if row.Type.Has(f.a.Key.Name) {
			row, key = key, row
		}
		left, right := f.operand(row, f.packs(row)), f.operand(key, f.packs(key))
		if !f.overKeys() {
			left, right = right, left
		}
		over := f.along(row, f.contracted(o))
		f.know(o.Result(), f.b.Dot(left, right, nil, o.Result().Type.DType, over...))
	}
}

// contracted are the dimensions that o sums over, but for those of which there is one position.
func (f *folding) contracted(o *ir.Op) []fusion.Loop {
	var over []fusion.Loop
	for _, d := range f.dimensions {
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

// operand is v at the present positions with all dimensions that it has, in shared memory where
// the schedule says so.
func (f *folding) operand(v *ir.Value, pack schedule.Pack) *tile.Value {
	f.copy(v, pack)
	if c := f.find(v).x; f.copying[c] {
		f.b.Wait(c)
		delete(f.copying, c)
	}
	x := f.over(v, f.along(v, f.dimensions))
	if pack == schedule.PerTask && x.Type.Space == tile.Reg && x.Def.Kind != tile.For && x.Def.Kind != tile.Load {
		f.b.Share(x, tile.Layout{})
	}
	return x
}

// copy starts to copy v to shared memory, if the schedule says so and it is only read. What is
// copied before a loop is waited for there.
func (f *folding) copy(v *ir.Value, pack schedule.Pack) {
	if _, view := f.k.Views[v]; !view || pack != schedule.PerTask || f.isKnown(v) {
		return
	}
	w := f.view(v)
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
			f.copy(v, f.packs(v))
		}
	}
	for _, o := range f.outs {
		_, of := f.weights(o)
		f.copy(of, f.packs(of))
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

// zero are sums of o's result to begin with.
func (f *folding) zero(o *ir.Op) *tile.Value {
	v := o.Result()
	return f.b.Const(v.Type.DType.Acc(), 0, f.along(v, f.dimensions)...)
}

// sum is acc and the product o of the weights at the present rows and keys.
func (f *folding) sum(o *ir.Op, acc *tile.Value) *tile.Value {
	weights, of := f.weights(o)
	left := f.over(weights, f.along(weights, f.dimensions))
	return f.b.Dot(left, f.operand(of, f.packs(of)), acc, acc.Type.DType, f.along(of, f.contracted(o))...)
}
