package nest

import (
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// gen generates a program: it appends phases and loops, and to these values at the present position.
type gen struct {
	k   *fusion.Kernel
	s   schedule.Schedule
	b   *tile.Builder
	mem *memory

	at        map[string]tile.Affine     // position by axis; 0 where it is missing
	scopes    []map[*ir.Value]known      // by depth of blocks
	constants map[number]known           // of the phase
	instead   map[*ir.Value]func() known // values that are computed otherwise than their operations say
}

// number is a constant, by its bits.
type number struct {
	dtype ir.DType
	bits  uint64
}

// known is a value at the present position, and the depth of the block that has it.
type known struct {
	x     *tile.Value
	depth int
}

// newGen begins a program that stores the results stored.
func newGen(name string, k *fusion.Kernel, s schedule.Schedule, stored []int) *gen {
	b := tile.New(name)
	b.Schedule(s)
	return &gen{k: k, s: s, b: b, mem: newMemory(b, k, stored), at: map[string]tile.Affine{}, instead: map[*ir.Value]func() known{}}
}

// phase appends a phase, whose tasks are the blocks of grid.
func (g *gen) phase(grid []*tile.Range, body func()) {
	g.b.Phase(grid, func() {
		g.scopes = []map[*ir.Value]known{{}}
		g.constants = map[number]known{}
		body()
	})
}

// loop appends a loop over r, in whose body what is computed is forgotten after it.
func (g *gen) loop(r *tile.Range, stages int, init []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	return g.loopOf(r, tile.Loop{Stages: stages}, init, body)
}

// loopOf is a loop with bounds of its own.
func (g *gen) loopOf(r *tile.Range, l tile.Loop, init []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	return g.b.Loop(r, l, init, func(c []*tile.Value) []*tile.Value {
		g.scopes = append(g.scopes, map[*ir.Value]known{})
		out := body(c)
		g.scopes = g.scopes[:len(g.scopes)-1]
		return out
	})
}

// when appends an if, in whose body what is computed is forgotten after it.
func (g *gen) when(cond known, body func()) {
	g.b.If(cond.x, func() []*tile.Value {
		g.scopes = append(g.scopes, map[*ir.Value]known{})
		body()
		g.scopes = g.scopes[:len(g.scopes)-1]
		return nil
	}, nil)
}

// nest runs body in a loop nest over single positions.
func (g *gen) nest(loops []fusion.Loop, carry []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	if len(loops) == 0 {
		return body(carry)
	}
	r := block(loops[0], 1)
	return g.loop(r, 1, carry, func(c []*tile.Value) []*tile.Value {
		g.set(loops[0], r)
		return g.nest(loops[1:], c, body)
	})
}

// set puts the computation at the positions of r along d.
func (g *gen) set(d fusion.Loop, r *tile.Range) { g.at[d.Name()] = tile.At(r) }

// ranges makes blocks of loops, of size 1 but for those that sizes says, from the last
// loop backwards: 0 is the entire loop. The computation is there from now on.
func (g *gen) ranges(loops []fusion.Loop, sizes ...int64) []*tile.Range {
	var out []*tile.Range
	for i, d := range loops {
		size := int64(1)
		if back := len(loops) - 1 - i; back < len(sizes) {
			size = sizes[back]
		}
		r := block(d, size)
		g.set(d, r)
		out = append(out, r)
	}
	return out
}

// whole makes ranges of entire loops. The computation is there from now on.
func (g *gen) whole(loops []fusion.Loop) []*tile.Range {
	var out []*tile.Range
	for _, d := range loops {
		r := block(d, 0)
		g.set(d, r)
		out = append(out, r)
	}
	return out
}

// storeAll stores every result at the present positions.
func (g *gen) storeAll() { g.storeWhere(func(*ir.Value) bool { return true }) }

// storeWhere computes some results, and then stores them: one may lie over an argument that another
// is computed from.
func (g *gen) storeWhere(is func(v *ir.Value) bool) {
	out := make([]*tile.Value, len(g.k.F.Results))
	for _, i := range g.mem.stored {
		if v := g.k.F.Results[i].Value; is(v) {
			out[i] = g.value(v)
		}
	}
	for i, x := range out {
		if x != nil {
			g.b.Store(g.mem.outs[i], x, g.indices(g.mem.outs[i])...)
		}
	}
}

// indices are the present positions along the axes of v.
func (g *gen) indices(v *tile.View) []tile.Affine {
	at := make([]tile.Affine, len(v.Axes))
	for i, a := range v.Axes {
		at[i] = g.at[a.Name]
	}
	return at
}

// indicesWith are the same, but for x along axis.
func (g *gen) indicesWith(v *tile.View, axis string, x tile.Affine) []tile.Affine {
	at := g.indices(v)
	for i, a := range v.Axes {
		if a.Name == axis {
			at[i] = x
		}
	}
	return at
}

// block is a range along l in blocks of the given size; 0 is all of it.
func block(l fusion.Loop, size int64) *tile.Range {
	if size == 0 {
		size = l.Size
	}
	return &tile.Range{Name: l.Name(), Axis: l.Name(), Extent: l.Size, Size: min(size, l.Size)}
}
