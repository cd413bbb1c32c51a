package partition

import (
	"slices"

	"ptc/internal/collective"
)

// steps are the collectives that a tensor sharded as s allows, in the order in
// which equals are preferred: what sends nothing first, as all that follows then
// moves less, and what makes shards larger last. Permutes, which are many, are
// there if they are wanted.
func (p *problem) steps(s sharding, permutes bool) []step {
	var out []step
	lists := []func(sharding) []step{p.slices, p.scatters, p.exchanges, p.permutes, p.reductions, p.gathers}
	if !permutes {
		lists = slices.Delete(lists, 3, 4)
	}
	for _, list := range lists {
		for _, st := range list(s) {
			if !slices.Contains(p.banned, st.kind) {
				out = append(out, st)
			}
		}
	}
	return out
}

// slices are over one mesh axis each: partition puts together those of an axis.
func (p *problem) slices(s sharding) (out []step) {
	for i := range s.axes {
		for m := range p.mesh {
			if t := s.extended(i, []int{m}); s.replicated(m) && p.even(i, t.axes[i]) {
				out = append(out, step{kind: collective.ShardSlice, over: []int{m}, axis: i, then: t})
			}
		}
	}
	return out
}

// scatters are reduce_scatters over any of the mesh axes of one reduction, in any
// order.
func (p *problem) scatters(s sharding) (out []step) {
	for i := range s.axes {
		var extend func(over []int)
		extend = func(over []int) {
			if len(over) > 0 {
				if !p.even(i, append(slices.Clone(s.axes[i]), over...)) {
					return
				}
				out = append(out, step{kind: collective.ReduceScatter, over: slices.Clone(over), axis: i, then: s.extended(i, over)})
			}
			for m := range p.mesh {
				if s.partial&(1<<m) != 0 && !slices.Contains(over, m) && (len(over) == 0 || p.kinds[m] == p.kinds[over[0]]) {
					extend(append(slices.Clone(over), m))
				}
			}
		}
		extend(nil)
	}
	return out
}

// exchanges are all_to_alls of minor mesh axes of one axis to another.
func (p *problem) exchanges(s sharding) (out []step) {
	for i, a := range s.axes {
		for k := range a {
			for j := range s.axes {
				if j == i {
					continue
				}
				if t := s.gathered(i, k).extended(j, a[k:]); p.even(j, t.axes[j]) {
					out = append(out, step{kind: collective.AllToAll, over: a[k:], axis: i, to: j, then: t})
				}
			}
		}
	}
	return out
}

// permutes are to all other shardings with shards of the same sizes.
func (p *problem) permutes(s sharding) (out []step) {
	t := sharding{make([][]int, len(s.axes)), s.partial}
	var fill func(i int, left int64, used uint64)
	fill = func(i int, left int64, used uint64) {
		if i == len(t.axes) {
			if over := p.differing(s, t); len(over) > 0 {
				out = append(out, step{kind: collective.Permute, over: over, then: t.clone()})
			}
			return
		}
		if left == 1 {
			next := int64(1)
			if i+1 < len(t.axes) {
				next = p.parts(s.axes[i+1])
			}
			fill(i+1, next, used)
		}
		for m, n := range p.mesh {
			// A mesh axis of one device stays, so that there is an end.
			if used&(1<<m) != 0 || n == 1 && !slices.Contains(s.axes[i], m) || left%int64(n) != 0 {
				continue
			}
			t.axes[i] = append(t.axes[i], m)
			fill(i, left/int64(n), used|1<<m)
			t.axes[i] = t.axes[i][:len(t.axes[i])-1]
		}
	}
	if len(s.axes) > 0 {
		fill(0, p.parts(s.axes[0]), s.partial)
	}
	return out
}

// differing are the mesh axes behind those that both shardings of an axis begin
// with.
func (p *problem) differing(s, t sharding) (over []int) {
	for m := range p.mesh {
		for i, a := range s.axes {
			k := common(a, t.axes[i])
			if slices.Contains(a[k:], m) || slices.Contains(t.axes[i][k:], m) {
				over = append(over, m)
				break
			}
		}
	}
	return over
}

// reductions are all_reduces over any of the mesh axes of one reduction.
func (p *problem) reductions(s sharding) (out []step) {
	for _, kind := range []string{"sum", "max"} {
		var all []int
		for m := range p.mesh {
			if s.partial&(1<<m) != 0 && p.kinds[m] == kind {
				all = append(all, m)
			}
		}
		for set := 1<<len(all) - 1; set > 0; set-- {
			var over []int
			for i, m := range all {
				if set&(1<<i) != 0 {
					over = append(over, m)
				}
			}
			t := s.clone()
			t.partial &^= bits(over)
			out = append(out, step{kind: collective.AllReduce, over: over, then: t})
		}
	}
	return out
}

// gathers are all_gathers of an axis over its minor mesh axes.
func (p *problem) gathers(s sharding) (out []step) {
	for i, a := range s.axes {
		for k := range a {
			out = append(out, step{kind: collective.AllGather, over: a[k:], axis: i, then: s.gathered(i, k)})
		}
	}
	return out
}

// common is how many mesh axes a and b begin with alike.
func common[M comparable](a, b []M) int {
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return k
}
