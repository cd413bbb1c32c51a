package weights

import "ptc/runtime/program"

// permute writes the elements of src, of so many bytes each and row-major by the sizes
// view, into dst in the order of these sizes.
func permute(dst, src []byte, size int, view, order []int64) {
	n := len(order)
	if n == 0 {
		copy(dst, src)
		return
	}
	strides := make([]int, n) // in bytes, of view
	step := size
	for i := n - 1; i >= 0; i-- {
		strides[i] = step
		step *= int(view[i])
	}
	at := make([]int64, n) // by dimension of dst
	last := order[n-1]
	from, to := 0, 0
	for to < len(dst) {
		to = line(dst, src, to, from, int(view[last]), strides[last], size)
		for i := n - 2; ; i-- {
			if i < 0 {
				return
			}
			from += strides[order[i]]
			if at[i]++; at[i] < view[order[i]] {
				break
			}
			from -= int(at[i]) * strides[order[i]]
			at[i] = 0
		}
	}
}

// line copies n elements that are a stride apart, and gives where the next one goes.
func line(dst, src []byte, to, from, n, stride, size int) int {
	if stride == size {
		copy(dst[to:to+n*size], src[from:])
		return to + n*size
	}
	for range n {
		copy(dst[to:to+size], src[from:from+size])
		from += stride
		to += size
	}
	return to
}

// inverse is how the elements of a piece in a tensor are ordered to be those of the
// parameter.
func inverse(p *program.Piece) (view, order []int64) {
	view, order = make([]int64, len(p.Order)), make([]int64, len(p.Order))
	for i, o := range p.Order {
		view[i] = p.View[o]
		order[o] = int64(i)
	}
	return view, order
}

// elems is the number of elements of sizes, which a plan has checked.
func elems(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}

// shapeOf is the shape of a tensor of names.
func shapeOf(t *program.Named) []int64 {
	shape := append([]int64(nil), t.Pieces[0].Shape...)
	for _, p := range t.Pieces[1:] {
		shape[t.Over] += p.Shape[t.Over]
	}
	return shape
}
