package precision

import (
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// plan is what is known of a function before it is rewritten.
type plan struct {
	readers  map[*ir.Value][]*ir.Op
	results  map[*ir.Value]bool
	inside   map[*ir.Op]bool         // between the inputs and the loss or a gradient
	stat     map[*ir.Value]bool      // computed from reductions alone
	norm     map[*ir.Value]bool      // computed against a statistic, up to the next contraction
	leads    map[*ir.Value]bool      // a contraction depends on it
	mix      map[*ir.Value]bool      // arithmetic on several streams
	stored   map[*ir.Value]bool      // to be stored in the compute dtype
	wide     map[*ir.Value]bool      // read by statistics and the like alone
	grad     map[*ir.Value]bool      // read by results of the function and the optimizer alone
	scores   map[*ir.Value]bool      // over the queries and keys of an attention that is a kernel
	carried  map[*ir.Value]bool      // a sum of products of several attentions, or one of its terms
	each     map[*ir.Value]bool      // statistics of an attention for each query, and what is made of them
	moved    map[*ir.Value]bool      // see isMoved; of those that were asked for
	rows     map[*ir.Value][]string  // of rows that were gathered, and what is made of them elementwise: the axes of the index
	combined map[*ir.Value]bool      // see isCombined
	next     map[*ir.Value]*ir.Value // by what enters an instance: what leaves it
}

// classify takes f, and whether attentions are kernels.
func classify(f *ir.Func, attention bool) *plan {
	p := &plan{readers: map[*ir.Value][]*ir.Op{}, results: map[*ir.Value]bool{}, inside: inside(f),
		stat: map[*ir.Value]bool{}, norm: map[*ir.Value]bool{}, leads: map[*ir.Value]bool{}, mix: map[*ir.Value]bool{}, stored: map[*ir.Value]bool{}, wide: map[*ir.Value]bool{}, grad: map[*ir.Value]bool{}, scores: map[*ir.Value]bool{}, carried: map[*ir.Value]bool{}, each: map[*ir.Value]bool{}, moved: map[*ir.Value]bool{}, rows: map[*ir.Value][]string{}, combined: map[*ir.Value]bool{}, next: next(f)}
	for _, r := range f.Results {
		p.results[r.Value] = true
	}
	p.read(f)
	if attention {
		p.findScores(f)
	}
	// What goes round through the instances of a stack is seen in a second sweep.
	sweeps := 1
	if len(f.Stacks) > 0 {
		sweeps = 2
	}
	for range sweeps {
		for i := len(f.Ops) - 1; i >= 0; i-- {
			p.markLeads(f.Ops[i])
		}
	}
	for n := range sweeps {
		for _, o := range f.Ops {
			for _, v := range o.Results {
				if op.Of(o).Class == op.Boundary {
					p.same(v, o, n)
					continue
				}
				p.combined[v] = p.isCombined(o)
				p.stat[v] = !p.combined[v] && p.isStat(o)
				p.mix[v] = p.isMix(o)
				p.stored[v] = p.isStored(o, v)
				p.norm[v] = p.stat[v] || !p.mix[v] && !p.stored[v] && p.isNorm(o)
			}
		}
	}
	for range sweeps {
		for i := len(f.Ops) - 1; i >= 0; i-- {
			for _, v := range f.Ops[i].Results {
				p.wide[v], p.grad[v] = p.isWide(v), p.isGrad(v)
			}
		}
	}
	return p
}

// next are, by what enters an instance, what leaves it.
func next(f *ir.Func) map[*ir.Value]*ir.Value {
	n := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		if o.Name == op.Leave {
			n[o.Args[0]] = o.Args[1]
		}
	}
	return n
}

