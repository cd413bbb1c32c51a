package lower

import (
	"fmt"
	"math"

	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// value computes v at the present position: a vector where v varies along the
// vector axis, else a scalar.
func (g *gen) value(v *ir.Value) *kernel.Value {
	for i := len(g.scopes) - 1; i >= 0; i-- {
		if x := g.scopes[i][v]; x != nil {
			return x
		}
	}
	x := g.compute(v)
	g.scopes[len(g.scopes)-1][v] = x
	return x
}

// know records that v is x in the present scope.
func (g *gen) know(v *ir.Value, x *kernel.Value) { g.scopes[len(g.scopes)-1][v] = x }

func (g *gen) compute(v *ir.Value) *kernel.Value {
	if w, ok := g.k.Views[v]; ok {
		return g.load(g.args[w.Arg], w.Strided)
	}
	if load := g.loads[v]; load != nil {
		return load()
	}
	n := natives[v.Def.Name]
	if n.value == nil {
		panic(fmt.Sprintf("lower: %s is not computed element by element", v.Def.Name))
	}
	return n.value(g, v.Def)
}

// ref is the place of a view's element at the present position.
func (g *gen) ref(buf *kernel.Buffer, s op.Strided) (kernel.Ref, bool) {
	idx := kernel.Int(int64(s.Offset))
	vec := int64(0)
	var lanes *kernel.Value
	for _, a := range s.Axes {
		c := g.at[a.Name]
		idx = idx.Add(c.idx.Mul(int64(a.Stride)))
		if c.vec {
			vec += int64(a.Stride)
		}
		if c.lane != nil {
			t := c.lane.Type
			x := g.b.Mul(c.lane, g.b.ConstInt(t, int64(a.Stride)))
			if lanes != nil {
				x = g.b.Add(lanes, x)
			}
			lanes = x
		}
	}
	r := kernel.Ref{Buf: buf, Index: idx, Stride: vec}
	if lanes != nil {
		if vec != 0 {
			step := g.b.Mul(g.b.Iota(g.lanes), g.b.ConstInt(lanes.Type, vec))
			lanes = g.b.Add(lanes, step)
		}
		r.Stride, r.Gather = 1, lanes
	}
	return r, vec != 0 || lanes != nil
}

func (g *gen) load(buf *kernel.Buffer, s op.Strided) *kernel.Value {
	r, vector := g.ref(buf, s)
	if !vector {
		r.Stride = 0
		return g.b.Load(r, 1)
	}
	return g.b.Load(r.Masked(g.mask), g.lanes)
}

// store writes x to the element of result i at the present position.
func (g *gen) store(i int, x *kernel.Value) {
	t := g.k.F.Results[i].Value.Type
	g.storeTo(g.results[i], op.Dense(t), x)
}

func (g *gen) storeTo(buf *kernel.Buffer, s op.Strided, x *kernel.Value) {
	r, vector := g.ref(buf, s)
	if !vector {
		if x.Type.Lanes > 1 { // of a contraction without a last axis, the first lane is the result
			x = g.b.Extract(x, 0)
		}
		g.b.Store(kernel.Ref{Buf: r.Buf, Index: r.Index, Stride: 1}, x)
		return
	}
	g.b.Store(r.Masked(g.mask), g.b.Splat(x, g.lanes))
}

func register(d ir.DType, lanes int) kernel.Type {
	return kernel.Vec(elem(d).Register(), lanes)
}

func (g *gen) constant(o *ir.Op) *kernel.Value {
	return g.b.Const(register(o.Result().Type.DType, 1), o.Attrs.Float("value", 0))
}

// index is the global position along an axis.
func (g *gen) index(o *ir.Op) *kernel.Value {
	c := g.at[o.Attrs.Text("axis")]
	x := g.b.Convert(g.b.Value(c.idx), kernel.I32)
	if first := g.offset(o.Result().Type.Axes[0]); first != nil {
		x = g.b.Add(x, first)
	}
	if k := op.FirstOf(o, 0); k != 0 {
		x = g.b.Add(x, g.b.ConstInt(x.Type, int64(k)))
	}
	return g.spread(x, c)
}

// spread adds what distinguishes the lanes of position c to x, an i32 scalar.
func (g *gen) spread(x *kernel.Value, c coord) *kernel.Value {
	if c.vec {
		x = g.b.Add(g.b.Splat(x, g.lanes), g.b.Iota(g.lanes))
	}
	if c.lane != nil {
		x = g.b.Add(g.b.Splat(x, g.lanes), c.lane)
	}
	return x
}

// random is Philox at the element's global number, as the row of random
// defines it.
func (g *gen) random(o *ir.Op) *kernel.Value {
	view := g.numbering(o)
	r, vector := g.ref(nil, view)
	i64 := kernel.I64
	e := g.b.Value(r.Index)
	for i, a := range o.Result().Type.Axes {
		if first := g.offset(a); first != nil {
			wide := g.b.Convert(first, i64)
			e = g.b.Add(e, g.b.Mul(wide, g.b.ConstInt(wide.Type, int64(view.Axes[i].Stride))))
		}
		if a.Name == o.Attrs.Text(ir.AttrMoves) {
			wide := g.b.Convert(g.value(o.Args[len(o.Args)-1]), i64)
			e = g.b.Add(e, g.b.Mul(wide, g.b.ConstInt(wide.Type, int64(view.Axes[i].Stride))))
		}
	}
	lanes := 1
	if vector {
		lanes = g.lanes
		e = g.b.Splat(e, lanes)
		step := g.b.Iota(lanes)
		if r.Gather != nil {
			step = r.Gather
		}
		s := g.b.Convert(step, i64)
		e = g.b.Add(e, g.b.Mul(s, g.b.ConstInt(s.Type, r.Stride)))
	}
	lo := g.low(e)
	hi := g.low(g.b.LShr(e, g.b.ConstInt(e.Type, 32)))
	word := func(v *ir.Value) *kernel.Value { return g.b.Splat(g.value(v), lanes) }
	i32 := kernel.Vec(kernel.I32, lanes)
	site := g.b.ConstInt(i32, int64(int32(uint32(o.Attrs.Int(ir.AttrSite, 0)))))
	if o.Attrs.Has(ir.AttrEach) {
		site = g.b.Add(site, g.b.Mul(word(o.Args[2]), g.b.ConstInt(i32, o.Attrs.Int(ir.AttrEach, 0))))
	}
	words := g.b.Philox(
		[4]*kernel.Value{lo, hi, site, word(o.Args[1])},
		[2]*kernel.Value{word(o.Args[0]), g.b.ConstInt(i32, tensor.RandomKey)})
	if o.Attrs.Text("dist") == "uniform" {
		return g.b.Uniform(words[0])
	}
	return g.normal(words[0], words[1])
}

// low is the lower half of each i64.
func (g *gen) low(x *kernel.Value) *kernel.Value { return g.b.Convert(x, kernel.I32) }

// normal is Box and Muller's transform (Ann. Math. Stat. 29, 1958) of two
// random words, as tensor.Normal has it: u1 in (0, 1], u2 in [0, 1).
func (g *gen) normal(w1, w2 *kernel.Value) *kernel.Value {
	b := g.b
	u1 := b.Add(b.Uniform(w1), b.F32(1.0/(1<<24), w1.Type.Lanes))
	u2 := b.Uniform(w2)
	r := b.Sqrt(b.Mul(b.Like(u1, -2), b.Log(u1)))
	return b.Mul(r, b.Cos(b.Mul(b.Like(u2, 2*math.Pi), u2)))
}

// gather looks an element up; an index out of range gives zero.
func (g *gen) gather(o *ir.Op) *kernel.Value {
	axis := o.Attrs.Text("axis")
	n := int64(o.Args[0].Type.Size(axis))
	j := g.local(g.value(o.Args[1]), o.Args[0].Type, axis)
	c, inside := g.lookup(j, n)
	old := g.at[axis]
	g.at[axis] = c
	w := g.k.Views[o.Args[0]]
	x := g.load(g.args[w.Arg], w.Strided)
	g.at[axis] = old
	lanes := max(x.Type.Lanes, inside.Type.Lanes)
	x = g.b.Splat(x, lanes)
	return g.b.Select(g.b.Splat(inside, lanes), x, g.b.Like(x, 0))
}

// local is the global position j along an axis of t as a position in the part
// that this device holds.
func (g *gen) local(j *kernel.Value, t ir.Type, axis string) *kernel.Value {
	first := g.offset(t.Axes[t.Index(axis)])
	if first == nil {
		return j
	}
	return g.b.Sub(j, g.b.Splat(first, j.Type.Lanes))
}

// lookup is index j, kept within [0, n), as a position, and whether it was in
// range.
func (g *gen) lookup(j *kernel.Value, n int64) (coord, *kernel.Value) {
	zero, top := g.b.ConstInt(j.Type, 0), g.b.ConstInt(j.Type, n-1)
	inside := g.b.And(g.b.Le(zero, j), g.b.Le(j, top))
	j = g.b.Min(g.b.Max(j, zero), top)
	if j.Type.Lanes == 1 {
		return coord{idx: kernel.Of(g.b.Convert(j, kernel.I64))}, inside
	}
	return coord{lane: j}, inside
}

// hoist computes, before the loops over inner, what does not vary in them.
func (g *gen) hoist(ops []*ir.Op) func(inner []dim) {
	return func(inner []dim) {
		varies := map[string]bool{}
		for _, d := range inner {
			for _, a := range d.axes {
				varies[a] = true
			}
		}
		fixed := func(t ir.Type) bool {
			for _, a := range t.Axes {
				if varies[a.Name] {
					return false
				}
			}
			return true
		}
		for _, o := range ops {
			if fixed(o.Result().Type) {
				g.value(o.Result())
				continue
			}
			for i, a := range o.Args {
				if _, view := g.k.Views[a]; view && fixed(a.Type) && !(i == 0 && op.Of(o).Class == op.Indexed) {
					g.value(a)
				}
			}
		}
	}
}
