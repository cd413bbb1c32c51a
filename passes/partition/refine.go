package partition

import "slices"

// Bounds of the refinements that a search tries, besides those of the search
// itself, which takes part in each of them.
const (
	maxTries       = 24
	maxRefined     = 6 // moving mesh axes, counting parts
	maxRefinedWork = 1 << 14
)

// refinement is how the mesh axes of a problem are written as several: the sizes
// of the parts of each, major to minor. A step over some parts only, as Shardy has
// it over sub-axes, can send less:
//
//	a|b on x = 4 times y = 2, from x|y to y|x, 64 bytes on each device: by three
//	exchanges 120 bytes; with x as x_1 = 2 times x_2 = 2, an exchange of x_2 to b and
//	a permute of all into their places send 32 + 64
type refinement [][]int

// refined is the same reshard over the parts of mesh axes.
func (p *problem) refined(by refinement) *problem {
	q := *p
	q.mesh, q.kinds = nil, nil
	parts := make([][]int, len(p.mesh))
	for m, sizes := range by {
		for _, n := range sizes {
			parts[m] = append(parts[m], len(q.mesh))
			q.mesh, q.kinds = append(q.mesh, n), append(q.kinds, p.kinds[m])
		}
	}
	over := func(s sharding) sharding {
		t := sharding{axes: make([][]int, len(s.axes))}
		for i, a := range s.axes {
			for _, m := range a {
				t.axes[i] = append(t.axes[i], parts[m]...)
			}
		}
		for m := range p.mesh {
			if s.partial&(1<<m) != 0 {
				t.partial |= bits(parts[m])
			}
		}
		return t
	}
	q.from, q.to = over(p.from), over(p.to)
	return &q
}

// divisions are the ways to write mesh axis m as two of which one has a factor of
// its size in common with another mesh axis that moves.
func (p *problem) divisions(m int) (out [][]int) {
	size := p.mesh[m]
	add := func(major int) {
		if d := []int{major, size / major}; !slices.ContainsFunc(out, func(x []int) bool { return slices.Equal(x, d) }) {
			out = append(out, d)
		}
	}
	for other, n := range p.mesh {
		if d := gcd(size, n); other != m && 1 < d && d < size {
			add(d)
			add(size / d)
		}
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// tries are refinements to plan with, those of few parts first, without the one
// that leaves all mesh axes whole. A mesh axis is written as ok allows.
func (p *problem) tries(ok func(m int, parts []int) bool) []refinement {
	all := []refinement{{}}
	for m, size := range p.mesh {
		ways := [][]int{{size}}
		for _, d := range p.divisions(m) {
			if ok(m, d) {
				ways = append(ways, d)
			}
		}
		var next []refinement
		for _, by := range all {
			for _, way := range ways {
				next = append(next, append(by[:len(by):len(by)], way))
			}
		}
		all = next
		if len(all) > 1<<10 {
			return nil
		}
	}
	all = slices.DeleteFunc(all, func(by refinement) bool { return by.parts() == len(by) || by.parts() > maxRefined })
	slices.SortStableFunc(all, func(a, b refinement) int { return a.parts() - b.parts() })
	return all[:min(len(all), maxTries)]
}

func (r refinement) parts() (n int) {
	for _, sizes := range r {
		n += len(sizes)
	}
	return n
}