// read lists the readers of each value: of what goes from instance to instance of a
// stack, those in the next one and those outside.
func (p *plan) read(f *ir.Func) {
	through := map[*ir.Value][]*ir.Value{}
	for _, o := range f.Ops {
		switch o.Name {
		case op.Enter:
			through[o.Args[0]] = append(through[o.Args[0]], o.Result())
		case op.Leave:
			through[o.Args[1]] = append(through[o.Args[1]], o.Args[0], o.Result())
		default:
			for _, a := range o.Args {
				p.readers[a] = append(p.readers[a], o)
			}
		}
	}
	if len(through) == 0 {
		return
	}
	own := p.readers
	p.readers = maps.Clone(own)
	for v := range through {
		seen := map[*ir.Value]bool{}
		var all []*ir.Op
		var collect func(v *ir.Value)
		collect = func(v *ir.Value) {
			if seen[v] {
				return
			}
			seen[v] = true
			for _, o := range own[v] {
				if !slices.Contains(all, o) {
					all = append(all, o)
				}
			}
			for _, w := range through[v] {
				p.results[v] = p.results[v] || p.results[w]
				collect(w)
			}
		}
		collect(v)
		p.readers[v] = all
	}
}

// same gives a value at the end of a run what is known of the operand; what enters
// is, but for the first instance, what leaves.
func (p *plan) same(v *ir.Value, o *ir.Op, sweep int) {
	a := o.Args[len(o.Args)-1]
	if n := p.next[v]; n != nil && sweep > 0 {
		a = n
	}
	p.stat[v], p.mix[v], p.norm[v] = p.stat[a], p.mix[a], p.norm[a]
}

// low reports whether v will be stored in the compute dtype.
func (p *plan) low(v *ir.Value, compute ir.DType) bool {
	if v == nil || compute == ir.F32 {
		return false
	}
	o := v.Def
	return p.stored[v] || o != nil && p.inside[o] && op.Of(o).Class == op.Contraction && !p.leavesWide(o)
}

// little is how many times smaller than an operand a contraction's result is that costs
// little to store in float32.
const little = 8

// leavesWide reports whether the result of contraction o leaves it in float32: what
// training adds up or a ring carries, and otherwise what only statistics read, where that is not stored
// or small, as the scores by which experts are chosen.
func (p *plan) leavesWide(o *ir.Op) bool {
	v := o.Result()
	if p.carried[v] {
		return true
	}
	if !p.wide[v] {
		return false
	}
	largest := max(o.Args[0].Type.Elems(), o.Args[1].Type.Elems())
	return p.grad[v] || p.scores[v] || little*v.Type.Elems() <= largest
}

// inside holds the operations that the loss or a gradient depends on and that
// depend on no gradient themselves.
func inside(f *ir.Func) map[*ir.Op]bool {
	needed, grads := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for _, r := range f.Results {
		if r.Role == ir.RoleLoss || r.Role == ir.RoleGrad {
			needed[r.Value] = true
		}
		if r.Role == ir.RoleGrad {
			grads[r.Value] = true
		}
	}
	in := map[*ir.Op]bool{}
	out := next(f)
	for n := -1; n != len(needed); { // again where something goes round through instances
		n = len(needed)
		for i := len(f.Ops) - 1; i >= 0; i-- {
			o := f.Ops[i]
			for _, v := range o.Results {
				in[o] = in[o] || needed[v]
			}
			if in[o] {
				for _, a := range o.Args {
					needed[a] = true
				}
			}
			if o.Name == op.Enter && in[o] {
				needed[out[o.Result()]] = true
			}
		}
		if len(out) == 0 {
			break
		}
	}
	for n := -1; n != len(grads); {
		n = len(grads)
		for _, o := range f.Ops {
			for _, a := range o.Args {
				if !grads[a] {
					continue
				}
				in[o] = false
				for _, v := range o.Results {
					grads[v] = true
				}
				if o.Name == op.Leave {
					grads[o.Args[0]] = true
				}
			}
		}
		if len(out) == 0 {
			break
		}
	}
	return in
}

// isStat: a mean, a variance, a maximum, a sum of exponentials: a reduction,
// or arithmetic on such and on constants.
func (p *plan) isStat(o *ir.Op) bool {
	switch op.Of(o).Class {
	case op.Reduction:
		return true
	case op.Elementwise, op.Movement:
		if p.each[o.Results[0]] {
			return true
		}
		any := false
		for _, a := range o.Args {
			any = any || p.stat[a]
			if !p.stat[a] && a.Type.Rank() > 0 {
				return false
			}
		}
		return any
	}
	return false
}

