package gpu

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/runtime/program"
)

// products are those that are all that a kernel does, if that is what it does: one, or as many as it
// has sections.
func products(f *ir.Func) []program.Product {
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil // who generates the kernel says so
	}
	var out []program.Product
	for _, s := range k.All() {
		p := product(s.Kernel)
		if p == nil {
			return nil
		}
		for _, m := range []*program.Matrices{&p.Left, &p.Right, p.Add, p.Bias} {
			if m != nil {
				m.Arg = s.Args[m.Arg]
			}
		}
		p.Out.Arg = len(f.Args) + s.Results[0]
		out = append(out, *p)
	}
	return out
}

// product is what a kernel of one product does; nil where it does more, or where the operands do not lie as
// matrices do: the axes of each role must be one in all of them.
func product(k *fusion.Kernel) *program.Product {
	if k.Class != fusion.Gemm || len(k.F.Results) != 1 {
		return nil
	}
	c, result := k.Contraction, k.F.Results[0].Value.Type
	from, out := c.Left.Type.DType, op.Dense(result)
	left, rows, right, cols := c.Left, c.Rows, c.Right, c.Cols
	contiguous := func(a ir.Axis) bool { s, _ := out.Axis(a.Name); return s.Stride == 1 && a.Size > 1 }
	if slices.ContainsFunc(rows, contiguous) { // as where the kernel transposes the product's result
		left, rows, right, cols = right, cols, left, rows
	}
	x, isLeft := k.Views[left]
	y, isRight := k.Views[right]
	terms, sums := added(k)
	if !isLeft || !isRight || !sums || from == ir.F64 || from.IsScaled() {
		return nil
	}
	views := []op.Strided{x.Strided, y.Strided, out}
	for _, t := range terms {
		views = append(views, t.Strided)
	}
	b, ok := merged(views, c.Batch)
	m, ok1 := merged(views, rows)
	n, ok2 := merged(views, cols)
	sum, ok3 := merged(views, c.Sum)
	if !ok || !ok1 || !ok2 || !ok3 {
		return nil
	}
	p := &program.Product{Batch: b.size, M: m.size, N: n.size, K: sum.size}
	p.Left, ok = matrices(x, b, m, sum, 0)
	p.Right, ok1 = matrices(y, b, sum, n, 1)
	p.Out, ok2 = matrices(fusion.View{Strided: out}, b, m, n, 2)
	p.Left.DType, p.Right.DType, p.Out.DType = from.String(), from.String(), result.DType.String()
	if !ok || !ok1 || !ok2 || p.Out.Transposed {
		return nil
	}
	for i, t := range terms {
		if !add(p, t, b, m, n, 3+i) {
			return nil
		}
	}
	return p
}

// added are what kernel k adds to its product in f32; false where it does anything else, but for one rounding to the
// dtype of the factors.
func added(k *fusion.Kernel) (terms []fusion.View, ok bool) {
	v, from := k.F.Results[0].Value, k.Contraction.Left.Type.DType
	dtype := v.Type.DType
	for v != k.Root.Result() {
		o := v.Def
		switch {
		case o == nil:
			return nil, false
		case o.Name == op.Cast && v.Type.DType == from && o.Args[0].Type.DType == ir.F32 && len(terms) == 0:
			v = o.Args[0]
		case op.Has(o, op.ByName) && fusion.SameSpace(o.Args[0].Type.Axes, v.Type.Axes):
			v = o.Args[0]
		case o.Name == op.Add && dtype == ir.F32 && v.Type.DType == ir.F32:
			i := slices.IndexFunc(o.Args, func(a *ir.Value) bool { _, ok := k.Views[a]; return ok })
			if i < 0 {
				return nil, false
			}
			terms, v = append(terms, k.Views[o.Args[i]]), o.Args[1-i]
		default:
			return nil, false
		}
	}
	return terms, dtype == ir.F32 || dtype == from
}

// add adds a term, which is number at of the lines' views: a matrix that has all elements of the result, or
// a row. There is one of each at most.
func add(p *program.Product, term fusion.View, b, rows, cols line, at int) bool {
	flat := func(l line) bool { return l.size == 1 || l.strides[at] == 0 }
	repeats := b.size > 1 || rows.size > 1 // else a row is a matrix, which the result may be over
	if repeats && flat(b) && flat(rows) && (cols.size == 1 || cols.strides[at] == 1) && p.Bias == nil {
		p.Bias = &program.Matrices{Arg: term.Arg, DType: ir.F32.String(), Offset: int64(term.Offset), Row: p.N}
		return true
	}
	m, ok := matrices(term, b, rows, cols, at)
	if !ok || m.Transposed || b.size > 1 && m.Batch == 0 || p.Add != nil {
		return false
	}
	m.DType = ir.F32.String()
	p.Add = &m
	return true
}

// line is axes that are one in every view: its size, and its stride in each.
type line struct {
	size    int64
	strides []int64 // of a view that does not have it, or repeats it, 0
}

// merged is axes as one, whichever order makes them so; false where none does. Axes of size 1 are
// none.
func merged(views []op.Strided, axes []ir.Axis) (line, bool) {
	var each []line
	for _, a := range axes {
		l := line{size: int64(a.Size)}
		for _, v := range views {
			s, _ := v.Axis(a.Name)
			l.strides = append(l.strides, int64(s.Stride))
		}
		if l.size > 1 {
			each = append(each, l)
		}
	}
	slices.SortStableFunc(each, func(a, b line) int { return slices.Compare(b.strides, a.strides) })
	out := line{1, make([]int64, len(views))}
	for i, l := range each {
		for v := range views {
			if i > 0 && out.strides[v] != l.strides[v]*l.size {
				return out, false
			}
		}
		out.size, out.strides = out.size*l.size, l.strides
	}
	return out, true
}

// matrices are those of a view, which is number at of the lines' views; false where neither rows nor
// columns are next to each other.
func matrices(v fusion.View, batch, rows, cols line, at int) (program.Matrices, bool) {
	m := program.Matrices{Arg: v.Arg, Offset: int64(v.Offset), Row: rows.strides[at], Batch: batch.strides[at]}
	width := cols.size
	if cols.size > 1 && cols.strides[at] != 1 {
		m.Transposed, m.Row, width = true, cols.strides[at], rows.size
		if rows.size > 1 && rows.strides[at] != 1 {
			return m, false
		}
	} else if rows.size == 1 {
		m.Row = width
	}
	return m, m.Row >= width && m.Batch >= 0 && m.Offset >= 0
}
