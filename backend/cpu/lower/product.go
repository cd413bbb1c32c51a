package lower

import (
	"cmp"
	"fmt"

	"ptc/backend/cpu/gemm"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// product is a kernel that is a matrix product: what backend/cpu/gemm makes a kernel
// of, whose blocks, packing and register tiles are its own, not the tile program's.
type product struct {
	*evaluator
	left, right, sum *tile.Value
	m, n, k          []*tile.Range // of each at most one
	outer, outerK    []*tile.Range
	stores           []*tile.Op
}

// productKernel makes the kernel of product k, cut as s says where that names the tile that registers
// have; otherwise blocks are left to the generator.
func productKernel(name string, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) (*kernel.Kernel, error) {
	x, err := productOf(name, k, s, m)
	if err != nil {
		return nil, err
	}
	spec := x.spec()
	spec.Blocks = blocksOf(s)
	var out *kernel.Kernel
	if err = supported(x.p.Phases[0].Body); err == nil {
		out, err = gemm.Generate(spec, m)
	}
	if err = cmp.Or(x.err, err); err != nil {
		return nil, fmt.Errorf("kernel @%s (%s): tile %s: phase 1: %w", k.F.Name, k.Class, name, err)
	}
	return out, nil
}

// productOf is product k, cut as s says.
func productOf(name string, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) (*product, error) {
	in, err := nest.Build(name, k, s)
	if err != nil {
		return nil, err
	}
	p, c := in.Program, k.Contraction
	if len(p.Phases) != 1 {
		return nil, fmt.Errorf("kernel @%s (%s): found %d phases; expected one", k.F.Name, k.Class, len(p.Phases))
	}
	return &product{
		evaluator: newEvaluator(p, m),
		left:      in.Tiles[c.Left], right: in.Tiles[c.Right], sum: in.Tiles[k.Root.Result()],
		m: in.Ranges(c.M), n: in.Ranges(c.N), k: in.Ranges(c.K),
		outer: in.Ranges(c.Outer), outerK: in.Ranges(c.OuterK),
		stores: stores(p.Phases[0].Body),
	}, nil
}

// stores are those in b.
func stores(b *tile.Block) (out []*tile.Op) {
	for _, o := range b.Ops {
		if o.Kind == tile.Store {
			out = append(out, o)
		}
		for _, inner := range inside(o) {
			out = append(out, stores(inner)...)
		}
	}
	return out
}

// loads reports whether o is a load or a copy.
func loads(o *tile.Op) bool { return o.Kind == tile.Load || o.Kind == tile.Copy }

// spec is the product as backend/cpu/gemm takes it.
func (x *product) spec() gemm.Spec {
	left, right := x.left, x.right
	return gemm.Spec{
		M: extent(x.m), N: extent(x.n), K: extent(x.k),
		Outer: extents(x.outer), OuterK: extents(x.outerK),
		Left:  gemm.Operand{Load: x.operand(left), Unit: unit(left, x.m, gemm.AlongM), Cost: cost(left), BF16: left.Type.DType.Within(ir.BF16)},
		Right: gemm.Operand{Load: x.operand(right), Unit: unit(right, x.n, gemm.AlongN), Cost: cost(right), BF16: right.Type.DType.Within(ir.BF16)},
		Begin: func(tasks int64) *kernel.Builder { return x.begin(x.p.Name, tasks) },
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
