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

// pairs counts the pairs of query and key that masks of positions let through, and all pairs, along the loop
// of queries that most masks compare. Bounds that are known only at run time hide none.
func (k *Kernel) pairs() (seen, all int64) {
	l := k.AttentionLoops(k.Attention.Outs)
	rows, keys := int64(1), l.Key.Size
	if len(l.Rows) > 0 {
		rows = l.Rows[0].Size
	}
	for i := range rows {
		lo, hi := int64(0), keys
		for _, x := range l.Limits {
			at := x.At.Const
			if x.Row {
				at += i
			}
			switch {
			case len(x.At.Plus)+len(x.At.Minus) > 0:
			case x.Upper:
				hi = min(hi, at+1)
			default:
				lo = max(lo, at)
			}
		}
		seen += max(0, hi-lo)
	}
	return seen, rows * keys
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
