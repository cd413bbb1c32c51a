package gemm

import "ptc/backend/kernel"

// quad is the number of f32 in 128 bits, within which shuffles are cheap.
const quad = 4

// transpose turns lanes vectors of lanes elements, a power of two of at least
// quad, into the vectors of their first, second, … elements. Every shuffle is
// one instruction on x86 (unpcklps and unpckhps, unpcklpd and unpckhpd, then
// shuffles of 128-bit parts) and NEON:
//
//	a0 a1 a2 a3        a0 b0 a1 b1        a0 b0 c0 d0
//	b0 b1 b2 b3   →    a2 b2 a3 b3   →    a1 b1 c1 d1     in every 128 bits
//	c0 …               c0 d0 c1 d1        a2 b2 c2 d2
//	d0 …               c2 d2 c3 d3        a3 b3 c3 d3
//
// after which the 128-bit parts are transposed: see parts.
func transpose(b *kernel.Builder, rows []*kernel.Value) []*kernel.Value {
	n := len(rows)
	low, high := inQuads(n, 0, n, 1, n+1), inQuads(n, 2, n+2, 3, n+3)
	first, second := inQuads(n, 0, 1, n, n+1), inQuads(n, 2, 3, n+2, n+3)
	var column [quad][]*kernel.Value // [c][g], part j of it: elements 4j+c of rows 4g to 4g+3
	for i := 0; i < n; i += quad {
		x0, x1 := b.Shuffle(rows[i], rows[i+1], low...), b.Shuffle(rows[i], rows[i+1], high...)
		y0, y1 := b.Shuffle(rows[i+2], rows[i+3], low...), b.Shuffle(rows[i+2], rows[i+3], high...)
		for c, v := range []*kernel.Value{
			b.Shuffle(x0, y0, first...), b.Shuffle(x0, y0, second...),
			b.Shuffle(x1, y1, first...), b.Shuffle(x1, y1, second...),
		} {
			column[c] = append(column[c], v)
		}
	}
	out := make([]*kernel.Value, n)
	for c, vs := range column {
		parts(b, vs, c, quad, out)
	}
	return out
}

// parts gathers the equal-numbered 128-bit parts of vs, as many as there are
// vectors: part j of all of them becomes out[at+j·step]. Taking the even parts
// of pairs of vectors, and the odd ones, halves the problem.
func parts(b *kernel.Builder, vs []*kernel.Value, at, step int, out []*kernel.Value) {
	if len(vs) == 1 {
		out[at] = vs[0]
		return
	}
	var even, odd []int
	for q := 0; q < 2*vs[0].Type.Lanes; q += 2 * quad {
		for i := range quad {
			even, odd = append(even, q+i), append(odd, q+quad+i)
		}
	}
	var evens, odds []*kernel.Value
	for i := 0; i < len(vs); i += 2 {
		evens = append(evens, b.Shuffle(vs[i], vs[i+1], even...))
		odds = append(odds, b.Shuffle(vs[i], vs[i+1], odd...))
	}
	parts(b, evens, at, 2*step, out)
	parts(b, odds, at+step, 2*step, out)
}

// inQuads repeats a choice of lanes in every 128 bits of vectors of n lanes.
func inQuads(n int, lanes ...int) []int {
	var out []int
	for q := 0; q < n; q += quad {
		for _, l := range lanes {
			out = append(out, q+l)
		}
	}
	return out
}
