package partition

import "slices"

// fixed is a plan in a fixed order: slices; then partial sums are scattered over
// the mesh axes that shard an axis next; minor mesh axes of an axis move to the
// axis that has them next; the other sums are reduced; and what is sharded
// otherwise than it shall be is gathered. After each step what comes first is
// tried again: a shard that has moved may have made room for a sum.
func (p *problem) fixed() (out []step) {
	s := p.from
	for {
		st := p.toward(s)
		if st == nil {
			return out
		}
		out = append(out, *st)
		s = st.then
	}
}

// toward is the first step in that order behind which every axis that it changes is
// sharded as that of the target begins: of an axis over the most mesh axes. What an
// axis begins with as it shall, it keeps.
func (p *problem) toward(s sharding) *step {
	strays := func(st step) bool {
		for i, a := range st.then.axes {
			n := common(a, p.to.axes[i])
			if !slices.Equal(a, s.axes[i]) && (n < len(a) || n < common(s.axes[i], p.to.axes[i])) {
				return true
			}
		}
		return false
	}
	for _, list := range []func(sharding) []step{p.slices, p.scatters, p.exchanges, p.reductions, p.gathers} {
		steps := slices.DeleteFunc(list(s), strays)
		if len(steps) == 0 {
			continue
		}
		best := steps[0]
		for _, st := range steps {
			if len(s.axes) > 0 && st.axis == best.axis && len(st.then.axes[st.axis]) > len(best.then.axes[best.axis]) {
				best = st
			}
		}
		return &best
	}
	return nil
}
