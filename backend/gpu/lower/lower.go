package lower

import (
	"fmt"
	"maps"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
)

// lowering is the state of generating a phase.
type lowering struct {
	b      *thread.Builder
	p      *tile.Program
	warps  int
	bufs   map[*tile.Buffer]thread.Pointer
	from   map[*tile.Buffer]source
	maps   *mapList
	first  map[*tile.Range]*thread.Value // the first position of a range's block, i32
	least  map[*tile.Range]int           // of its size as layouts have it
	known  []map[key][]*thread.Value     // by block of code
	held   map[*tile.Value]*layout.Layout
	placed map[*tile.Value]placed // in shared memory
	depth  int                    // of loops
	along  map[*tile.Range]bool   // ranges that reductions are along, where there is no product
	flying bool                   // products of warpgroups are not waited for one by one, but in turns of a loop
	carry  []*tile.Value          // of that loop
	main   main                   // the loop that blocks of threads share in another way, or nil
	folds  bool                   // a loop reduces what it multiplies, and multiplies what that scales
	err    error
}

// key is a value in a layout.
type key struct {
	v *tile.Value
	l string
}

func (l *lowering) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

func (l *lowering) i32(n int64) *thread.Value { return l.b.ConstInt(kernel.Scalar(kernel.I32), n) }

// enter puts r at its n-th block.
func (l *lowering) enter(r *tile.Range, n *thread.Value) {
	if r.Reversed {
		n = l.b.Sub(l.i32(r.Blocks()-1), n)
	}
	l.first[r] = l.b.Mul(n, l.i32(r.Size))
}

// natural is the layout of a tile that no matrix instruction asks for another: neighbours
// along the last dimension are in the registers of a thread, and in threads next to each other.
func (l *lowering) natural(dims []*tile.Range) *layout.Layout {
	sizes := l.sizes(dims)
	last := len(dims) - 1
	if last > 0 && l.along[dims[last]] {
		rows := 1
		for _, n := range sizes[:last] {
			rows *= n
		}
		if rows >= l.warps && sizes[last] >= vector*lanes {
			return layout.Rows(sizes, last, vector, l.warps)
		}
	}
	return layout.Blocked(sizes, last, vector, l.warps)
}

// vector is how many elements behind one another a thread has of a tile.
const vector = 4

// lanes is how many threads a warp has.
const lanes = 1 << layout.LaneBits

// along are the ranges that the reductions of a block of operations are along; none where there is
// a product, whose sums have a layout of their own.
func along(body *tile.Block) map[*tile.Range]bool {
	out := map[*tile.Range]bool{}
	var visit func(body *tile.Block) bool
	visit = func(body *tile.Block) bool {
		return !slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
			if slices.Contains(reductions, o.Kind) {
				for _, r := range o.Over {
					out[r] = true
				}
			}
			return o.Kind == tile.Dot || slices.ContainsFunc(inside(o), func(b *tile.Block) bool { return !visit(b) })
		})
	}
	if !visit(body) {
		return nil
	}
	return out
}

// over is l1, of dims, for a tile that has some of them.
func over(l1 *layout.Layout, dims, some []*tile.Range) *layout.Layout {
	keep := make([]bool, len(dims))
	for i, d := range dims {
		for _, s := range some {
			keep[i] = keep[i] || s == d
		}
	}
	return l1.Project(keep)
}

// within lowers a block of code: what it computes is not known behind it.
func (l *lowering) within(body func()) {
	l.known = append(l.known, map[key][]*thread.Value{})
	outer := l.placed
	l.placed = maps.Clone(outer)
	body()
	l.placed = outer
	l.known = l.known[:len(l.known)-1]
}

func (l *lowering) know(v *tile.Value, at *layout.Layout, x []*thread.Value) {
	l.known[len(l.known)-1][key{v, at.String()}] = x
}

// hold says that v, which is computed here and now, is in its own layout.
func (l *lowering) hold(v *tile.Value, at *layout.Layout, x []*thread.Value) {
	l.held[v] = at
	l.know(v, at, x)
}

// block lowers what has an effect; what computes is lowered where it is demanded, except
// for what threads have to do together. Stores that follow each other are one effect.
func (l *lowering) block(body *tile.Block) {
	var stores []*tile.Op
	flush := func() {
		l.stores(stores)
		stores = nil
	}
	for _, o := range body.Ops {
		switch f := effects[o.Kind]; {
		case l.err != nil:
			return
		case o.Kind == tile.Store:
			stores = append(stores, o)
		case f != nil:
			flush()
			if scatters(o) {
				l.b.Sync() // others may have stored what is added to
			}
			f(l, o)
		case computes[o.Kind] == nil && !elementwise.Known(o.Kind):
			l.fail("found %s; it has no code for GPUs", o.Kind)
		}
	}
	flush()
}

// scatters reports whether o is a loop or an if that adds to memory.
func scatters(o *tile.Op) bool {
	for _, body := range inside(o) {
		for _, x := range body.Ops {
			if x.Kind == tile.Scatter || scatters(x) {
				return true
			}
		}
	}
	return false
}

// inside are the blocks of code of a loop or an if.
func inside(o *tile.Op) []*tile.Block {
	switch {
	case o.Loop != nil:
		return []*tile.Block{o.Loop.Body}
	case o.Kind == tile.If:
		return []*tile.Block{o.Then, o.Else}
	}
	return nil
}

