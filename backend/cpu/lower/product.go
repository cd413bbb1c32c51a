package lower

import (
	"fmt"
	"slices"

	"ptc/backend/cpu/gemm"
	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
)

// product is a phase that is a matrix product: what backend/cpu/gemm makes a kernel
// of, whose blocks, packing and register tiles are its own, not the phase's.
type product struct {
	*evaluator
	dot           *tile.Op
	sum           *tile.Value   // the complete sum
	m, n, k       []*tile.Range // of each at most one
	outer, outerK []*tile.Range
	stores        []*tile.Op
}

// productOf finds the product of a phase: a dot, or loops around one that carry its
// sums from zero on, and then elementwise work and stores. An error says why it is none.
func productOf(ph *tile.Phase) (*product, error) {
	x := &product{}
	var loops []*tile.Range
	body := ph.Body
	grid := slices.Clone(ph.Grid)
	for inner := only(body); inner != nil; inner = only(body) {
		grid, body = append(grid, inner.Range), inner.Loop.Body
	}
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.For || o.Kind == tile.Dot:
			if x.dot != nil {
				return nil, fmt.Errorf("found %s besides a dot", o.Kind)
			}
			var err error
			if x.dot, loops, err = contracted(o); err != nil {
				return nil, err
			}
			x.sum = o.Result()
		case o.Kind == tile.Store:
			x.stores = append(x.stores, o)
		case !computes(o):
			return nil, fmt.Errorf("found %s around a dot", o.Kind)
		}
	}
	return x, x.roles(grid, loops)
}

// only is the loop of b that carries nothing, where all else in b is computed on demand.
func only(b *tile.Block) *tile.Op {
	var loop *tile.Op
	for _, o := range b.Ops {
		switch {
		case o.Kind == tile.For && loop == nil && len(o.Results) == 0 && o.Loop.From == nil && o.Loop.To == nil:
			loop = o
		case !computes(o):
			return nil
		}
	}
	return loop
}

// computes reports whether o is computed where it is demanded. A copy is a load, and
// waiting for it nothing.
func computes(o *tile.Op) bool {
	return pure[o.Kind] != nil || elementwise.Known(o.Kind) || o.Kind == tile.Wait
}

// loads reports whether o is a load or a copy.
func loads(o *tile.Op) bool { return o.Kind == tile.Load || o.Kind == tile.Copy }

// contracted is the dot in o, which is one or a loop around one, and the ranges of the
// loops.
func contracted(o *tile.Op) (*tile.Op, []*tile.Range, error) {
	if len(o.Results) != 1 || !zero(o) {
		return nil, nil, fmt.Errorf("found a %s of other sums than one from zero on", o.Kind)
	}
	var loops []*tile.Range
	for o.Kind == tile.For {
		l := o.Loop
		if l.From != nil || l.To != nil || o.Range.Reversed {
			return nil, nil, fmt.Errorf("found a loop with computed bounds around a dot")
		}
		loops = append(loops, o.Range)
		next := l.Body.Yield[0].Def
		if next == nil || !slices.Contains(l.Body.Ops, next) || next.Kind != tile.For && next.Kind != tile.Dot || len(next.Results) != 1 || !slices.Contains(next.Args, l.Carry[0]) {
			return nil, nil, fmt.Errorf("found a loop that carries something else than the sums of a dot")
		}
		for _, other := range l.Body.Ops {
			if other != next && !computes(other) {
				return nil, nil, fmt.Errorf("found %s in a loop around a dot", other.Kind)
			}
		}
		o = next
	}
	return o, loops, nil
}

// zero reports whether the sums of o, a dot or a loop, start from zero.
func zero(o *tile.Op) bool {
	if o.Kind == tile.Dot && len(o.Args) == 2 {
		return true
	}
	d := o.Args[len(o.Args)-1].Def
	return d != nil && d.Kind == tile.Const && d.Const == 0
}

// roles says which range is which dimension of the product.
func (x *product) roles(grid, loops []*tile.Range) error {
	if x.dot == nil {
		return fmt.Errorf("found no dot; expected one")
	}
	left, right := x.dot.Args[0].Type, x.dot.Args[1].Type
	for _, r := range grid {
		switch {
		case slices.Contains(x.dot.Over, r):
			x.k = append(x.k, r)
		case left.Has(r) && !right.Has(r):
			x.m = append(x.m, r)
		case right.Has(r) && !left.Has(r):
			x.n = append(x.n, r)
		case r.Size == 1:
			x.outer = append(x.outer, r)
		default:
			return fmt.Errorf("found a block of %s in both operands of a dot; expected single positions", r.Name)
		}
	}
	for _, r := range loops {
		if slices.Contains(x.dot.Over, r) {
			x.k = append(x.k, r)
		} else if r.Size == 1 {
			x.outerK = append(x.outerK, r)
		} else {
			return fmt.Errorf("found a loop over blocks of %s around a dot that does not sum over it", r.Name)
		}
	}
	if len(x.m) > 1 || len(x.n) > 1 || len(x.k) > 1 || len(x.dot.Over) != len(x.k) {
		return fmt.Errorf("found %d ranges of rows, %d of columns, %d contracted; expected one of each at most", len(x.m), len(x.n), len(x.dot.Over))
	}
	return nil
}

