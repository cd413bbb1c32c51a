package chunk

import (
	"fmt"
	"slices"

	"ptc/ir"
)

// align is what the places of pieces are multiples of, in bytes, as those of all buffers.
const align = 64

// span is a range of an axis.
type span struct {
	axis        string
	from, limit int
}

// count is how many rows the product has.
func (r *region) count() int {
	n := 1
	x := rowOperand(r.root, r.axes).Type
	for _, a := range r.root.Result().Type.Axes {
		if x.Has(a.Name) {
			n *= a.Size
		}
	}
	return n
}

// wanted is how many chunks there would be if rows could be cut anywhere.
func (r *region) wanted() int {
	return min(r.count()/max(1, r.p.limit.Rows), r.p.limit.Most)
}

// cut are the values of which ranges are read, and those that are put together of ranges.
func (r *region) cut() []*ir.Value {
	var out []*ir.Value
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	for _, o := range r.members() {
		for _, v := range o.Args {
			if _, in := r.in[v.Def]; !in || v.Def == nil {
				add(v)
			}
		}
		for _, v := range o.Results {
			if r.in[o] == rows && r.leaves(v, nil) {
				add(v)
			}
		}
	}
	return slices.DeleteFunc(out, func(v *ir.Value) bool {
		return !slices.ContainsFunc(r.axes, v.Type.Has)
	})
}

// pieces are the ranges of rows, one for each chunk: of one axis, or where that is too
// short of the next one for each position of the first.
func (r *region) pieces() ([][]span, *refusal) {
	wanted := r.wanted()
	if wanted < 2 {
		return nil, nil
	}
	values := r.cut()
	size := func(i int) int { return r.root.Result().Type.Size(r.axes[i]) }
	if len(r.axes) == 1 {
		spans, no := ranges(r.axes[0], size(0), wanted, values, nil)
		var out [][]span
		for _, s := range spans {
			out = append(out, []span{s})
		}
		return out, no
	}
	outer, no := ranges(r.axes[0], size(0), size(0), values, nil)
	if no != nil || len(outer) != size(0) {
		return nil, &refusal{why: "one position of " + r.axes[0] + " is not a multiple of a cache line"}
	}
	inner, no := ranges(r.axes[1], size(1), wanted/size(0), values, r.axes[:1])
	if no != nil {
		return nil, no
	}
	var out [][]span
	for _, s := range outer {
		for _, t := range inner {
			out = append(out, []span{s, t})
		}
	}
	return out, nil
}

// ranges are at most n ranges of an axis such that in each of the values they are ranges of
// bytes that begin where a buffer may. Axes that are ahead have one position.
func ranges(axis string, size, n int, values []*ir.Value, ahead []string) ([]span, *refusal) {
	unit := 1
	for _, v := range values {
		at := v.Type.Index(axis)
		if at < 0 {
			continue
		}
		for _, a := range v.Type.Axes[:at] {
			if a.Size > 1 && !slices.Contains(ahead, a.Name) {
				return nil, &refusal{why: fmt.Sprintf("%s is not the major axis of %s", axis, v.Type)}
			}
		}
		bytes := v.Type.Strides()[at] * v.Type.DType.Size()
		unit = lcm(unit, align/gcd(align, bytes))
	}
	if n = min(n, size/unit); n < 2 {
		return nil, &refusal{why: fmt.Sprintf("pieces of %s of %d would not begin at multiples of %d bytes", axis, size, align)}
	}
	each := ceil(ceil(size, n), unit) * unit
	for k := n; 2*k > n && k > 1; k-- { // alike, if that is not far fewer
		if size%(k*unit) == 0 {
			each = size / k
			break
		}
	}
	var out []span
	for from := 0; from < size; from += each {
		out = append(out, span{axis, from, min(size, from+each)})
	}
	return out, nil
}

func ceil(a, b int) int { return (a + b - 1) / b }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
