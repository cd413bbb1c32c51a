package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// row generates reductions that hold the contiguous axis: for every row, one
// sweep per phase.
//
//	for row of task {
//	  sweep 0: reduce, store what is known
//	  sweep 1: reduce with the results of sweep 0, store
//	  …
//	}
func (g *gen) row() (*kernel.Kernel, error) {
	kept, reduced := g.split()
	p, r := g.dims(kept), g.dims(reduced)
	inner := int64(1)
	for _, d := range r {
		inner *= d.size
	}
	outer, rest, tasks := tasksOf(p, inner)
	g.begin(tasks)
	s := &sweeps{gen: g, dims: r, kept: g.k.Space[:0:0], stored: map[*ir.Value]*kernel.Buffer{}}
	s.plan()
	g.position(outer, g.taskValue())
	g.nest(rest, nil, s.row)
	return g.b.Finish()
}

// split separates the space into kept and reduced axes, each in loop order.
func (g *gen) split() (kept, reduced []ir.Axis) {
	over := map[string]bool{}
	for _, a := range g.k.Reduce {
		over[a.Name] = true
	}
	for _, a := range g.k.Space {
		if over[a.Name] {
			reduced = append(reduced, a)
		} else {
			kept = append(kept, a)
		}
	}
	return kept, reduced
}

// sweeps generates the sweeps over one row.
type sweeps struct {
	*gen
	dims   []dim
	kept   []ir.Axis
	phases int
	// stored holds the scratch of values that a later sweep needs and that
	// cost too much to compute again.
	stored map[*ir.Value]*kernel.Buffer
}

// plan decides which values are kept in scratch between sweeps.
func (s *sweeps) plan() {
	for _, o := range s.body() {
		s.phases = max(s.phases, s.k.Phase[o]+1)
	}
	for _, r := range s.k.F.Results {
		if s.wide(r.Value) {
			s.phases = max(s.phases, s.phaseOf(r.Value)+1)
		}
	}
	for phase := 0; phase < s.phases; phase++ {
		seen := map[*ir.Value]bool{}
		for _, v := range s.roots(phase) {
			s.need(v, phase, seen)
		}
	}
}

// wide reports whether v varies along the row.
func (s *sweeps) wide(v *ir.Value) bool {
	for _, d := range s.dims {
		for _, a := range d.axes {
			if v.Type.Has(a) {
				return true
			}
		}
	}
	return false
}

func (s *sweeps) phaseOf(v *ir.Value) int {
	if v.Def == nil {
		return 0
	}
	return s.k.Phase[v.Def]
}

// roots lists what sweep phase is for: operands of its reductions and results.
func (s *sweeps) roots(phase int) []*ir.Value {
	var out []*ir.Value
	for _, o := range s.reductions(phase) {
		out = append(out, o.Args[0])
	}
	for _, r := range s.k.F.Results {
		if s.fullResult(r.Value) && s.phaseOf(r.Value) == phase {
			out = append(out, r.Value)
		}
	}
	return out
}

// fullResult reports whether a result is over the rows, not the kept axes.
func (s *sweeps) fullResult(v *ir.Value) bool { return fusion.SameSpace(v.Type.Axes, s.k.Space) }

func (s *sweeps) reductions(phase int) []*ir.Op {
	var out []*ir.Op
	for _, o := range s.k.F.Ops {
		if s.k.Part[o] == fusion.PartRoot && s.k.Phase[o] == phase {
			out = append(out, o)
		}
	}
	return out
}

// need walks what sweep phase computes, and gives scratch to costly values of
// earlier sweeps.
func (s *sweeps) need(v *ir.Value, phase int, seen map[*ir.Value]bool) {
	if seen[v] || v.Def == nil || !s.wide(v) {
		return
	}
	seen[v] = true
	if _, view := s.k.Views[v]; view {
		return
	}
	if s.phaseOf(v) < phase && costly(v.Def) {
		if s.stored[v] == nil {
			s.stored[v] = s.b.Scratch("row", memory(v.Type.DType), s.rowLength())
		}
		return
	}
	for _, a := range v.Def.Args {
		s.need(a, phase, seen)
	}
}

