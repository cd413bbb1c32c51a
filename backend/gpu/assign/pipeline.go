package assign

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

// Pipeline is a loop with products whose operands are put into shared memory before the iteration that
// multiplies them, as many iterations as its schedule has stages but one.
//
// An operand that is only read is copied asynchronously, by all threads (cp.async) or by one (a tensor map). One
// that is computed, in a loop that does nothing else than multiply, is loaded to registers before the products of the
// iteration before its own, and computed and stored behind them.
type Pipeline struct {
	Op       *tile.Op
	Copied   []*Operand
	Tensors  []*Operand
	Computed []*Operand
	Stages   int
	Flight   int // iterations whose products are under way while the next one's begin
	Resident int // blocks of threads that a multiprocessor shall have at least, for the registers of a thread; 0 for any
	inner    map[*tile.Value]bool
}

// Operand is one of a product, in slots of shared memory.
type Operand struct {
	V      *tile.Value
	In     *layout.Memory
	At     *layout.Layout // in which it is put there
	Slots  int
	Width  int     // elements of a copy
	Each   int64   // of a copy: how far apart neighbours along the loop's range are
	Tensor *Tensor // of a copy by one thread
}

// A multiprocessor has 128 registers for each thread of ResidentWarps, which products in small blocks
// need, and for each of foldWarps all that a thread can have, which a loop takes that multiplies what it has
// computed of products. An assembler that is not told to have no more blocks than these would keep some in memory to
// fit another one.
const (
	ResidentWarps = 16
	foldWarps     = 8
	fewWarps      = 4
)

// Ahead is how many iterations before its own a copy starts.
func (x *Pipeline) Ahead() int { return x.Stages - 1 - x.Flight }

// Copies reports whether operands are copied.
func (x *Pipeline) Copies() bool { return len(x.Copied)+len(x.Tensors) > 0 }

// Operands are all that are put into slots.
func (x *Pipeline) Operands() []*Operand { return slices.Concat(x.Copied, x.Tensors, x.Computed) }

// Inside reports whether v is a result of the loop's body.
func (x *Pipeline) Inside(v *tile.Value) bool { return x.inner[v] }

// Fenced reports whether threads put operands into slots that warpgroups read.
func (x *Pipeline) Fenced() bool {
	return slices.ContainsFunc(slices.Concat(x.Copied, x.Computed), func(o *Operand) bool { return o.In.Span > 0 })
}

// pipeline is how o is one, or nil where it has no operands that are known ahead.
func (c *chosen) pipeline(o *tile.Op) *Pipeline {
	body := o.Loop.Body
	if writes(body) {
		return nil
	}
	x := &Pipeline{Op: o, Stages: max(1, o.Loop.Stages), inner: map[*tile.Value]bool{}}
	for _, b := range body.Ops {
		for _, v := range b.Results {
			x.inner[v] = true
		}
	}
	multiplies := x.multiplies()
	for _, d := range dots(body) {
		p := c.products.of(d)
		for i, v := range d.Args[:2] {
			if x.inner[v] && x.free(v, map[*tile.Value]bool{}) && !slices.ContainsFunc(x.Operands(), func(o *Operand) bool { return o.V == v }) {
				c.ahead(x, v, p.In[i], multiplies)
			}
		}
	}
	if len(x.Operands()) == 0 {
		return nil
	}
	if multiplies && x.Stages >= 3 && c.flies(body) {
		x.Flight = 1
		for _, o := range x.Computed {
			o.Slots = 3
		}
	}
	switch warps := c.Threads.Warps; {
	case !multiplies:
		x.Resident = max(1, foldWarps/warps)
	case warps <= fewWarps && !c.products.converts(body):
		x.Resident = ResidentWarps / warps
	}
	return x
}

// ahead notes operand v, if it is copied or may be computed.
func (c *chosen) ahead(x *Pipeline, v *tile.Value, in *layout.Memory, computed bool) {
	o := &Operand{V: v, In: in, At: c.Writers(v, in)}
	if v.Def.Kind == tile.Copy && c.products.straight(v, in) {
		if o.Tensor = c.tensor(v.Def, in); o.Tensor != nil {
			o.Slots = x.Stages
			x.Tensors = append(x.Tensors, o)
			return
		}
		e := elementwise.Elem(v.Type.DType)
		s := StridesOf(v.Def, v.Type.Dims, o.At)
		o.Width = s.Width(e)
		if bytes := o.Width * e.Bytes(); !s.Looked && (bytes == 4 || bytes == 8 || bytes == 16) {
			o.Slots, o.Each = x.Stages, stride(v.Def, x.Op.Range)
			x.Copied = append(x.Copied, o)
			return
		}
	}
	if computed {
		o.Slots = min(2, x.Stages)
		x.Computed = append(x.Computed, o)
	}
}

// stride is how far apart in memory neighbours along r are that o reads.
func stride(o *tile.Op, r *tile.Range) (n int64) {
	for i, a := range o.View.Axes {
		for _, t := range o.At[i].Terms {
			if t.Range == r {
				n += t.Coef * int64(a.Stride)
			}
		}
	}
	return n
}

// flies reports whether the products of a loop's body are those of warpgroups, on top of sums. A loop that does nothing but
// multiply then waits in each iteration for the products of the one before, so that multiplying never pauses, and needs a
// slot more: that which an iteration fills was read two before, as all threads know at its barrier.
func (c *chosen) flies(body *tile.Block) bool {
	return !slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
		return o.Kind == tile.Dot && (!c.products.of(o).Group || len(o.Args) < 3)
	})
}

// multiplies reports whether the loop does nothing but multiply tiles that are known ahead.
func (x *Pipeline) multiplies() bool {
	body := x.Op.Loop.Body
	for _, o := range body.Ops {
		if o.Kind != tile.Dot && o.Kind != tile.Wait && Effect(o.Kind) {
			return false
		}
		if o.Kind != tile.Dot {
			continue
		}
		for i, v := range o.Args {
			sum := i == 2 && (!x.inner[v] || v.Def.Kind == tile.Dot || v.Def.Kind == tile.Const)
			if !sum && !x.free(v, map[*tile.Value]bool{}) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(body.Yield, func(v *tile.Value) bool { return x.inner[v] && v.Def.Kind != tile.Dot })
}

// free reports whether v depends neither on what the loop carries nor on what threads compute
// together in it.
func (x *Pipeline) free(v *tile.Value, seen map[*tile.Value]bool) bool {
	switch {
	case seen[v]:
		return true
	case slices.Contains(x.Op.Loop.Carry, v):
		return false
	case !x.inner[v]: // from outside
		return true
	case Effect(v.Def.Kind):
		return false
	}
	seen[v] = true
	if slices.ContainsFunc(v.Def.Args, func(a *tile.Value) bool { return !x.free(a, seen) }) {
		return false
	}
	return !slices.ContainsFunc(v.Def.At, func(at tile.Affine) bool {
		return slices.ContainsFunc(at.Terms, func(t tile.Term) bool { return t.Value != nil && !x.free(t.Value, seen) })
	})
}
