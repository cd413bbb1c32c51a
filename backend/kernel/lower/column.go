package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/fusion"
)

// column generates reductions whose results keep the contiguous axis: a task
// owns a few vectors of that axis and sweeps the reduced axes, adding to
// registers.
//
//	task: for r in reduced { acc[0..u) += x[r, block] }; epilogue; store
func (g *gen) column() (*kernel.Kernel, error) {
	kept, reduced := g.split()
	k, r := g.dims(kept), g.dims(reduced)
	if len(k) == 0 { // everything is reduced to one element; sizes of 1 remain
		k = []dim{{axes: []string{kept[len(kept)-1].Name}, size: 1}}
	}
	inner := k[len(k)-1]
	outer := k[:len(k)-1]
	outerTasks := int64(1)
	for _, d := range outer {
		outerTasks *= d.size
	}
	lanes := g.vectorLanes()
	u := int64(4)
	for u > 1 && outerTasks*((inner.size+u*lanes-1)/(u*lanes)) < 16 {
		u /= 2
	}
	width := u * lanes
	blocks := (inner.size + width - 1) / width
	g.begin(outerTasks * blocks)
	c := &columns{gen: g, inner: inner, dims: r}
	for _, o := range g.k.F.Ops {
		if g.k.Part[o] == fusion.PartRoot {
			c.reds = append(c.reds, o)
		}
	}
	t := g.taskValue()
	nb := g.b.ConstInt(t.Type, blocks)
	block := g.b.Rem(t, nb)
	g.position(outer, g.b.Div(t, nb))
	lo := kernel.Of(block).Mul(width)
	rest := inner.size - (blocks-1)*width
	if rest == width {
		c.block(lo, width)
		return g.b.Finish()
	}
	full := g.b.Lt(block, g.b.ConstInt(t.Type, blocks-1))
	g.b.If(full,
		func() []*kernel.Value { g.within(func() { c.block(lo, width) }); return nil },
		func() []*kernel.Value { g.within(func() { c.block(lo, rest) }); return nil })
	return g.b.Finish()
}

type columns struct {
	*gen
	inner dim
	dims  []dim // reduced
	reds  []*ir.Op
}

// block generates the columns lo..lo+n-1.
func (c *columns) block(lo kernel.Index, n int64) {
	lanes := c.vectorLanes()
	vectors := (n + lanes - 1) / lanes
	c.lanes = int(lanes)
	each := func(body func(j int64)) {
		for j := range vectors {
			c.within(func() {
				c.set(c.inner, coord{idx: lo.Plus(j * lanes), vec: true})
				if rest := n - j*lanes; rest < lanes {
					c.mask = c.b.TailMask(kernel.Int(rest), int(lanes))
				}
				body(j)
				c.mask = nil
			})
		}
	}
	var acc []*kernel.Value
	for range vectors {
		acc = append(acc, c.start(c.reds, int(lanes))...)
	}
	m := int64(len(c.reds))
	acc = c.outerLoops(c.dims, acc, nil, c.dims, func(acc []*kernel.Value) []*kernel.Value {
		out := make([]*kernel.Value, len(acc))
		each(func(j int64) {
			for i, o := range c.reds {
				x := c.b.Splat(c.value(o.Args[0]), int(lanes))
				out[j*m+int64(i)] = c.combine(o, acc[j*m+int64(i)], x)
			}
		})
		return out
	})
	each(func(j int64) {
		for i, o := range c.reds {
			c.know(o.Result(), acc[j*m+int64(i)])
		}
		c.storeAll()
	})
	c.lanes = 1
}
