package lower

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// step is what a block does at a time: a loop, an if, a scatter, scalars, or a sweep.
type step struct {
	loop    *tile.Op
	branch  *tile.Op
	scatter *tile.Op
	scalars []*tile.Value
	dims    []*tile.Range // of the sweep
	reds    []*tile.Op    // reductions of the sweep
	stores  []*tile.Op    // stores of the sweep, behind all that it computes
	keeps   []*tile.Value // what the sweep puts into scratch, since later ones read it
	tiled   *tile.Op      // a reduction to a tile, which goes into scratch
	shared  *tile.Value   // a tile in shared memory, which is scratch
}

// sweeps reports whether s is a sweep.
func (s *step) sweeps() bool { return len(s.reds)+len(s.stores) > 0 }

// roots are what a sweep is for.
func (s *step) roots() []*tile.Value {
	var out []*tile.Value
	for _, o := range s.reds {
		out = append(out, o.Args[0])
	}
	for _, o := range s.stores {
		out = append(out, o.Args[0])
		out = append(out, lookups(o)...)
	}
	if s.tiled != nil {
		out = append(out, s.tiled.Args[0])
	}
	if s.shared != nil {
		out = append(out, s.shared)
	}
	return out
}

// gives reports whether a step computes one of the tiles for good.
func (s *step) gives(need map[*tile.Value]bool) bool {
	return slices.ContainsFunc(s.scalars, func(v *tile.Value) bool { return need[v] }) ||
		slices.ContainsFunc(s.reds, func(r *tile.Op) bool { return need[r.Result()] }) ||
		s.tiled != nil && need[s.tiled.Result()] || s.shared != nil && need[s.shared]
}

// folded reports whether o sums or reduces, in a sweep of its own.
func folded(o *tile.Op) bool { return folds[o.Kind] != nil || o.Kind == tile.Dot }

// lookups are the tiles by which o looks positions up.
func lookups(o *tile.Op) []*tile.Value {
	var out []*tile.Value
	for _, x := range o.At {
		for _, t := range x.Terms {
			if t.Value != nil {
				out = append(out, t.Value)
			}
		}
	}
	return out
}

// operands are the tiles that computing v needs next.
func operands(v *tile.Value) []*tile.Value {
	return append(slices.Clone(v.Def.Args), lookups(v.Def)...)
}

// plan orders the operations of a block. Loops, ifs and scatters stay where they are; what is
// between two of them is in stages, one behind what the reductions of the stage before give. A stage
// computes its scalars, and then sweeps: reductions of the same ranges together, and
// stores with them where nothing later reads what they may overwrite.
func plan(b *tile.Block) []*step {
	var out []*step
	var part []*tile.Op
	flush := func() {
		out = append(out, segment(part)...)
		part = nil
	}
	for _, o := range b.Ops {
		switch o.Kind {
		case tile.For:
			flush()
			out = append(out, &step{loop: o})
			continue
		case tile.If:
			flush()
			out = append(out, &step{branch: o})
			continue
		case tile.Scatter:
			flush()
			out = append(out, &step{scatter: o})
			continue
		}
		if loads(o) && slices.ContainsFunc(part, func(s *tile.Op) bool { return s.Kind == tile.Store && overlap(s, o) }) {
			flush() // it reads what was stored
		}
		part = append(part, o)
	}
	flush()
	return out
}

// overlap reports whether two operations may access the same memory.
func overlap(x, y *tile.Op) bool {
	a, b := x.View.Buffer, y.View.Buffer
	return a == b || slices.Contains(a.Over, b) || slices.Contains(b.Over, a)
}

// segment plans operations without loops.
func segment(ops []*tile.Op) []*step {
	stage := map[*tile.Value]int{}
	of := func(vs []*tile.Value) int {
		n := 0
		for _, v := range vs {
			n = max(n, stage[v])
		}
		return n
	}
	early := map[int][]*step{} // what is computed before the sweeps of a stage
	var sweeps [][]*step       // by stage
	last := 0
	for _, o := range ops {
		n := of(append(slices.Clone(o.Args), lookups(o)...))
		switch {
		case folded(o):
			for len(sweeps) <= n {
				sweeps = append(sweeps, nil)
			}
			if len(o.Result().Type.Dims) > 0 || o.Kind == tile.Dot {
				sweeps[n] = append(sweeps[n], &step{tiled: o})
			} else {
				addReduction(&sweeps[n], o)
			}
			n++
			stage[o.Result()] = n
		case o.Kind != tile.Store && o.Kind != tile.Wait: // a copy ends where it is issued
			v := o.Result()
			stage[v] = n
			if len(v.Type.Dims) == 0 {
				early[n] = append(early[n], &step{scalars: []*tile.Value{v}})
			} else if v.Type.Space == tile.Shared {
				early[n] = append(early[n], &step{shared: v, dims: v.Type.Dims, keeps: []*tile.Value{v}})
			}
		}
		last = max(last, n)
	}
	var out []*step
	for n := range last + 1 {
		out = append(out, early[n]...)
		if n < len(sweeps) {
			out = append(out, sweeps[n]...)
		}
	}
	for _, o := range ops {
		if o.Kind == tile.Store {
			out = addStore(out, o)
		}
	}
	return out
}

