package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// prepare computes, before the loop, what addresses of copies have in common, and loads what computed
// operands are made of and does not change in the loop.
func (x *pipeline) prepare() {
	r := x.Op.Range
	x.first[r] = x.i32(0)
	for _, o := range x.Copied {
		load, dims := o.V.Def, o.V.Type.Dims
		index := x.index(load, assign.StridesOf(load, dims, o.At), o.At)
		from := x.At(x.args[load.View.Buffer].Pointer, index)
		to := x.reach(x.slots[o], dims, o.At)
		for n := 0; n < o.At.Regs(); n += o.Width {
			to.at(to.number(n)) // is known from here on
		}
		x.copies[o] = &asyncCopy{from, to}
	}
	delete(x.first, r)
	for _, o := range x.Computed {
		x.preload(o.V, o.At, func(o *tile.Op) bool { return !x.Inside(o.Result()) })
	}
}

// copyAll starts the copies of the present block by all threads.
func (x *pipeline) copyAll(slot *thread.Value) {
	n := kernel.Of(x.Convert(x.first[x.Op.Range], kernel.I64))
	for _, o := range x.Copied {
		dims := o.V.Type.Dims
		s := assign.StridesOf(o.V.Def, dims, o.At)
		in, have := x.exists(o.At, dims), x.have(o, s)
		from := x.At(x.copies[o].from, n.Mul(o.Each))
		a := thread.Access{N: o.Width}
		once := x.once(o.At)
		for r := 0; r < o.At.Regs(); r += o.Width {
			if in != nil {
				a.If = in(r)
			}
			if have != nil {
				a.Have = have(r)
			}
			reach := x.copies[o].to
			to := reach.at(reach.number(r))
			if o.Slots > 1 {
				to = x.Within(to, x.Mul(slot, x.i32(int64(o.In.Elems))))
			}
			x.CopyAsync(to, x.At(from, kernel.Int(s.Offset(r))), a, once)
		}
	}
}

// have is, for each register from which on a copy has its elements, how many of them there are; nil where all are: only
// padding may be copied with others.
func (x *pipeline) have(o *assign.Operand, s *assign.Strides) func(r int) *thread.Value {
	for d, r := range o.V.Type.Dims {
		if limit := x.limit(r); limit != nil && s.Past(d, o.Width) > 0 {
			left := x.Sub(limit, x.coordinate(o.At, d))
			return func(n int) *thread.Value {
				return x.Min(x.Sub(left, x.i32(int64(o.At.Offset(n, d)))), x.i32(int64(o.Width)))
			}
		}
	}
	return nil
}

// compute computes the present block of what is not copied, and stores it to slots.
func (x *pipeline) compute(slot *thread.Value) {
	for _, o := range x.Computed {
		x.reach(x.slot(o, slot), o.V.Type.Dims, o.At).write(x.complete(o.V, o.At, 0), x.once(o.At))
	}
}