// costly reports whether computing o again costs more than a store and a load.
func costly(o *ir.Op) bool {
	return op.Of(o).Flops(o)/int64(max(1, o.Results[0].Type.Elems())) > 4
}

func (s *sweeps) rowLength() int64 {
	n := int64(1)
	for _, d := range s.dims {
		n *= d.size
	}
	return n
}

// row generates all sweeps of the row at the present position.
func (s *sweeps) row() {
	for phase := 0; phase < s.phases; phase++ {
		s.sweepPhase(phase)
	}
	for i, r := range s.k.F.Results {
		if !s.fullResult(r.Value) {
			s.store(i, s.value(r.Value))
		}
	}
}

func (s *sweeps) sweepPhase(phase int) {
	reds := s.reductions(phase)
	roots := s.roots(phase)
	if len(roots) == 0 {
		return
	}
	var ops []*ir.Op
	for _, o := range s.body() {
		if s.k.Phase[o] <= phase && s.k.Part[o] != fusion.PartRoot {
			ops = append(ops, o)
		}
	}
	s.loads = map[*ir.Value]func() *kernel.Value{}
	for v, buf := range s.stored {
		if s.phaseOf(v) < phase {
			s.loads[v] = func() *kernel.Value { return s.load(buf, s.rowView()) }
		}
	}
	// Results are stored last: one may lie over an argument that the rest of
	// the sweep is computed from.
	body := func(acc []*kernel.Value) []*kernel.Value {
		results := map[int]*kernel.Value{}
		for i, r := range s.k.F.Results {
			if s.fullResult(r.Value) && s.phaseOf(r.Value) == phase {
				results[i] = s.value(r.Value)
			}
		}
		for _, o := range s.body() {
			if buf := s.stored[o.Result()]; buf != nil && s.k.Phase[o] == phase {
				s.storeTo(buf, s.rowView(), s.value(o.Result()))
			}
		}
		out := make([]*kernel.Value, len(acc))
		for i, o := range reds {
			out[i] = s.accumulate(o, acc[i], s.value(o.Args[0]))
		}
		for i := range s.k.F.Results {
			if x := results[i]; x != nil {
				s.store(i, x)
			}
		}
		return out
	}
	for i, x := range s.reduce(s.dims, reds, s.hoist(ops), body) {
		s.know(reds[i].Result(), x)
	}
}

// rowView sees scratch as the row, its axes dense in loop order.
func (s *sweeps) rowView() op.Strided {
	var v op.Strided
	n := 1
	for i := len(s.dims) - 1; i >= 0; i-- {
		d := s.dims[i]
		v.Axes = append(v.Axes, op.StridedAxis{Name: last(d), Size: int(d.size), Stride: n})
		n *= int(d.size)
	}
	return v
}

// foldOf is how o combines elements.
func foldOf(o *ir.Op) *fold { return natives[o.Name].fold }

// identity is what a reduction starts from.
func identity(o *ir.Op) float64 { return foldOf(o).identity(o.Result().Type.DType) }

// accumulate adds x to the accumulator of o; lanes beyond the end do not
// count.
func (g *gen) accumulate(o *ir.Op, acc, x *kernel.Value) *kernel.Value {
	x = g.b.Splat(x, acc.Type.Lanes)
	if g.mask != nil {
		x = g.b.Select(g.mask, x, g.b.Like(x, identity(o)))
	}
	return g.combine(o, acc, x)
}

func (g *gen) combine(o *ir.Op, x, y *kernel.Value) *kernel.Value {
	return foldOf(o).combine(g.b, x, y)
}

// chains is the number of independent accumulators of a long reduction: enough
// to cover the latency of an addition.
const chains = 4

