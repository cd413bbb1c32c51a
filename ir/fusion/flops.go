package fusion

import (
	"math"
	"math/bits"

	"ptc/ir"
	"ptc/ir/op"
)

// Flops is the work of a kernel function, of those with one result the sum over its
// operations. Of an attention under a mask made of positions, such as a causal one or
// a window, only the pairs of query and key count that it lets through: others are
// skipped, up to the blocks in which both kinds are.
func Flops(f *ir.Func) int64 {
	over, seen, all := map[*ir.Op]bool{}, int64(1), int64(1)
	if attends(f) {
		if k, err := Analyze(f); err == nil {
			seen, all = k.pairs()
			for _, o := range k.Attention.Body {
				over[o] = true
			}
			for _, o := range f.Ops {
				over[o] = over[o] || k.Part[o] == PartRoot
			}
		}
	}
	var sum int64
	for _, o := range f.Ops {
		n := op.Of(o).Flops(o)
		if over[o] && seen < all {
			hi, lo := bits.Mul64(uint64(n), uint64(seen))
			q, _ := bits.Div64(hi, lo, uint64(all))
			n = int64(q)
		}
		sum += min(n, math.MaxInt64-sum)
	}
	return sum
}

// pairs are how many pairs of query and key a mask of positions lets through, and how
// many there are, along the axis of queries that most of it compares.
func (k *Kernel) pairs() (seen, all int64) {
	row := ir.Axis{Size: 1}
	limits, most := k.limits(row.Name)
	for _, x := range k.Attention.Rows {
		if found, n := k.limits(x.Name); n > most {
			row, limits, most = x, found, n
		}
	}
	rows, keys := int64(row.Size), int64(k.Attention.Key.Size)
	for i := range rows {
		lo, hi := int64(0), keys
		for _, l := range limits {
			switch at := l.Row*i + l.Const; {
			case l.Key == 1:
				lo = max(lo, -at)
			case l.Key == -1:
				hi = min(hi, at+1)
			case at < 0:
				hi = 0
			}
		}
		seen += max(0, hi-lo)
	}
	return seen, rows * keys
}

// limits are those of keys along an axis of queries, and how many of them depend on the query.
// Positions that depend on the device, and windows of others, make none.
func (k *Kernel) limits(row string) (out []Affine, ofRows int) {
	m := Masks{Position: func(v *ir.Value) (p Affine, ok bool) {
		o := v.Def
		if o == nil || o.Name != op.Index || o.Attrs.Has(ir.AttrFirst) || op.DependsOnDevice(o) {
			return p, false
		}
		switch o.Attrs.Text("axis") {
		case k.Attention.Key.Name:
			return Affine{Key: 1}, true
		case row:
			return Affine{Row: 1}, true
		}
		return p, false
	}}
	m.Scores(k.Attention.Scores).Needs(func(c Condition) bool {
		if l := c.Limit; max(l.Key, -l.Key) <= 1 {
			out = append(out, l)
			if l.Row != 0 {
				ofRows++
			}
		}
		return true
	}, nil)
	return out, ofRows
}

// Factors is the dtype of what the products of a kernel function multiply, the widest of several;
// empty where it has no product.
func Factors(f *ir.Func) string {
	var widest ir.DType
	found := false
	for _, o := range f.Ops {
		if op.Of(o).Class != op.Contraction {
			continue
		}
		for _, v := range o.Args {
			if !found || v.Type.DType.Size() > widest.Size() {
				widest, found = v.Type.DType, true
			}
		}
	}
	if !found {
		return ""
	}
	return widest.String()
}
