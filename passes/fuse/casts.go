package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// launchBytes is what is read in the time of a launch more.
const launchBytes = 8 << 20

// markCasts marks the casts to fewer bytes of stored values that are kernels of their own. Otherwise each block of a
// product's result casts all rows of the operand that it needs: the operand is read, from caches, as many times as there
// are blocks next to each other, in more bytes than if it had been cast; and a product that only reads its operands has
// them copied asynchronously. A separate cast reads the operand once and writes it once. If the target does not say how
// large blocks are, every product casts its own.
func (p *facts) markCasts(block int64) {
	if block == 0 {
		return
	}
	for _, o := range p.f.Ops {
		if o.Name != op.Cast || p.result[o.Result()] {
			continue
		}
		in, out := o.Args[0].Type, o.Result().Type
		if d := p.stored(o.Args[0]).Def; d != nil && !alone(d) || in.Bytes() <= out.Bytes() {
			continue
		}
		times, ok := p.readAgain(o.Result(), block)
		if !ok || times*int64(in.Bytes()-out.Bytes()) <= int64(in.Bytes()+out.Bytes())+launchBytes {
			continue
		}
		p.ops[o].castFirst = true
	}
}

// readAgain is how many times v is read by the blocks of products, of so many rows or columns; false where others than
// products read it.
func (p *facts) readAgain(v *ir.Value, block int64) (times int64, ok bool) {
	for _, r := range p.readers(v) {
		if op.Of(r.o).Class != op.Contraction || p.ops[r.o].core != nil {
			return 0, false
		}
		others := int64(1)
		for _, a := range r.o.Result().Type.Axes {
			if !r.o.Args[r.arg].Type.Has(a.Name) {
				others *= int64(a.Size)
			}
		}
		times += (others + block - 1) / block
	}
	return times, times > 0
}

// castBefore reports whether group a has a cast that products do not do themselves.
func (p *grouping) castBefore(a *group) bool {
	return slices.ContainsFunc(a.ops, func(o *ir.Op) bool { return p.in.ops[o].castFirst })
}