func addReduction(sweeps *[]*step, o *tile.Op) {
	var dims []*tile.Range
	for _, r := range o.Over {
		if r.Size > 1 {
			dims = append(dims, r)
		}
	}
	slices.SortFunc(dims, func(a, b *tile.Range) int { return rank(o, a) - rank(o, b) })
	for _, s := range *sweeps {
		if slices.Equal(s.dims, dims) {
			s.reds = append(s.reds, o)
			return
		}
	}
	*sweeps = append(*sweeps, &step{dims: dims, reds: []*tile.Op{o}})
}

// rank is where r is among the dimensions of o's operand.
func rank(o *tile.Op, r *tile.Range) int { return slices.Index(o.Args[0].Type.Dims, r) }

// addStore puts o into the first sweep over its dimensions that has what it needs, and
// behind which nothing reads what it may overwrite; or at the end.
func addStore(steps []*step, o *tile.Op) []*step {
	ready := 0
	need := closure((&step{stores: []*tile.Op{o}}).roots())
	for i, s := range steps {
		if s.gives(need) {
			ready = i + 1
		}
	}
	for i := ready; i < len(steps); i++ {
		s := steps[i]
		if s.sweeps() && s.tiled == nil && sameSet(s.dims, o.Span()) && !slices.ContainsFunc(steps[i+1:], func(later *step) bool { return readsUnder(later, o) }) {
			s.stores = append(s.stores, o)
			return steps
		}
	}
	return append(steps, &step{dims: o.Span(), stores: []*tile.Op{o}})
}

// closure are the tiles that computing roots needs, within stages before and this one.
func closure(roots []*tile.Value) map[*tile.Value]bool {
	out := map[*tile.Value]bool{}
	var walk func(v *tile.Value)
	walk = func(v *tile.Value) {
		if out[v] {
			return
		}
		out[v] = true
		if v.Def != nil && len(inside(v.Def)) == 0 && !folded(v.Def) {
			for _, a := range operands(v) {
				walk(a)
			}
		}
	}
	for _, v := range roots {
		walk(v)
	}
	return out
}

// readsUnder reports whether a step loads what store o may overwrite.
func readsUnder(s *step, o *tile.Op) bool {
	for v := range closure(append(s.roots(), s.scalars...)) {
		if v.Def != nil && loads(v.Def) && overlap(v.Def, o) {
			return true
		}
	}
	return false
}

// keep decides which tiles the sweeps of a plan put into scratch: those that a later
// sweep over the same dimensions needs too, and that cost more to compute again than a
// store and a load.
func keep(steps []*step) {
	first := map[*tile.Value]*step{} // that computes it
	kept := map[*tile.Value]bool{}
	for _, s := range steps {
		if !s.sweeps() {
			continue
		}
		seen := map[*tile.Value]bool{}
		var walk func(v *tile.Value)
		walk = func(v *tile.Value) {
			if seen[v] || v.Def == nil || len(v.Type.Dims) == 0 || v.Type.Space == tile.Shared || len(inside(v.Def)) > 0 || folded(v.Def) {
				return
			}
			seen[v] = true
			if f := first[v]; f != nil && f != s && costly(v.Def) && sameSet(f.dims, v.Type.Dims) && sameSet(s.dims, v.Type.Dims) {
				if !kept[v] {
					kept[v] = true
					f.keeps = append(f.keeps, v)
				}
				return
			}
			if first[v] == nil {
				first[v] = s
			}
			for _, a := range operands(v) {
				walk(a)
			}
		}
		for _, v := range s.roots() {
			walk(v)
		}
	}
}

// costly reports whether computing an element of o costs more than a store and a load.
func costly(o *tile.Op) bool { return o.Kind != tile.Repeat && flops(o) > 4 }

// flops is what an element of o takes, in floating-point operations.
func flops(o *tile.Op) int64 {
	d := op.Lookup(string(o.Kind))
	if d == nil || len(o.Results) != 1 || folded(o) {
		return 0
	}
	return d.Flops(&ir.Op{Name: string(o.Kind), Results: []*ir.Value{{Type: ir.Scalar(o.Result().Type.DType)}}})
}
