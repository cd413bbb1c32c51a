package partition

import (
	"slices"

	"ptc/ir/op"
)

// fixed is a plan in a fixed order: slices; then partial sums are scattered over
// the mesh axes that shard an axis next; minor mesh axes of an axis move to the
// axis that has them next; the other sums are reduced; and what is sharded
// otherwise than it shall be is gathered. After each step what comes first is
// tried again: a shard that has moved may have made room for a sum.
func (p *problem) fixed() []step {
	var out []step
	s := p.from
	order := []func(sharding) *step{p.slice, p.scatter, p.exchange, p.reduce, p.gather}
	for i := 0; i < len(order); i++ {
		if st := order[i](s); st != nil {
			out = append(out, *st)
			s, i = st.then, -1
		}
	}
	return out
}

// next are the mesh axes that want has behind have, as far as ok holds; none
// where have is not how want begins.
func next(have, want []int, ok func(m int) bool) []int {
	n := len(have)
	if common(have, want) < n {
		return nil
	}
	for n < len(want) && ok(want[n]) {
		n++
	}
	return want[len(have):n]
}

func (p *problem) slice(s sharding) *step {
	for i, a := range s.axes {
		if over := next(a, p.to.axes[i], s.replicated); len(over) > 0 {
			return &step{kind: op.ShardSlice, over: over[:1], axis: i, then: s.extended(i, over[:1])}
		}
	}
	return nil
}

func (p *problem) scatter(s sharding) *step {
	for _, kind := range []string{"sum", "max"} {
		for i, a := range s.axes {
			over := next(a, p.to.axes[i], func(m int) bool { return s.partial&(1<<m) != 0 && p.kinds[m] == kind })
			if len(over) > 0 {
				return &step{kind: op.ReduceScatter, over: over, axis: i, then: s.extended(i, over)}
			}
		}
	}
	return nil
}

func (p *problem) exchange(s sharding) *step {
	for i, a := range s.axes {
		for k := common(a, p.to.axes[i]); k < len(a); k++ {
			over := a[k:]
			for j, b := range s.axes {
				want, n := p.to.axes[j], len(b)
				if j != i && common(b, want) == n && len(want) >= n+len(over) && slices.Equal(want[n:n+len(over)], over) {
					return &step{kind: op.AllToAll, over: over, axis: i, to: j, then: s.gathered(i, k).extended(j, over)}
				}
			}
		}
	}
	return nil
}

func (p *problem) reduce(s sharding) *step {
	if all := p.reductions(s); len(all) > 0 {
		return &all[0]
	}
	return nil
}

func (p *problem) gather(s sharding) *step {
	for i, a := range s.axes {
		if k := common(a, p.to.axes[i]); k < len(a) {
			return &step{kind: op.AllGather, over: a[k:], axis: i, then: s.gathered(i, k)}
		}
	}
	return nil
}
