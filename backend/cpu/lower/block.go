package lower

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// block lowers the operations of b, as it is planned. What has no dimensions is computed
// where it is; tiles are computed where they are demanded.
func (l *lowering) block(b *tile.Block) {
	steps := plan(b)
	keep(steps)
	l.reach(b)
	for _, s := range steps {
		kept := s.keeps
		if s.tiled != nil {
			kept = append(slices.Clone(kept), s.tiled.Result())
		}
		for _, v := range kept { // of code for another number of positions
			if k := l.kept[v]; k != nil {
				k.full = false
			}
		}
	}
	for _, s := range steps {
		l.time++
		switch {
		case s.loop != nil:
			l.loop(s.loop)
		case s.branch != nil:
			l.branch(s.branch)
		case s.scatter != nil:
			l.scatter(s.scatter)
		case s.tiled != nil:
			l.foldTo(s.tiled)
		case s.sweeps() || s.shared != nil:
			l.sweep(s)
		default:
			for _, v := range s.scalars {
				l.value(v)
			}
		}
	}
}

// registers is a tile in registers: vectors along one range, for each position of the
// others.
type registers struct {
	dims []*tile.Range
	vec  *tile.Range // nil for a scalar
	vals []*kernel.Value
}

// mostRegisters bounds the vectors of a tile that a loop carries.
const mostRegisters = 32

// registersFor is where a tile over dims would be in registers, and whether it fits.
func (l *lowering) registersFor(dims []*tile.Range) (*registers, bool) {
	g := &registers{dims: dims, vec: l.units.vector(dims)}
	n := int64(1)
	for _, r := range dims {
		if n *= l.parts(g, r); n > mostRegisters {
			return nil, false
		}
	}
	return g, true
}

// hold makes vs the tiles whose vectors are vals, one tile after the other.
func (l *lowering) hold(vs []*tile.Value, like []*registers, vals []*kernel.Value) {
	for i, v := range vs {
		n := 1
		for _, r := range like[i].dims {
			n *= int(l.parts(like[i], r))
		}
		if k := l.kept[v]; k != nil {
			k.full = false
		}
		l.regs[v] = &registers{like[i].dims, like[i].vec, vals[:n:n]}
		vals = vals[n:]
	}
}

// evaluate is the vectors of vs. Those with the same dimensions are computed together,
// position by position.
func (l *lowering) evaluate(vs []*tile.Value, like []*registers) []*kernel.Value {
	l.check(l.spilled(vs, func(g *registers) bool {
		return !slices.ContainsFunc(like, func(x *registers) bool { return !slices.Equal(x.dims, g.dims) })
	}))
	out := make([][]*kernel.Value, len(vs))
	done := make([]bool, len(vs))
	for i := range vs {
		if done[i] {
			continue
		}
		l.each(like[i], func() {
			for j := i; j < len(vs); j++ {
				if !slices.Equal(like[j].dims, like[i].dims) {
					continue
				}
				done[j] = true
				x := l.value(vs[j])
				if like[i].vec != nil {
					x = l.b.Splat(x, l.lanes)
				}
				out[j] = append(out[j], x)
			}
		})
	}
	return slices.Concat(out...)
}

// each runs body at each vector of a tile in registers, unrolled.
func (l *lowering) each(g *registers, body func()) {
	var walk func(dims []*tile.Range)
	walk = func(dims []*tile.Range) {
		if len(dims) == 0 {
			body()
			return
		}
		r := dims[0]
		for j := range l.parts(g, r) {
			l.within(func() {
				l.part[r] = j
				if r != g.vec {
					l.at[r] = coord{idx: l.first[r].Plus(j)}
					walk(dims[1:])
					return
				}
				l.at[r] = coord{idx: l.first[r].Plus(j * l.wide), vec: true}
				l.lanes = int(l.wide)
				if rest := l.n[r] - j*l.wide; rest < l.wide {
					l.mask = l.b.TailMask(kernel.Int(rest), l.lanes)
				}
				walk(dims[1:])
				l.mask, l.lanes = nil, 1
			})
			delete(l.part, r)
			delete(l.at, r)
		}
	}
	walk(g.dims)
}

// pick is the vector of a tile in registers at the present position.
func (l *evaluator) pick(g *registers) *kernel.Value {
	k := int64(0)
	for _, r := range g.dims {
		j, ok := l.part[r]
		if !ok {
			l.fail("found a carried tile read in a loop over %s; it is not lowered yet", r.Name)
			return g.vals[0]
		}
		k = k*l.parts(g, r) + j
	}
	return g.vals[k]
}
