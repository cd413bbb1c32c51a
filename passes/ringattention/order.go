package ringattention

import (
	"ptc/ir"
	"ptc/ir/op"
)

// order is the zig-zag order of positions in one function: block b of n holds
// the chunks b and 2n−1−b of the 2n in which the sequence is cut, so that under
// a causal mask all blocks have as many keys to see.
//
// It is a permutation inside of the step. Data is brought into it where it is
// read, and what is computed from it stays in it, as nearly all operations treat
// all positions alike. What does not (parameters, whose positions are those of
// checkpoints; random numbers and positions, which are logical ones; operations
// that cut or join the sequence) is in the logical order, and a value is
// brought from one into the other where both meet.
type order struct {
	*rewriter
	// in says along which axes a value is in the zig-zag order, and pair what the
	// value is in the other order of an axis.
	in   map[along]bool
	pair map[conversion]*ir.Value
	// positions are the values that are the logical position along an axis that
	// is in the zig-zag order.
	positions map[*ir.Value]string
	at        map[conversion]*ir.Value // the same by axis
}

type along struct {
	v    *ir.Value
	axis string
}

// conversion is of a value along an axis, in the instances of a stack or outside.
type conversion struct {
	along
	in *ir.Stack
}

// key is a conversion where the builder is.
func (z *order) key(v *ir.Value, axis string) conversion {
	k := conversion{along: along{v, axis}}
	if run := z.b.Slot.Run; run != nil {
		k.in = run.Stack
	}
	return k
}

func newOrder(w *rewriter) *order {
	return &order{w, map[along]bool{}, map[conversion]*ir.Value{}, map[*ir.Value]string{}, map[conversion]*ir.Value{}}
}

func (z *order) is(v *ir.Value, axis string) bool { return z.in[along{v, axis}] }
func (z *order) mark(v *ir.Value, axis string)    { z.in[along{v, axis}] = true }

// run brings the function's operations into the order.
func (z *order) run() {
	var out []*ir.Op
	z.b.Sink = &out
	data := map[*ir.Value]bool{}
	for _, a := range z.f.Args {
		data[a.Value] = a.Role == ir.RoleData && a.Value.Type.Has(z.axis) && a.Value.Type.Size(z.axis) == z.size
	}
	for _, o := range z.f.Ops {
		z.b.Scope, z.b.Pos, z.b.Slot = o.Scope, o.Pos, o.Slot
		if o.Name == op.Grad {
			z.gradient(o)
		} else {
			for i, a := range o.Args {
				if data[a] {
					o.Args[i] = z.zigzag(a, z.axis)
				}
			}
			z.operation(o)
		}
		out = append(out, o)
	}
	for i, r := range z.f.Results {
		if z.b.Slot.Run = nil; r.Value.In() != nil && r.Value.Def != nil {
			z.b.Slot.Run = r.Value.Def.Run
		}
		for _, n := range r.Value.Type.Names() {
			z.f.Results[i].Value = z.logical(z.f.Results[i].Value, n)
		}
	}
	z.f.Ops = out
	z.f.JoinRuns()
}

// operation brings the operands of o into one order where it treats positions
// alike, and otherwise into the logical one.
func (z *order) operation(o *ir.Op) {
	if o.Name == op.Leave { // in the order in which it entered
		for _, n := range o.Args[1].Type.Names() {
			if z.is(o.Args[0], n) {
				o.Args[1] = z.zigzag(o.Args[1], n)
				z.mark(o.Result(), n)
			} else {
				o.Args[1] = z.logical(o.Args[1], n)
			}
		}
		return
	}
	for _, f := range op.Of(o).Shard(o).Factors {
		some := false
		for i, n := range f.Args {
			some = some || n != "" && z.is(o.Args[i], n)
		}
		if !some {
			continue
		}
		alike := z.alike(o, &f)
		for i, n := range f.Args {
			switch {
			case n == "":
			case alike:
				o.Args[i] = z.zigzag(o.Args[i], n)
			default:
				o.Args[i] = z.logical(o.Args[i], n)
			}
		}
		for i, n := range f.Results {
			if alike && n != "" {
				z.mark(o.Results[i], n)
			}
		}
	}
}

// alike reports whether o does with every element along the factor the same,
// whatever its position: it passes through whole, or is summed, and is not
// looked up.
func (z *order) alike(o *ir.Op, f *op.Factor) bool {
	if f.Kind != op.PassThrough && f.Kind != op.Reduce {
		return false
	}
	d := op.Of(o)
	check := func(n string, v *ir.Value) bool {
		return n == "" || v.Type.Size(n) == z.size && !(d.Class == op.Indexed && n == o.Attrs.Text("axis"))
	}
	for i, n := range f.Args {
		if !check(n, o.Args[i]) {
			return false
		}
	}
	for i, n := range f.Results {
		if !check(n, o.Results[i]) {
			return false
		}
	}
	return true
}

// gradient leaves the operands as they are, since it is of those that the loss
// is differentiated; gradients have their order.
func (z *order) gradient(o *ir.Op) {
	for i, r := range o.Results {
		for _, n := range r.Type.Names() {
			if i+1 < len(o.Args) && z.is(o.Args[i+1], n) {
				z.mark(r, n)
			}
		}
	}
}

