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
	of := k.Sections
	if k.Class != fusion.Horizontal {
		of = []*fusion.Section{{Kernel: k, Args: count(len(f.Args)), Results: count(len(f.Results))}}
	}
	var out []program.Product
	for _, s := range of {
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

// factors are the parts of a product, and where each lies.
type factors struct {
	root        *ir.Op
	left, right fusion.View
	out         op.Strided
	dtype       ir.DType      // of the result
	terms       []fusion.View // what is added
}

// product is what a kernel of one product does; nil where it does more, or where the operands do not lie as
// matrices do.
func product(k *fusion.Kernel) *program.Product {
	if k.Class != fusion.Gemm || len(k.F.Results) != 1 {
		return nil
	}
	x := &factors{root: k.Root}
	var isLeft, isRight bool
	x.left, isLeft = k.Views[k.Root.Args[0]]
	x.right, isRight = k.Views[k.Root.Args[1]]
	if !isLeft || !isRight || k.Root.Args[0].Type.DType == ir.F64 || k.Root.Args[0].Type.DType.IsScaled() || !x.result(k) {
		return nil
	}
	return x.product()
}

// result says what of the kernel is behind the product: nothing, something that is added in f32, or one
// rounding to the dtype of the factors.
func (x *factors) result(k *fusion.Kernel) bool {
	v, from := k.F.Results[0].Value, x.root.Args[0].Type.DType
	x.out, x.dtype = op.Dense(v.Type), v.Type.DType
	for v != x.root.Result() {
		o := v.Def
		switch {
		case o == nil:
			return false
		case o.Name == op.Cast && v.Type.DType == from && o.Args[0].Type.DType == ir.F32 && len(x.terms) == 0:
			v = o.Args[0]
		case op.Has(o, op.ByName) && fusion.SameSpace(o.Args[0].Type.Axes, v.Type.Axes):
			v = o.Args[0]
		case o.Name == op.Add && x.dtype == ir.F32 && v.Type.DType == ir.F32:
			i := slices.IndexFunc(o.Args, func(a *ir.Value) bool { _, ok := k.Views[a]; return ok })
			if i < 0 {
				return false
			}
			x.terms, v = append(x.terms, k.Views[o.Args[i]]), o.Args[1-i]
		default:
			return false
		}
	}
	return x.dtype == ir.F32 || x.dtype == from
}

// product finds axes of the batch, of rows, of columns and of what is summed over, each of which must be one
// in all operands.
func (x *factors) product() *program.Product {
	left, right := x.left, x.right
	has := func(v op.Strided, name string) bool { _, ok := v.Axis(name); return ok }
	columns := func(l, r op.Strided) bool { // whether the last axis is of the right operand
		for _, a := range x.out.Axes {
			if a.Stride == 1 && a.Size > 1 {
				return has(r, a.Name)
			}
		}
		return true
	}
	if !columns(left.Strided, right.Strided) {
		left, right = right, left
	}
	var batch, m, n []string
	for _, a := range x.out.Axes {
		switch l, r := has(left.Strided, a.Name), has(right.Strided, a.Name); {
		case l && r:
			batch = append(batch, a.Name)
		case l:
			m = append(m, a.Name)
		default:
			n = append(n, a.Name)
		}
	}
	views := []op.Strided{left.Strided, right.Strided, x.out}
	for _, t := range x.terms {
		views = append(views, t.Strided)
	}
	b, ok := merged(views, batch)
	rows, ok1 := merged(views, m)
	cols, ok2 := merged(views, n)
	sum, ok3 := merged(views, x.root.Attrs.Names("over"))
	if !ok || !ok1 || !ok2 || !ok3 {
		return nil
	}
	p := &program.Product{Batch: b.size, M: rows.size, N: cols.size, K: sum.size}
	p.Left, ok = matrices(left, b, rows, sum, 0)
	p.Right, ok1 = matrices(right, b, sum, cols, 1)
	p.Out, ok2 = matrices(fusion.View{Strided: x.out}, b, rows, cols, 2)
	p.Left.DType, p.Right.DType, p.Out.DType = x.root.Args[0].Type.DType.String(), x.root.Args[1].Type.DType.String(), x.dtype.String()
	if !ok || !ok1 || !ok2 || p.Out.Transposed {
		return nil
	}
	for i, t := range x.terms {
		if !add(p, t, b, rows, cols, len(views)-len(x.terms)+i) {
			return nil
		}
	}
	return p
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
func merged(views []op.Strided, axes []string) (line, bool) {
	var each []line
	for _, name := range axes {
		l := line{size: 1}
		for _, v := range views {
			a, ok := v.Axis(name)
			if ok {
				l.size = int64(a.Size)
			}
			l.strides = append(l.strides, int64(a.Stride))
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
