package propagate

import (
	"slices"

	"ptc/ir"
)

// remarkWhole says which parameters zero leaves whole, because none of their axes
// divides: their state, and at level 3 they themselves, are on every device.
func (p *propagation) remarkWhole() {
	for _, m := range p.l.zero {
		var first string
		var count, all, bytes int
		for _, a := range p.f.Args {
			if a.Role != ir.RoleParam {
				continue
			}
			all++
			t := p.l.stored(a.Path, a.Value.Type, true)
			cut := slices.ContainsFunc(t.Axes, func(x ir.Axis) bool { return slices.Contains(x.Mesh, m) })
			if _, said := p.l.whole[a.Path]; said || cut {
				continue
			}
			if count++; count == 1 {
				first = a.Path
			}
			bytes += t.Bytes()
		}
		if count > 0 {
			p.c.Remarkf(nil, "zero over %s leaves %d of %d parameters, %d bytes, whole on every device: no axis of theirs divides into %d more parts, as of %s",
				m, count, all, bytes, p.l.size(m), first)
		}
	}
}
