package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// span is a part of a loop over blocks, in which masks of positions may be known to hide nothing.
type span struct {
	from, to *tile.Value // nil: from the first, to the last
	open     bool
}

// keySpans are the blocks of so many keys of which the present rows see any: first those of which
// each row sees all, if masks hide keys from above alone.
func (f *folding) keySpans(size int64) []span {
	seen, open := &bounding{folding: f}, &bounding{folding: f}
	for _, l := range f.Limits {
		at := func(last bool) known {
			row := f.i32(0)
			if l.Row {
				row = f.end(f.Rows[0], last)
			}
			return f.plus(row, l.At)
		}
		if l.Upper {
			seen.below(f.add(at(true), 1), l.At, f.Key.Size)
			if f.splits() {
				open.below(f.add(at(false), 2-size), l.At, 0)
			}
		} else {
			seen.from(at(false), l.At, 0)
		}
	}
	if !f.splits() {
		return []span{{from: seen.lo.x, to: seen.hi.x}}
	}
	return []span{{to: open.hi.x, open: true}, {from: f.next(open.hi, size), to: seen.hi.x}}
}

// rowSpans are the blocks of so many rows that see any of the present keys: last those of which
// each row sees all.
func (f *folding) rowSpans(size int64) []span {
	n := f.Rows[0].Size
	seen, open := &bounding{folding: f}, &bounding{folding: f}
	either := func(least known, none int64) known { // all rows, or none
		return f.apply(op.Select, f.apply(op.Ge, least, f.i32(0)), f.i32(n-none), f.i32(none))
	}
	for _, l := range f.Limits {
		rest := func(last bool) known { // of the key's position less the bound
			return f.plus(f.end(f.Key, last), fusion.Affine{}.Less(l.At))
		}
		switch {
		case l.Row && l.Upper:
			seen.from(rest(false), l.At, 0)
			if f.splits() {
				open.from(rest(true), l.At, n)
			}
		case l.Row:
			seen.below(f.add(rest(true), 1), l.At, n)
		case l.Upper:
			seen.below(either(f.minus(rest(false)), 0), l.At, n)
			if f.splits() {
				open.from(either(f.minus(rest(true)), n), l.At, n)
			}
		default:
			seen.below(either(rest(true), 0), l.At, n)
		}
	}
	if !f.splits() {
		return []span{{from: seen.lo.x, to: seen.hi.x}}
	}
	closed := &bounding{folding: f}
	closed.hi = open.lo
	if seen.hi.x != nil {
		closed.hi = f.apply(op.Min, seen.hi, open.lo)
	}
	return []span{{from: seen.lo.x, to: closed.hi.x}, {from: f.next(open.lo, size), to: seen.hi.x, open: true}}
}

// next is where the first block of a size begins that does not begin below x.
func (f *folding) next(x known, size int64) *tile.Value {
	n := f.i32(size)
	return f.apply(op.Mul, f.apply(op.Div, f.add(x, size-1), n), n).x
}

// splits reports whether blocks of which all is seen have a loop of their own, in which masks are
// not computed.
func (f *folding) splits() bool {
	return len(f.Limits) > 0 && len(f.Open) > 0 && !slices.ContainsFunc(f.Limits, func(l fusion.Limit) bool { return !l.Upper })
}

// reveal takes masks off the scores, where each row sees all of the present keys.
func (f *folding) reveal() {
	for _, m := range slices.Backward(f.Open) {
		f.know(m.Masked, f.value(m.All))
	}
}

// end is the last position of the block that the computation is at along d, or the first.
func (f *folding) end(d fusion.Loop, last bool) known {
	r := f.present([]fusion.Loop{d})[0]
	return f.place(nil, []*tile.Range{r}, func([]*tile.Value) *tile.Value {
		if last {
			return f.b.Last(r)
		}
		return f.b.First(r)
	})
}

// plus is x and what of p does not depend on row and key.
func (f *folding) plus(x known, p fusion.Affine) known {
	x = f.add(x, p.Const)
	for _, v := range p.Plus {
		x = f.apply(op.Add, x, f.first(f.AttentionLoops, v))
	}
	for _, v := range p.Minus {
		x = f.apply(op.Sub, x, f.first(f.AttentionLoops, v))
	}
	return x
}

func (f *folding) add(x known, n int64) known {
	if n == 0 {
		return x
	}
	return f.apply(op.Add, x, f.i32(n))
}

func (f *folding) minus(x known) known { return f.apply(op.Sub, f.i32(0), x) }

// bounding collects the bounds of a loop over an axis.
type bounding struct {
	*folding
	lo, hi known
}

// from and below add a bound that is made of p; it is open where that is too large for one.
func (b *bounding) from(x known, p fusion.Affine, open int64) {
	x = b.sure(x, p, open)
	if b.lo.x != nil {
		x = b.apply(op.Max, b.lo, x)
	}
	b.lo = x
}

func (b *bounding) below(x known, p fusion.Affine, open int64) {
	x = b.sure(x, p, open)
	if b.hi.x != nil {
		x = b.apply(op.Min, b.hi, x)
	}
	b.hi = x
}

// sure is x, or open where a number in p is so large that x may have overflowed.
func (b *bounding) sure(x known, p fusion.Affine, open int64) known {
	for _, v := range slices.Concat(p.Plus, p.Minus) {
		small := b.apply(op.And, b.apply(op.Le, b.first(b.AttentionLoops, v), b.i32(fusion.Farthest)), b.apply(op.Ge, b.first(b.AttentionLoops, v), b.i32(-fusion.Farthest)))
		x = b.apply(op.Select, small, x, b.i32(open))
	}
	return x
}
