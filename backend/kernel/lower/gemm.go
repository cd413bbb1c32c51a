package lower

import (
	"ptc/backend/kernel"
	"ptc/backend/kernel/gemm"
	"ptc/ir"
	"ptc/ir/op"
)

// gemm generates contractions: it maps the axes of the contraction to M, N, K
// and loops around them, and leaves the product to backend/kernel/gemm.
func (g *gen) gemm() (*kernel.Kernel, error) {
	x := newContraction(g)
	return gemm.Generate(gemm.Spec{
		M: x.m.size, N: x.n.size, K: x.k.size,
		Outer: sizes(x.outer), OuterK: sizes(x.outerK),
		Left:  gemm.Operand{Load: x.load(x.left), Unit: x.unit(x.left, x.m, gemm.AlongM), Cost: x.cost(x.left), BF16: x.left.Type.DType == ir.BF16},
		Right: gemm.Operand{Load: x.load(x.right), Unit: x.unit(x.right, x.n, gemm.AlongN), Cost: x.cost(x.right), BF16: x.right.Type.DType == ir.BF16},
		Begin: func(tasks int64) *kernel.Builder { g.begin(tasks); return g.b },
		Store: x.store,
	}, g.m)
}

// contraction is a dot as a matrix product with loops around it.
type contraction struct {
	*gen
	left, right   *ir.Value // operands: left has M, right has N
	m, n, k       dim
	outer, outerK []dim
}

func newContraction(g *gen) *contraction {
	root := g.k.Root
	x := &contraction{gen: g, left: root.Args[0], right: root.Args[1]}
	over := map[string]bool{}
	for _, n := range root.Attrs.Names("over") {
		over[n] = true
	}
	only := func(v, w *ir.Value) []ir.Axis {
		var out []ir.Axis
		for _, a := range g.k.Space {
			if v.Type.Has(a.Name) && !w.Type.Has(a.Name) {
				out = append(out, a)
			}
		}
		return out
	}
	// N holds the axis that the result stores last.
	for i := len(g.k.Space) - 1; i >= 0; i-- {
		a := g.k.Space[i].Name
		l, r := x.left.Type.Has(a), x.right.Type.Has(a)
		if l == r || g.k.Space[i].Size == 1 {
			continue
		}
		if l {
			x.left, x.right = x.right, x.left
		}
		break
	}
	var both, ks []ir.Axis
	for _, a := range g.k.Space {
		if x.left.Type.Has(a.Name) && x.right.Type.Has(a.Name) {
			both = append(both, a)
		}
	}
	for _, a := range x.left.Type.Axes {
		if over[a.Name] {
			ks = append(ks, a)
		}
	}
	x.outer = g.dims(both)
	ms, ns, kd := g.dims(only(x.left, x.right)), g.dims(only(x.right, x.left)), g.dims(ks)
	x.m, ms = takeLargest(ms)
	x.n, ns = takeLast(ns)
	x.k, x.outerK = takeLast(kd)
	x.outer = append(append(x.outer, ms...), ns...)
	return x
}

// takeLargest separates the largest loop; a loop of size 1 where there is none.
func takeLargest(dims []dim) (dim, []dim) {
	if len(dims) == 0 {
		return dim{size: 1}, nil
	}
	best := len(dims) - 1
	for i, d := range dims {
		if d.size > dims[best].size {
			best = i
		}
	}
	rest := append(append([]dim(nil), dims[:best]...), dims[best+1:]...)
	return dims[best], rest
}

func takeLast(dims []dim) (dim, []dim) {
	if len(dims) == 0 {
		return dim{size: 1}, nil
	}
	return dims[len(dims)-1], dims[:len(dims)-1]
}

func sizes(dims []dim) []int64 {
	out := make([]int64, len(dims))
	for i, d := range dims {
		out[i] = d.size
	}
	return out
}

// cost is what computing an element of operand v takes besides loading, in
// floating-point operations, and one for a conversion.
func (x *contraction) cost(v *ir.Value) int64 {
	seen := map[*ir.Value]bool{}
	var of func(v *ir.Value) int64
	of = func(v *ir.Value) int64 {
		if seen[v] {
			return 0
		}
		seen[v] = true
		if _, view := x.gen.k.Views[v]; view || v.Def == nil {
			if v.Type.DType == ir.F32 {
				return 0
			}
			return 1
		}
		n := max(1, op.Of(v.Def).Flops(v.Def)/int64(max(1, v.Type.Elems())))
		for _, a := range v.Def.Args {
			n += of(a)
		}
		return n
	}
	return of(v)
}

// unit finds the axis along which operand v, or the largest value it is
// computed from, is contiguous.
func (x *contraction) unit(v *ir.Value, free dim, along gemm.Along) gemm.Along {
	if len(free.axes) == 0 {
		return gemm.AlongK
	}
	if w := x.widest(v); w != nil {
		if a, ok := w.Axis(last(free)); ok && a.Stride == 1 {
			return along
		}
	}
	return gemm.AlongK
}

// widest is the largest view that v is computed from.
func (x *contraction) widest(v *ir.Value) *op.Strided {
	if w, ok := x.gen.k.Views[v]; ok {
		return &w.Strided
	}
	if v.Def == nil {
		return nil
	}
	var best *op.Strided
	for _, a := range v.Def.Args {
		if w := x.widest(a); w != nil && (best == nil || len(w.Axes) > len(best.Axes)) {
			best = w
		}
	}
	return best
}

// place puts the computation at position at; the axis along which lanes lie
// is the vector axis.
func (x *contraction) place(at gemm.At, along gemm.Along) {
	for i, d := range x.outer {
		x.set(d, coord{idx: at.Outer[i]})
	}
	for i, d := range x.outerK {
		if i < len(at.OuterK) {
			x.set(d, coord{idx: at.OuterK[i]})
		}
	}
	x.setOne(x.m, at.M, along == gemm.AlongM)
	x.setOne(x.n, at.N, along == gemm.AlongN)
	x.setOne(x.k, at.K, along == gemm.AlongK)
}

func (x *contraction) setOne(d dim, i kernel.Index, vec bool) {
	if len(d.axes) > 0 {
		x.set(d, coord{idx: i, vec: vec})
	}
}

// load is the loader of operand v, with its prologue.
func (x *contraction) load(v *ir.Value) func(gemm.At, gemm.Along, int, *kernel.Value) *kernel.Value {
	return func(at gemm.At, along gemm.Along, lanes int, mask *kernel.Value) (out *kernel.Value) {
		x.at1(at, along, lanes, mask, func() {
			out = x.b.Splat(x.value(v), lanes)
			out = x.b.Convert(out, kernel.F32)
			if _, view := x.gen.k.Views[v]; !view && mask != nil {
				out = x.b.Select(mask, out, x.b.Like(out, 0))
			}
		})
		return out
	}
}

func (x *contraction) at1(at gemm.At, along gemm.Along, lanes int, mask *kernel.Value, body func()) {
	x.within(func() {
		x.place(at, along)
		x.lanes, x.mask = lanes, mask
		body()
		x.lanes, x.mask = 1, nil
	})
}

// store runs the epilogue on lanes results of one row.
func (x *contraction) store(at gemm.At, acc *kernel.Value, lanes int, mask *kernel.Value) {
	x.at1(at, gemm.AlongN, lanes, mask, func() {
		x.know(x.gen.k.Root.Result(), acc)
		x.storeAll()
	})
}