// zigzag is x in the order along an axis.
func (z *order) zigzag(x *ir.Value, axis string) *ir.Value {
	if z.is(x, axis) {
		return x
	}
	if y := z.pair[z.key(x, axis)]; y != nil {
		return y
	}
	y := z.computed(x, axis)
	if y == nil {
		y = z.rearrange(x, axis)
	}
	z.mark(y, axis)
	z.other(x, y, axis)
	return y
}

// logical is x in the logical order along an axis.
func (z *order) logical(x *ir.Value, axis string) *ir.Value {
	if !z.is(x, axis) {
		return x
	}
	if y := z.pair[z.key(x, axis)]; y != nil {
		return y
	}
	y := z.restore(x, axis)
	z.other(x, y, axis)
	return y
}

// other notes that x and y are one value in both orders of an axis.
func (z *order) other(x, y *ir.Value, axis string) {
	z.pair[z.key(x, axis)], z.pair[z.key(y, axis)] = y, x
	for _, n := range x.Type.Names() {
		if n != axis && z.is(x, n) {
			z.mark(y, n)
		}
	}
}

// computed is x, computed from positions alone, from the positions in the
// order; nil where it is computed from more.
func (z *order) computed(x *ir.Value, axis string) *ir.Value {
	if !z.source(x) {
		return nil
	}
	if z.position(x) == axis {
		k := z.key(nil, axis)
		if z.at[k] == nil {
			v := z.merge(z.blocks(nil).positionsOf(axis, whole, 0, 0), axis)
			z.at[k], z.positions[v] = v, axis
		}
		return z.at[k]
	}
	o := x.Def
	if op.Of(o).Class != op.Elementwise {
		return nil // a window of positions
	}
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = a
		if a.Type.Has(axis) {
			args[i] = z.zigzag(a, axis)
		}
	}
	return z.emit(o.Name, o.Attrs, args...)
}

// Chunks are exchanged in two permutations. Device j of n holds the chunks 2j and
// 2j + 1, and needs j and 2n−1−j, one of which is even. So each gets one even
// and one odd chunk:
//
//	device                0     1     2     3
//	holds                 0 1   2 3   4 5   6 7
//	even ones go to       0     2     3     1
//	odd ones go to        1     3     2     0
//	has then              0 7   6 1   2 5   4 3
//
// and on the odd devices the odd one is the first.

// rearrange exchanges chunks so that x comes into the order along an axis.
func (z *order) rearrange(x *ir.Value, axis string) *ir.Value {
	even, odd := z.sources()
	c := z.chunks(x, axis)
	a, b := z.take(z.chunk(c, 0), even), z.take(z.chunk(c, 1), odd)
	isEven := z.evenBlock()
	return z.join(z.b.Select(isEven, a, b), z.b.Select(isEven, b, a), x, axis)
}

// restore undoes rearrange.
func (z *order) restore(x *ir.Value, axis string) *ir.Value {
	even, odd := z.sources()
	c := z.chunks(x, axis)
	lo, hi := z.chunk(c, 0), z.chunk(c, 1)
	isEven := z.evenBlock()
	a, b := z.b.Select(isEven, lo, hi), z.b.Select(isEven, hi, lo)
	return z.join(z.take(a, op.Inverse(even)), z.take(b, op.Inverse(odd)), x, axis)
}

// sources are the devices from which each gets its even and its odd chunk.
func (z *order) sources() (even, odd ir.Ints) {
	n := int64(z.devices)
	for d := range n {
		lo, hi := d, 2*n-1-d
		if d%2 == 1 {
			lo, hi = hi, lo
		}
		even, odd = append(even, lo/2), append(odd, hi/2)
	}
	return even, odd
}

func (z *order) evenBlock() *ir.Value {
	return z.emit(op.Eq, nil, z.emit(op.Mod, nil, z.blockIndex(), z.int(2)), z.int(0))
}

// chunks cuts an axis into blocks and these into two chunks.
func (z *order) chunks(x *ir.Value, axis string) *ir.Value {
	into := ir.Sizes{{Name: z.block, N: z.devices}, {Name: z.chunkAxis, N: 2}, {Name: axis + z.suffix(), N: z.part() / 2}}
	return z.emit(op.Split, ir.A("axis", ir.Name(axis), "into", into), x)
}

func (z *order) chunk(x *ir.Value, i int) *ir.Value {
	return z.emit(op.Slice, ir.A("axis", ir.Name(z.chunkAxis), "start", ir.Int(i), "limit", ir.Int(i+1)), x)
}

// join makes x's axis again of the two chunks of each block.
func (z *order) join(lo, hi, x *ir.Value, axis string) *ir.Value {
	y := z.emit(op.Concat, ir.A("axis", ir.Name(z.chunkAxis)), lo, hi)
	into := ir.A("axes", ir.Names{z.block, z.chunkAxis, axis + z.suffix()}, "into", ir.Name(axis))
	return z.b.Reorder(z.emit(op.Merge, into, z.grouped(y, axis)), x.Type)
}

// grouped has the parts of an axis side by side.
func (z *order) grouped(x *ir.Value, axis string) *ir.Value {
	var names ir.Names
	for _, n := range x.Type.Names() {
		switch n {
		case z.block:
			names = append(names, z.block, z.chunkAxis, axis+z.suffix())
		case z.chunkAxis, axis + z.suffix():
		default:
			names = append(names, n)
		}
	}
	t := ir.Type{DType: x.Type.DType}
	for _, n := range names {
		t.Axes = append(t.Axes, ir.Axis{Name: n, Size: x.Type.Size(n)})
	}
	return z.b.Reorder(x, t)
}
