package kernel

// Branches, and arithmetic of indices, which is folded where it can be.

// When runs then where cond holds.
func (b *Builder) When(cond *Value, then func()) {
	b.If(cond, func() []*Value { then(); return nil }, nil)
}

// Either runs then where cond holds, and els where it does not.
func (b *Builder) Either(cond *Value, then, els func()) {
	b.If(cond, func() []*Value { then(); return nil }, func() []*Value { els(); return nil })
}

// AtLeast is x ≥ n.
func (b *Builder) AtLeast(x Index, n int64) *Value {
	v := b.Value(x)
	return b.Ge(v, b.ConstInt(v.Type, n))
}

// MinIndex is the smaller of x and y, MaxIndex the larger.
func (b *Builder) MinIndex(x, y Index) Index { return b.extreme(OpMin, x, y) }
func (b *Builder) MaxIndex(x, y Index) Index { return b.extreme(OpMax, x, y) }

func (b *Builder) extreme(op Op, x, y Index) Index {
	if d := x.Sub(y); d.IsConst() {
		if d.Const == 0 || (d.Const < 0) == (op == OpMin) {
			return x
		}
		return y
	}
	v := b.Value(x)
	if y.IsConst() {
		return Of(b.same(op, v, b.ConstInt(v.Type, y.Const)))
	}
	return Of(b.same(op, v, b.Value(y)))
}

// Position is where element number i lies in a space of the given sizes, the last of which
// varies fastest.
func (b *Builder) Position(i Index, sizes []int64) []Index {
	at := make([]Index, len(sizes))
	left := int64(1)
	for _, n := range sizes {
		left *= n
	}
	for d := len(sizes) - 1; d >= 0; d-- {
		switch {
		case sizes[d] == 1:
			continue
		case sizes[d] == left:
			at[d] = i
		default:
			v := b.Value(i)
			n := b.ConstInt(v.Type, sizes[d])
			at[d], i = Of(b.Rem(v, n)), Of(b.Div(v, n))
		}
		left /= sizes[d]
	}
	return at
}