// reduce runs body over the loops of dims, the last one in vectors, with an
// accumulator for each of reds, and returns the scalars they reduce to. The
// order of summation depends on sizes and the vector width alone.
func (g *gen) reduce(dims []dim, reds []*ir.Op, hoist func([]dim), body func(acc []*kernel.Value) []*kernel.Value) []*kernel.Value {
	lanes := g.vectorLanes()
	if len(dims) == 0 {
		return body(g.start(reds, 1))
	}
	inner := dims[len(dims)-1]
	u := int64(1)
	if len(reds) > 0 && inner.size >= 2*chains*lanes {
		u = chains
	}
	init := []*kernel.Value{}
	for range u {
		init = append(init, g.start(reds, int(lanes))...)
	}
	acc := g.outerLoops(dims[:len(dims)-1], init, hoist, dims, func(acc []*kernel.Value) []*kernel.Value {
		return g.vectorLoop(inner, int(u), acc, body)
	})
	n := len(reds)
	out := make([]*kernel.Value, n)
	for i, o := range reds {
		parts := make([]*kernel.Value, u)
		for j := range parts {
			parts[j] = acc[j*n+i]
		}
		for len(parts) > 1 {
			half := len(parts) / 2
			for j := range half {
				parts[j] = g.combine(o, parts[j], parts[j+half])
			}
			parts = parts[:half]
		}
		out[i] = foldOf(o).horizontal(g.b, parts[0])
	}
	return out
}

func (g *gen) start(reds []*ir.Op, lanes int) []*kernel.Value {
	out := make([]*kernel.Value, len(reds))
	for i, o := range reds {
		out[i] = g.b.Const(register(o.Result().Type.DType, lanes), identity(o))
	}
	return out
}

// outerLoops nests loops that carry the accumulators.
func (g *gen) outerLoops(dims []dim, acc []*kernel.Value, hoist func([]dim), all []dim, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
	if hoist != nil {
		hoist(all)
	}
	if len(dims) == 0 {
		return body(acc)
	}
	return g.b.ForCarry(kernel.Span(dims[0].size), acc, func(i kernel.Index, c []*kernel.Value) (out []*kernel.Value) {
		g.within(func() {
			g.set(dims[0], coord{idx: i})
			out = g.outerLoops(dims[1:], c, hoist, all[1:], body)
		})
		return out
	})
}

// vectorLoop runs over d: u vectors at a time with accumulators of their own,
// then single vectors, then the tail under a mask.
func (g *gen) vectorLoop(d dim, u int, acc []*kernel.Value, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
	lanes := g.vectorLanes()
	n := len(acc) / u
	g.lanes = int(lanes)
	defer func() { g.lanes, g.mask = 1, nil }()
	at := func(i kernel.Index, c []*kernel.Value) (out []*kernel.Value) {
		g.within(func() {
			g.set(d, coord{idx: i, vec: true})
			out = body(c)
		})
		return out
	}
	step := lanes * int64(u)
	done := d.size / step * step
	if done > 0 {
		acc = g.b.ForCarry(kernel.Span(done).By(step), acc, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
			var out []*kernel.Value
			for j := range u {
				out = append(out, at(i.Plus(int64(j)*lanes), c[j*n:(j+1)*n])...)
			}
			return out
		})
	}
	first := acc[:n]
	whole := d.size / lanes * lanes
	if whole > done {
		first = g.b.ForCarry(kernel.Between(kernel.Int(done), kernel.Int(whole)).By(lanes), first, at)
	}
	if d.size > whole {
		g.mask = g.b.TailMask(kernel.Int(d.size-whole), int(lanes))
		first = at(kernel.Int(whole), first)
	}
	return append(append([]*kernel.Value(nil), first...), acc[n:]...)
}

// memory is the element type of scratch that keeps a value of dtype d as
// registers have it.
func memory(d ir.DType) kernel.Elem {
	switch e := elem(d).Register(); e {
	case kernel.I1:
		return kernel.Bool
	default:
		return e
	}
}