// markLeads: contractions depend on their operands, and on what those depend
// on.
func (p *plan) markLeads(o *ir.Op) {
	lead := p.inside[o] && op.Of(o).Class == op.Contraction
	for _, v := range o.Results {
		lead = lead || p.leads[v]
	}
	if o.Name == op.Leave { // read by the next instance
		p.leads[o.Args[1]] = p.leads[o.Args[1]] || p.leads[o.Args[0]]
	}
	if lead {
		for _, a := range o.Args {
			p.leads[a] = true
		}
	}
}

// isNorm: the inner values of a normalization or a softmax, forward or
// backward, and what is computed from them elementwise.
func (p *plan) isNorm(o *ir.Op) bool {
	if c := op.Of(o).Class; c != op.Elementwise && c != op.Movement {
		return false
	}
	return slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return p.norm[a] })
}

// isMix: a sum, or other arithmetic, of at least two different tensors of the
// result's own size that are not all inner values of one normalization; and what
// its only reader makes of it elementwise.
func (p *plan) isMix(o *ir.Op) bool {
	v := o.Results[0]
	if !p.inside[o] || !v.Type.DType.IsFloat() || op.Of(o).Class != op.Elementwise {
		return false
	}
	var first *ir.Value
	two, stream := false, false
	for _, a := range o.Args {
		if !a.Type.DType.IsFloat() || a.Type.Rank() < v.Type.Rank() {
			continue
		}
		if p.mix[a] && len(p.readers[a]) == 1 && !p.results[a] {
			return true
		}
		two = two || first != nil && a != first
		stream = stream || !p.norm[a] || first != nil && apart(first, a)
		first = a
	}
	return two && stream
}

// apart reports whether a and b are computed in different modules: inner values of normalizations there are of two.
func apart(a, b *ir.Value) bool {
	s, _ := scopeOf(a)
	t, _ := scopeOf(b)
	return s != t
}

// isStored: what several operations read, one of them a contraction (which
// reads the compute dtype in any case) or what scatters rows for one, or what is a mix on the way to one, as
// the residual stream; and what is moved on its way to a contraction, or as
// rows that one depends on: tokens to their experts and back.
func (p *plan) isStored(o *ir.Op, v *ir.Value) bool {
	class := op.Of(o).Class
	if p.combined[v] {
		return true
	}
	if !p.inside[o] || !p.leads[v] || !v.Type.DType.IsFloat() || p.results[v] || p.scores[v] || p.carried[v] ||
		class != op.Elementwise && class != op.Indexed {
		return false
	}
	if p.isMoved(v) {
		return true
	}
	if len(p.readers[v]) < 2 || class != op.Elementwise {
		return false
	}
	return p.mix[v] || slices.ContainsFunc(p.readers[v], func(r *ir.Op) bool {
		return p.inside[r] && (op.Of(r).Class == op.Contraction || p.scatters(r))
	})
}

// isWide: every reader is a statistic, subtracts or divides by one, belongs to
// the optimizer, or computes something that only such read.
func (p *plan) isWide(v *ir.Value) bool {
	if p.isMoved(v) {
		return false
	}
	for _, o := range p.readers[v] {
		if !p.inside[o] {
			continue
		}
		switch op.Of(o).Class {
		case op.Reduction:
			continue
		case op.Elementwise:
			if p.againstStat(o) {
				continue
			}
		case op.Movement, op.Indexed:
		default:
			return false
		}
		r := o.Results[0]
		if p.stored[r] || !r.Type.DType.IsFloat() || !p.wide[r] {
			return false
		}
	}
	return len(p.readers[v]) > 0 || p.results[v]
}

// isGrad: a gradient of a parameter or another result of the function, and what one
// is computed from elementwise.
func (p *plan) isGrad(v *ir.Value) bool {
	for _, o := range p.readers[v] {
		if !p.inside[o] {
			continue
		}
		switch op.Of(o).Class {
		case op.Elementwise, op.Movement:
		default:
			return false
		}
		if !p.grad[o.Results[0]] {
			return false
		}
	}
	return len(p.readers[v]) > 0 || p.results[v]
}

func (p *plan) againstStat(o *ir.Op) bool {
	return slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return p.stat[a] })
}
