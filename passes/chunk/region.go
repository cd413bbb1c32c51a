package chunk

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// region is the operations that are done for some rows at a time.
type region struct {
	p     *program
	root  *ir.Op
	axes  []string // of the rows
	in    map[*ir.Op]how
	apart []*ir.Op // operations of other tasks that read what is as large as the root's result
	back  []*ir.Op // what makes something outside of what leaves, and comes back
	why   string   // something comes back
}

// region is what must be cut with o, along its first axis of rows, or where that is too
// short along the first two.
func (p *program) region(o *ir.Op, axes []string) (*region, *refusal) {
	r := &region{p: p, root: o, axes: axes[:1], in: map[*ir.Op]how{}}
	no := r.find()
	if no == nil && len(axes) > 1 && r.wanted() > o.Result().Type.Size(axes[0]) {
		both := &region{p: p, root: o, axes: axes[:2], in: map[*ir.Op]how{}}
		if both.find() == nil {
			if _, no := both.pieces(); no == nil {
				return both, nil
			}
		}
	}
	return r, no
}

// find grows the region until it is closed.
func (r *region) find() *refusal {
	if treats(r.root, r.axes) != rows {
		return &refusal{why: "its rows are not along " + r.axes[0]}
	}
	if no := r.grow(r.root); no != nil {
		return no
	}
	if no := r.close(); no != nil {
		return no
	}
	if len(r.apart) > 0 {
		return &refusal{why: "forward and backward phase are in different tasks", again: true}
	}
	r.absorb()
	return nil
}

// wide reports whether v has rows and is about as large as the product.
func (r *region) wide(v *ir.Value) bool {
	return r.rowed(v) && 2*v.Type.Elems() > r.root.Result().Type.Elems()
}

func (r *region) rowed(v *ir.Value) bool { return v.Type.Has(r.axes[0]) }

// sameTurn reports whether o runs where the product does.
func (r *region) sameTurn(o *ir.Op) bool { return o.Run == nil && o.Task == r.root.Task }

// grow takes in operations, and whatever makes or reads what is as large as the product.
func (r *region) grow(work ...*ir.Op) *refusal {
	for len(work) > 0 {
		o := work[len(work)-1]
		work = work[:len(work)-1]
		if _, ok := r.in[o]; ok {
			continue
		}
		if o.Run != nil {
			return r.refuse(o, "runs for each block")
		}
		if !r.sameTurn(o) {
			r.apart = append(r.apart, o)
			continue
		}
		is := treats(o, r.axes)
		if is == mixes {
			return r.refuse(o, "needs more than one row at a time")
		}
		r.in[o] = is
		for _, v := range o.Results {
			if !r.wide(v) {
				continue
			}
			if r.p.result[v] {
				return r.refuse(o, "is a result")
			}
			work = append(work, r.p.users[v]...)
		}
		for _, v := range o.Args {
			if v.Def != nil && r.wide(v) && r.sameTurn(v.Def) && treats(v.Def, r.axes) == rows {
				work = append(work, v.Def)
			}
		}
	}
	return nil
}

func (r *region) refuse(o *ir.Op, why string) *refusal {
	if o == r.root {
		return &refusal{why: "it " + why}
	}
	return &refusal{why: fmt.Sprintf("`%s` at %s, which reads it, %s", o.Name, o.Pos, why)}
}

// close takes in what lies on a way out of the region and back, if it treats rows alone.
// What does not, or needs a sum over rows, comes back from outside.
func (r *region) close() *refusal {
	for {
		from, to := r.depends(), r.needed()
		var more []*ir.Op
		r.back = nil
		for _, o := range r.p.f.Ops {
			if !from[o] || !to[o] {
				continue
			}
			_, in := r.in[o]
			switch {
			case slices.ContainsFunc(o.Args, r.summed):
				r.back = append(r.back, o)
			case in:
			case r.joins(o):
				more = append(more, o)
			default:
				r.back = append(r.back, o)
			}
		}
		if len(r.back) > 0 {
			o := r.back[0]
			r.why = fmt.Sprintf("`%s` at %s reads a result of all rows, and the rows need its result", o.Name, o.Pos)
			return &refusal{why: r.why, again: true}
		}
		if len(more) == 0 {
			return nil
		}
		if no := r.grow(more...); no != nil {
			return no
		}
	}
}

