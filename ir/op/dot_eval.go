package op

import (
	"math"
	"math/rand"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"ptc/ir"
	"ptc/ir/tensor"
)

// gemmPlan is a dot as a batch of matrix products C[m,n] = A[m,k] B[k,n]:
// the axis names that each dimension stands for.
type gemmPlan struct{ batch, m, n, k []string }

func planGemm(a, b, out ir.Type, over []string) gemmPlan {
	var p gemmPlan
	for _, n := range out.Names() {
		switch {
		case a.Has(n) && b.Has(n):
			p.batch = append(p.batch, n)
		case a.Has(n):
			p.m = append(p.m, n)
		default:
			p.n = append(p.n, n)
		}
	}
	for _, n := range a.Names() {
		if slices.Contains(over, n) {
			p.k = append(p.k, n)
		}
	}
	return p
}

// matrices is an operand as a batch of contiguous matrices.
type matrices struct {
	data  []float64
	trans blas.Transpose
	ld    int
}

// asMatrices is x with axes batch, rows, cols: in place where it is stored so
// or with rows and cols exchanged, else copied.
func asMatrices(x *tensor.Tensor, batch, rows, cols []string) matrices {
	nr, nc := elems(x.Type, rows), elems(x.Type, cols)
	order := slices.Concat(batch, rows, cols)
	switch {
	case sameNames(x.Type, order):
		return matrices{x.Data, blas.NoTrans, nc}
	case sameNames(x.Type, slices.Concat(batch, cols, rows)):
		return matrices{x.Data, blas.Trans, nr}
	}
	t := ir.Type{DType: x.Type.DType}
	for _, n := range order {
		t.Axes = append(t.Axes, x.Type.Axes[x.Type.Index(n)])
	}
	return matrices{x.Reordered(t).Data, blas.NoTrans, nc}
}

// sameNames reports whether t's axes, but for those of size 1, are in order.
func sameNames(t ir.Type, order []string) bool {
	at := -1
	for _, n := range order {
		i := t.Index(n)
		if t.Axes[i].Size == 1 {
			continue
		}
		if i < at {
			return false
		}
		at = i
	}
	return true
}

func elems(t ir.Type, names []string) int {
	n := 1
	for _, a := range names {
		n *= t.Size(a)
	}
	return n
}

// evalDot packs operands that are not stored as matrices and multiplies them
// in float64 by gonum. gonum skips zeros of the first matrix: zero times
// infinity or NaN counts as zero there.
func evalDot(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	a, b, t := args[0], args[1], o.Result().Type
	p := planGemm(a.Type, b.Type, t, o.Attrs.Names("over"))
	// A result stored with n before m is computed as its transpose, B'A'.
	if !sameNames(t, slices.Concat(p.batch, p.m, p.n)) && sameNames(t, slices.Concat(p.batch, p.n, p.m)) {
		a, b, p.m, p.n = b, a, p.n, p.m
	}
	m, n, k := elems(t, p.m), elems(t, p.n), elems(a.Type, p.k)
	left, right := asMatrices(a, p.batch, p.m, p.k), asMatrices(b, p.batch, p.k, p.n)
	c := ir.Type{DType: t.DType}
	for _, name := range slices.Concat(p.batch, p.m, p.n) {
		c.Axes = append(c.Axes, t.Axes[t.Index(name)])
	}
	out := tensor.New(c)
	var impl gonum.Implementation
	for i := 0; i < elems(t, p.batch); i++ {
		impl.Dgemm(left.trans, right.trans, m, n, k, 1,
			left.data[i*m*k:(i+1)*m*k], left.ld, right.data[i*k*n:(i+1)*k*n], right.ld,
			0, out.Data[i*m*n:(i+1)*m*n], n)
	}
	if sameNames(t, slices.Concat(p.batch, p.m, p.n)) {
		return results(&tensor.Tensor{Type: t, Data: out.Data})
	}
	return results(out.Reordered(t))
}

// flopsDot counts a multiplication and an addition for each point of the
// result times the contracted axes.
func flopsDot(o *ir.Op) int64 {
	n, k := int64(o.Result().Type.Elems()), int64(elems(o.Args[0].Type, o.Attrs.Names("over")))
	if n > math.MaxInt64/2/max(k, 1) {
		return math.MaxInt64
	}
	return 2 * n * k
}

func sampleDot(r *rand.Rand) Example {
	axes := sampleAxes(r, 2+r.Intn(3))
	var a, b []ir.Axis
	var over ir.Names
	for _, x := range axes {
		switch r.Intn(4) {
		case 0:
			a = append(a, x)
		case 1:
			b = append(b, x)
		case 2:
			over = append(over, x.Name)
			fallthrough
		default:
			a, b = append(a, x), append(b, x)
		}
	}
	attrs := ir.A("over", over)
	if r.Intn(2) == 0 {
		var out ir.Names
		for _, x := range shuffled(r, axes) {
			if !slices.Contains(over, x.Name) {
				out = append(out, x.Name)
			}
		}
		attrs = attrs.With("out", out)
	}
	d, e := ir.F32, ir.F32
	switch r.Intn(8) {
	case 0, 1:
		d, e, attrs = ir.BF16, ir.BF16, attrs.With("to", ir.Name("f32"))
	case 2:
		d, e = ir.F8E4M3, ir.F8E5M2
	}
	return Example{Attrs: attrs, Args: []*tensor.Tensor{
		filled(typed(d, shuffled(r, a)), away(r, 0.1, 2)),
		filled(typed(e, shuffled(r, b)), away(r, 0.1, 2)),
	}}
}