var effects map[tile.Kind]func(l *lowering, o *tile.Op)

func init() {
	effects = map[tile.Kind]func(l *lowering, o *tile.Op){
		tile.Scatter: (*lowering).scatter,
		tile.Dot:     (*lowering).dot,
		tile.For:     (*lowering).loop,
		tile.If:      (*lowering).branch,
		tile.Wait:    func(*lowering, *tile.Op) {},
	}
	for _, k := range reductions {
		effects[k] = (*lowering).reduce
	}
}

// value is v in the registers of a layout of its dimensions.
func (l *lowering) value(v *tile.Value, at *layout.Layout) []*thread.Value {
	k := key{v, at.String()}
	for i := len(l.known) - 1; i >= 0; i-- {
		if x := l.known[i][k]; x != nil {
			return x
		}
	}
	var x []*thread.Value
	switch f := computes[v.Def.Kind]; {
	case l.held[v] != nil:
		x = l.convert(v, l.held[v], at)
	case f != nil:
		x = f(l, v.Def, at)
	case elementwise.Known(v.Def.Kind):
		x = l.elementwise(v.Def, at)
	default:
		l.fail("found a tile of %s demanded before it is computed", v.Def.Kind)
		x = make([]*thread.Value, at.Regs())
		for i := range x {
			x[i] = l.b.Const(elementwise.Register(v.Type.DType, 1), 0)
		}
	}
	l.know(v, at, x)
	return x
}

// computes are the kinds that are computed where they are demanded, besides elementwise ones.
var computes map[tile.Kind]func(l *lowering, o *tile.Op, at *layout.Layout) []*thread.Value

func init() {
	computes = map[tile.Kind]func(l *lowering, o *tile.Op, at *layout.Layout) []*thread.Value{
		tile.Load:  (*lowering).load,
		tile.Copy:  (*lowering).load,
		tile.Const: (*lowering).constant,
		tile.Index: (*lowering).positions,
		tile.First: func(l *lowering, o *tile.Op, _ *layout.Layout) []*thread.Value {
			return []*thread.Value{l.first[o.Range]}
		},
		tile.Last: func(l *lowering, o *tile.Op, _ *layout.Layout) []*thread.Value {
			return []*thread.Value{l.last(o.Range)}
		},
		tile.Repeat: (*lowering).elementwise,
		tile.Random: (*lowering).random,
	}
}

// last is the last existing position of r.
func (l *lowering) last(r *tile.Range) *thread.Value {
	end := l.b.Add(l.first[r], l.i32(r.Size))
	if r.Extent%r.Size != 0 {
		end = l.b.Min(end, l.i32(r.Extent))
	}
	return l.b.Sub(end, l.i32(1))
}

func (l *lowering) constant(o *tile.Op, at *layout.Layout) []*thread.Value {
	out := make([]*thread.Value, at.Regs())
	for i := range out {
		out[i] = l.b.Const(elementwise.Register(o.Result().Type.DType, 1), o.Const)
	}
	return out
}

// elementwise computes each register's element of those of the operands.
func (l *lowering) elementwise(o *tile.Op, at *layout.Layout) []*thread.Value {
	dims := o.Result().Type.Dims
	args := make([][]*thread.Value, len(o.Args))
	pick := make([]func(int) int, len(o.Args))
	for i, a := range o.Args {
		args[i], pick[i] = l.part(a, dims, at)
	}
	out := make([]*thread.Value, at.Regs())
	narrow := o.Result().Type.Space == tile.Shared && elementwise.Elem(o.Result().Type.DType).IsNarrow()
	for r := range out {
		x := make([]*thread.Value, len(args))
		for i := range args {
			x[i] = args[i][pick[i](r)]
		}
		if o.Kind == tile.Repeat {
			out[r] = x[0]
		} else {
			out[r] = elementwise.Compute(l.b.Builder, o, x)
		}
		if narrow {
			out[r] = l.b.Round(out[r], elementwise.Elem(o.Result().Type.DType))
		}
	}
	return out
}

// part is v for a reader with the layout at of dims, of which v has some: its registers, and
// which of them belongs to a register of the reader.
func (l *lowering) part(v *tile.Value, dims []*tile.Range, at *layout.Layout) ([]*thread.Value, func(r int) int) {
	mine := over(at, dims, v.Type.Dims)
	if same, ok := permutation(dims, v.Type.Dims); ok {
		mine = mine.Permute(same)
	}
	keep := make([]bool, len(dims))
	for i, d := range dims {
		keep[i] = v.Type.Has(d)
	}
	return l.value(v, mine), at.Registers(keep)
}

// permutation is where each of to is among those of from that are in to; false if they are in
// the same order.
func permutation(from, to []*tile.Range) ([]int, bool) {
	var kept []*tile.Range
	for _, d := range from {
		for _, t := range to {
			if t == d {
				kept = append(kept, d)
			}
		}
	}
	out, moved := make([]int, len(to)), false
	for i, t := range to {
		for j, d := range kept {
			if d == t {
				out[i] = j
			}
		}
		moved = moved || out[i] != i
	}
	return out, moved
}

// kindOf is the type that an element of d is computed with.
func kindOf(d ir.DType) kernel.Type { return elementwise.Register(d, 1) }
