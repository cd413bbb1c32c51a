package layout

import "slices"

// Slice is the part of l whose positions have the bits of from, of those that fixed has, which
// are bits of registers; and which registers of l have it, in the order of the slice's own.
func (l *Layout) Slice(fixed []Basis, from Basis) (*Layout, []int) {
	out := &Layout{Sizes: l.Sizes, Lane: l.Lane, Warp: l.Warp, From: make(Basis, len(l.Sizes))}
	copy(out.From, l.From)
	regs := []int{0}
	first := 0
	for i, b := range l.Reg {
		if !Has(fixed, b) {
			out.Reg = append(out.Reg, b)
			for _, r := range regs {
				regs = append(regs, r|1<<i)
			}
			continue
		}
		for d, n := range b {
			if n&from[d] != 0 {
				out.From[d] |= n
				first |= 1 << i
			}
		}
	}
	for i := range regs {
		regs[i] |= first
	}
	return out, regs
}

// Has reports whether b is among bases, and moves the position.
func Has(bases []Basis, b Basis) bool {
	return !isZero(b) && slices.ContainsFunc(bases, func(x Basis) bool { return slices.Equal(x, b) })
}

// Common are the bits of registers, from the last one of l on, that are such of o as well, but for
// the first so many of o.
func (l *Layout) Common(o *Layout, but int) []Basis {
	var out []Basis
	for _, b := range slices.Backward(l.Reg) {
		if len(o.Reg) > but && Has(o.Reg[but:], b) {
			out = append(out, b)
		}
	}
	return out
}
