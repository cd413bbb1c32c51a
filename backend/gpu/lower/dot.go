package lower

import (
	"slices"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

func init() { effects[tile.Dot] = (*task).dot }

// dot multiplies two tiles in shared memory, on top of sums that threads have in registers.
func (t *task) dot(o *tile.Op) {
	x := t.phase.Product(o)
	if x.Group {
		t.know(o.Result(), x.At, t.dotGroups(x))
		return
	}
	left, right := t.share(o.Args[0], x.In[0]), t.share(o.Args[1], x.In[1])
	acc := t.sums(x)
	if x.Steps > 0 {
		m := matrices{t.code, x, [2]kernel.Elem{t.phase.Elem(o.Args[0]), t.phase.Elem(o.Args[1])}}
		acc = m.multiply(left, right, acc)
	} else {
		f := additions{t.code, t.sizes, left, right}
		acc = f.multiply(x.Over, t.reach(left, x.Dims, x.At), t.reach(right, x.Dims, x.At), acc)
	}
	t.know(o.Result(), x.At, acc)
}

// sums are what the product is added to.
func (s *values) sums(x *assign.Product) []*thread.Value {
	if len(x.Op.Args) == 3 {
		return s.value(x.Op.Args[2], x.At)
	}
	acc := make([]*thread.Value, x.At.Regs())
	for r := range acc {
		acc[r] = s.Const(kernel.Scalar(kernel.F32), 0)
	}
	return acc
}

// dotGroups multiplies x by matrix instructions of warpgroups. In a loop of nothing but products it does not wait
// for them, and the registers of the sums stay what they are.
func (t *task) dotGroups(x *assign.Product) []*thread.Value {
	o := x.Op
	g := groups{code: t.code, x: x, elems: [2]kernel.Elem{t.phase.Elem(o.Args[0]), t.phase.Elem(o.Args[1])}, over: t.phase.Size(x.Over[0])}
	if _, shared := t.placed[o.Args[0]]; x.Weights != nil && t.flight == nil && !shared {
		g.regs = g.pack(t.complete(o.Args[0], x.Weights, 0))
	} else {
		g.left = t.share(o.Args[0], x.In[0])
	}
	g.right = t.share(o.Args[1], x.In[1])
	acc := t.sums(x)
	if t.flight != nil && (slices.Contains(t.flight.Op.Loop.Carry, o.Args[2]) || o.Args[2].Def != nil && o.Args[2].Def.Kind == tile.Dot) {
		g.multiply(acc)
		return acc
	}
	acc = t.Sums(acc)
	t.FenceProducts()
	g.multiply(acc)
	if t.flight == nil {
		t.CommitProducts()
		t.AwaitProducts(0)
	}
	return acc
}
