package assign

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

// Loop is how a loop is made.
type Loop struct {
	Carried  []*layout.Layout
	Pipeline *Pipeline // or nil
	// Shared are operands of its products that come from before it: they are put into shared memory once.
	Shared []Operand
	// Approximate has the hardware's exponentials in the loop.
	Approximate bool
}

// loop decides how o is made; p is how it is pipelined, if that is known.
func (c *chosen) loop(o *tile.Op, p *Pipeline) (*Loop, error) {
	if o.Range.Reversed && (o.Loop.From != nil || o.Loop.To != nil) {
		return nil, fmt.Errorf("found a loop from the last block to the first with bounds; it has no code for GPUs")
	}
	x := &Loop{Pipeline: p, Shared: c.before(o), Carried: c.carried(o), Approximate: weighs(o)}
	if p == nil {
		x.Pipeline = c.pipeline(o)
	}
	return x, nil
}

// before are operands of the products of loop o that come from before it.
func (c *chosen) before(o *tile.Op) (out []Operand) {
	inner := map[*tile.Value]bool{}
	for _, v := range o.Loop.Carry {
		inner[v] = true
	}
	defined(o.Loop.Body, inner)
	for _, d := range dots(o.Loop.Body) {
		for i, v := range d.Args[:2] {
			if !inner[v] {
				out = append(out, Operand{V: v, In: c.products.of(d).In[i]})
			}
		}
	}
	return out
}

// weighs reports whether the exponentials of a loop are weights of an attention that multiplies numbers of 16 bits: it has
// two products at least, all of such numbers. A weight is rounded to 8 or 11 bits as an operand there, so the
// hardware's exponential will do. Exponentials of other kernels are those of processors.
func weighs(o *tile.Op) bool {
	all := dots(o.Loop.Body)
	return len(all) >= 2 && !slices.ContainsFunc(all, func(d *tile.Op) bool {
		return slices.ContainsFunc(d.Args[:2], func(v *tile.Value) bool { return !elementwise.Elem(v.Type.DType).IsNarrow() })
	})
}

// carried are the layouts in which loop o carries its tiles: sums as products of its body, or of a
// loop in it, have them.
func (c *chosen) carried(o *tile.Op) []*layout.Layout {
	out := c.layouts(o.Args)
	for i, v := range o.Loop.Carry {
		if at := c.summed(v, o.Loop.Body); at != nil {
			out[i] = at
		} else if at := c.foldedOf(o.Loop.Body.Yield[i], o.Loop.Body); at != nil {
			out[i] = at
		}
	}
	return out
}

// summed is the layout of a product in body that adds to v, or to what is computed of it element by
// element, or nil.
func (c *chosen) summed(v *tile.Value, body *tile.Block) *layout.Layout {
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.Dot && len(o.Args) == 3 && madeOf(o.Args[2], v):
			return c.products.of(o).At
		case o.Kind == tile.For:
			if i := slices.Index(o.Args, v); i >= 0 {
				return c.summed(o.Loop.Carry[i], o.Loop.Body)
			}
		}
	}
	return nil
}

// foldedOf is the layout of a reduction of products in body that v is made of, or nil.
func (c *chosen) foldedOf(v *tile.Value, body *tile.Block) *layout.Layout {
	for _, o := range body.Ops {
		if !slices.Contains(reductions, o.Kind) || !madeOf(v, o.Result()) {
			continue
		}
		x := o.Args[0]
		for _, d := range dots(body) {
			if madeOf(x, d.Result()) {
				return Over(c.products.of(d).At, x.Type.Dims, o.Result().Type.Dims)
			}
		}
	}
	return nil
}
