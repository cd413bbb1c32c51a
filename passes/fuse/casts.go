package fuse

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// launchBytes is what is read in the time of a launch more.
const launchBytes = 8 << 20

// castsApart notes the casts to fewer bytes, of what is in memory, that are not done as products read their operand. Each block
// of a product's result reads all of its operand's rows that it needs, and casts them itself: the operand is read, from
// caches, as many times as there are blocks side by side, in more bytes than if it were cast before; and a
// product whose operands are only read has them copied by what no thread waits for. A cast before reads the operand once
// and writes it once. On targets that do not say how large blocks are, every product casts its own.
func (p *program) castsApart(c *pass.Context) {
	if c.Target.Block == 0 {
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
		times, ok := p.readAgain(o.Result(), c.Target.Block)
		if !ok || times*int64(in.Bytes()-out.Bytes()) <= int64(in.Bytes()+out.Bytes())+launchBytes {
			continue
		}
		p.before[o], p.keep[o.Result()] = true, true
	}
}

// readAgain is how many times v is read by the blocks of products, of so many rows or columns; false where others than
// products read it.
func (p *program) readAgain(v *ir.Value, block int64) (times int64, ok bool) {
	for _, r := range p.readers(v) {
		if op.Of(r.o).Class != op.Contraction || p.core[r.o] != nil {
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
func (p *program) castBefore(a *group) bool {
	for _, o := range a.ops {
		if p.before[o] {
			return true
		}
	}
	return false
}