// summed reports whether v is there when all rows are through.
func (r *region) summed(v *ir.Value) bool {
	is, in := r.in[v.Def]
	return in && v.Def != nil && is != rows
}

// joins reports whether the region may take in o, which is not as large as the product:
// work on each row, as statistics are, and no product of its own.
func (r *region) joins(o *ir.Op) bool {
	switch op.Of(o).Class {
	case op.Elementwise, op.Reduction, op.Movement, op.Collective:
		return r.sameTurn(o) && treats(o, r.axes) == rows
	}
	return false
}

// depends says which operations depend on what the region makes, a run as a whole.
func (r *region) depends() map[*ir.Op]bool {
	out := map[*ir.Op]bool{}
	runs := map[*ir.Run]bool{}
	r.p.f.Runs(func(run *ir.Run, ops []*ir.Op) {
		of := runs[run] && run != nil
		for _, o := range ops {
			for _, v := range o.Args {
				if v.Def != nil {
					_, in := r.in[v.Def]
					of = of || in || out[v.Def]
				}
			}
		}
		for _, o := range ops {
			out[o] = of
		}
		runs[run] = of
	})
	return out
}

// needed says which operations the region depends on, a run as a whole.
func (r *region) needed() map[*ir.Op]bool {
	out := map[*ir.Op]bool{}
	runs := map[*ir.Run]bool{}
	ops := r.p.f.Ops
	for i := len(ops) - 1; i >= 0; i-- {
		o := ops[i]
		_, in := r.in[o]
		if o.Run != nil && runs[o.Run] {
			out[o] = true
		}
		if !in && !out[o] {
			continue
		}
		for _, v := range o.Args {
			if v.Def != nil {
				out[v.Def] = true
				if v.Def.Run != nil {
					runs[v.Def.Run] = true
				}
			}
		}
	}
	return out
}

// leaves reports whether an operation that is not in the region reads v, other than but.
func (r *region) leaves(v *ir.Value, but *ir.Op) bool {
	return r.p.result[v] || slices.ContainsFunc(r.p.users[v], func(o *ir.Op) bool {
		_, in := r.in[o]
		return !in && o != but
	})
}

// absorb takes in what makes less of what leaves: a loss of each row of its statistics, a
// cast of a gradient.
func (r *region) absorb() {
	for _, o := range r.p.f.Ops {
		if _, in := r.in[o]; in || !r.sameTurn(o) || len(o.Results) != 1 || r.p.result[o.Result()] {
			continue
		}
		if c := op.Of(o).Class; c != op.Elementwise && c != op.Reduction {
			continue
		}
		inside, spared := true, 0
		any := false
		for i, v := range o.Args {
			is, in := r.in[v.Def]
			in = in && v.Def != nil
			switch {
			case in && is != rows, !in && r.rowed(v):
				inside = false
			case in:
				any = true
				if !slices.Contains(o.Args[:i], v) && !r.leaves(v, o) {
					spared += v.Type.Bytes()
				}
			}
		}
		if any && inside && spared >= o.Result().Type.Bytes() && treats(o, r.axes) == rows && !r.late(o) {
			r.in[o] = rows
		}
	}
}

// late reports whether o, which is not in the region, reads something else that depends on
// it.
func (r *region) late(o *ir.Op) bool {
	from := r.depends()
	return slices.ContainsFunc(o.Args, func(v *ir.Value) bool {
		_, in := r.in[v.Def]
		return v.Def != nil && !in && from[v.Def]
	})
}

// members are the operations of the region in their order.
func (r *region) members() []*ir.Op {
	var out []*ir.Op
	for _, o := range r.p.f.Ops {
		if _, in := r.in[o]; in {
			out = append(out, o)
		}
	}
	return out
}