// generate makes the kernel. It has the blocks of the program's schedule where that says
// which tile the registers have; otherwise they are left to the generator.
func (x *product) generate(name string, m kernel.Machine) (*kernel.Kernel, error) {
	s := x.spec(name)
	s.Blocks = blocksOf(x.p.Schedule)
	k, err := gemm.Generate(s, m)
	if x.err != nil {
		return nil, x.err
	}
	return k, err
}

func (x *product) spec(name string) gemm.Spec {
	left, right := x.dot.Args[0], x.dot.Args[1]
	return gemm.Spec{
		M: extent(x.m), N: extent(x.n), K: extent(x.k),
		Outer: extents(x.outer), OuterK: extents(x.outerK),
		Left:  gemm.Operand{Load: x.operand(left), Unit: unit(left, x.m, gemm.AlongM), Cost: cost(left), BF16: left.Type.DType.Within(ir.BF16)},
		Right: gemm.Operand{Load: x.operand(right), Unit: unit(right, x.n, gemm.AlongN), Cost: cost(right), BF16: right.Type.DType.Within(ir.BF16)},
		Begin: func(tasks int64) *kernel.Builder { return x.begin(name, tasks) },
		Store: x.results,
	}
}

// extent is that of the range, or 1 where there is none.
func extent(rs []*tile.Range) int64 {
	if len(rs) == 0 {
		return 1
	}
	return rs[0].Extent
}

func extents(rs []*tile.Range) []int64 {
	out := make([]int64, len(rs))
	for i, r := range rs {
		out[i] = r.Extent
	}
	return out
}

// cost is what computing an element of v takes besides loading, in floating-point
// operations, and one for a conversion or a position that is looked up.
func cost(v *tile.Value) int64 {
	seen := map[*tile.Value]bool{}
	var of func(v *tile.Value) int64
	of = func(v *tile.Value) int64 {
		if seen[v] {
			return 0
		}
		seen[v] = true
		n := max(1, flops(v.Def))
		if loads(v.Def) && v.Type.DType == ir.F32 && len(lookups(v.Def)) == 0 || v.Def.Kind == tile.Repeat {
			n = 0
		}
		for _, a := range operands(v) {
			n += of(a)
		}
		return n
	}
	return of(v)
}

// unit finds the axis along which operand v, or the load of most axes that it is
// computed from, is contiguous.
func unit(v *tile.Value, free []*tile.Range, along gemm.Along) gemm.Along {
	if w := widest(v); w != nil && len(free) > 0 && stride(w, free[0]) == 1 {
		return along
	}
	return gemm.AlongK
}

// widest is the load of most axes that v is computed from.
func widest(v *tile.Value) *tile.Op {
	if loads(v.Def) {
		return v.Def
	}
	var best *tile.Op
	for _, a := range v.Def.Args {
		if w := widest(a); w != nil && (best == nil || len(w.View.Axes) > len(best.View.Axes)) {
			best = w
		}
	}
	return best
}

// operand is the loader of v, with the work before it.
func (x *product) operand(v *tile.Value) func(gemm.At, gemm.Along, int, *kernel.Value) *kernel.Value {
	return func(at gemm.At, along gemm.Along, lanes int, mask *kernel.Value) (out *kernel.Value) {
		x.place(at, along, lanes, mask, func() {
			out = x.b.Convert(x.b.Splat(x.value(v), lanes), kernel.F32)
			if !loads(v.Def) && mask != nil {
				out = x.b.Select(mask, out, x.b.Like(out, 0))
			}
		})
		return out
	}
}

// results runs the work behind the product on lanes of one row, and stores.
func (x *product) results(at gemm.At, acc *kernel.Value, lanes int, mask *kernel.Value) {
	x.place(at, gemm.AlongN, lanes, mask, func() {
		x.know(x.sum, acc)
		out := make([]*kernel.Value, len(x.stores))
		for i, o := range x.stores {
			out[i] = x.value(o.Args[0])
		}
		for i, o := range x.stores {
			x.store(o, out[i])
		}
	})
}

// place runs body at a position of the product, lanes along one of its dimensions.
func (x *product) place(at gemm.At, along gemm.Along, lanes int, mask *kernel.Value, body func()) {
	set := func(rs []*tile.Range, idx kernel.Index, of gemm.Along) {
		for _, r := range rs {
			x.at[r] = coord{idx: idx, vec: along == of}
		}
	}
	x.within(func() {
		x.put(x.outer, at.Outer)
		x.put(x.outerK, at.OuterK)
		set(x.m, at.M, gemm.AlongM)
		set(x.n, at.N, gemm.AlongN)
		set(x.k, at.K, gemm.AlongK)
		x.lanes, x.mask = lanes, mask
		body()
		x.lanes, x.mask = 1, nil
	})
}
