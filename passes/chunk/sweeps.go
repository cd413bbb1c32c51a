package chunk

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// readLater qualifies a product that is rematerialized.
const readLater = ", rematerialized for later readers,"

// sweeps cuts a product of which one sweep does not do: what comes back from outside is
// there only when all rows were through, or the backward phase is a task of its own. The
// first sweep then leaves the numbers of each row, such as the sum of its exponentials,
// and whoever else reads what is as large as the product makes it again for itself, for
// some rows at a time, of what the product was made of.
func (p *program) sweeps(c *pass.Context, o *ir.Op, r *region, seen map[*ir.Op]bool) *refusal {
	for _, x := range r.back { // most often, and before the function is copied
		if op.Of(x).Class == op.Contraction && r.rowed(x.Result()) {
			if r.behind()[r.root] {
				return &refusal{} // it is what comes back
			}
			return others(x)
		}
	}
	whole, ops := p.f.Clone(), slices.Clone(p.f.Ops)
	remarks := len(c.Remarks)
	no := p.again(c, o, r, seen, "")
	if no == nil {
		return nil
	}
	for i, x := range ops { // as it was
		if seen[x] {
			seen[whole.Ops[i]] = true
		}
	}
	*p.f = *whole
	c.Remarks = c.Remarks[:remarks]
	return no
}

// again makes the product and what follows once more, for whoever reads it later, and
// cuts it in each place.
func (p *program) again(c *pass.Context, o *ir.Op, r *region, seen map[*ir.Op]bool, why string) *refusal {
	var roots []*ir.Op
	for _, readers := range r.later() {
		root, no := r.copies(readers)
		if no != nil {
			return no
		}
		roots = append(roots, root)
	}
	if len(roots) == 0 {
		return &refusal{why: r.why}
	}
	p.f.DropDead(func(o *ir.Op) bool { return len(o.Results) == 0 || op.Of(o).Class == op.Collective })
	axes := rowAxes(o, p.data.in(p.f))
	p = programOf(p.f, p.limit, p.data)
	first, no := p.region(o, axes)
	if no != nil {
		return no
	}
	for _, root := range roots {
		later, no := p.region(root, axes)
		if no != nil && !no.again {
			return no
		}
		if no := first.returns(later); no != nil {
			return no
		}
	}
	n, no := first.write(seen)
	if no != nil {
		return no
	}
	if first.tell(c, n, why); n < 2 {
		return &refusal{}
	}
	for _, root := range roots {
		seen[root] = true
		p = programOf(p.f, p.limit, p.data)
		later, no := p.region(root, axes)
		if no == nil {
			n, no = later.write(seen)
			later.tell(c, n, readLater)
		} else if no.again {
			no = p.again(c, root, later, seen, readLater)
		}
		if no != nil {
			return no
		}
	}
	return nil
}

// behind says which operations depend on what comes back to the region.
func (r *region) behind() map[*ir.Op]bool {
	late := map[*ir.Op]bool{}
	for _, o := range r.back {
		late[o] = true
	}
	for _, o := range r.p.f.Ops {
		late[o] = late[o] || slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return v.Def != nil && late[v.Def] })
	}
	return late
}

// later are the operations that read what is as large as the product after a sweep has
// made it, by task, in their order.
func (r *region) later() [][]*ir.Op {
	late, apart := r.behind(), map[*ir.Op]bool{}
	for _, o := range r.apart {
		apart[o] = true
	}
	of := map[*ir.Task]int{}
	var out [][]*ir.Op
	for _, o := range r.p.f.Ops {
		_, in := r.in[o]
		if !(in && late[o]) && !apart[o] || !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return r.made(v, late) }) {
			continue
		}
		k, ok := of[o.Task]
		if !ok {
			k = len(out)
			of[o.Task] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], o)
	}
	return out
}

// made reports whether v is as large as the product and made in the first sweep.
func (r *region) made(v *ir.Value, late map[*ir.Op]bool) bool {
	is, in := r.in[v.Def]
	return v.Def != nil && in && is == rows && !late[v.Def] && r.wide(v)
}

// copies has readers read copies of what they read of the first sweep, and returns that
// of the product.
func (r *region) copies(readers []*ir.Op) (*ir.Op, *refusal) {
	f, late := r.p.f, r.behind()
	need := map[*ir.Op]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if !r.made(v, late) || need[v.Def] {
			return
		}
		need[v.Def] = true
		for _, a := range v.Def.Args {
			visit(a)
		}
	}
	for _, o := range readers {
		for _, v := range o.Args {
			visit(v)
		}
	}
	if !need[r.root] {
		return nil, &refusal{} // the product was made for the first sweep alone
	}
	at := map[*ir.Value]*ir.Value{}
	reads := func(o *ir.Op) {
		for i, v := range o.Args {
			if at[v] != nil {
				o.Args[i] = at[v]
			}
		}
	}
	var made []*ir.Op
	var root *ir.Op
	for _, o := range f.Ops {
		if !need[o] {
			continue
		}
		n := f.NewOp(o.Name, o.Args, o.Attrs)
		reads(n)
		for _, v := range o.Results {
			at[v] = f.NewValue(v.Type.Clone(), n)
			n.Results = append(n.Results, at[v])
		}
		n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, readers[0].Slot
		n.Remat = true
		made = append(made, n)
		if o == r.root {
			root = n
		}
	}
	for _, o := range readers {
		reads(o)
	}
	insert(f, made)
	return root, nil
}

// insert puts copies of operations, which are in order, into f, each before the first
// operation that reads it: what the original reads is there by then.
func insert(f *ir.Func, made []*ir.Op) {
	at := map[*ir.Value]int{} // of the first reader
	note := func(o *ir.Op, i int) {
		for _, v := range o.Args {
			if first, read := at[v]; !read || i < first {
				at[v] = i
			}
		}
	}
	for i, o := range f.Ops {
		note(o, i)
	}
	before := make([][]*ir.Op, len(f.Ops))
	for _, n := range slices.Backward(made) {
		i := len(f.Ops) - 1
		for _, v := range n.Results {
			if first, read := at[v]; read {
				i = min(i, first)
			}
		}
		note(n, i)
		before[i] = append(before[i], n)
	}
	ops := make([]*ir.Op, 0, len(f.Ops)+len(made))
	for i, o := range f.Ops {
		slices.Reverse(before[i])
		ops = append(append(ops, before[i]...), o)
	}
	f.Ops = ops
}

// others refuses because of o, a product of what the region made, or a message.
func others(o *ir.Op) *refusal {
	return &refusal{why: "it needs a value that other products compute from it, at " + o.Pos.String()}
}

// returns refuses where what comes back to a later sweep went through other products, as
// the gradients of what is inside of a model do: to compute that again is a matter of
// rematerialization.
func (r *region) returns(later *region) *refusal {
	from := r.depends()
	same := r.root.Task == later.root.Task
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value) *refusal
	visit = func(v *ir.Value) *refusal {
		o := v.Def
		if o == nil || seen[v] || !r.rowed(v) {
			return nil
		}
		seen[v] = true
		_, first := r.in[o]
		_, second := later.in[o]
		switch {
		case first || second || o.Task != later.root.Task || same && !from[o]:
			return nil
		case o.Run != nil || op.Has(o, op.Message), op.Of(o).Class == op.Contraction, op.Of(o).Class == op.Indexed:
			return others(o)
		}
		for _, a := range o.Args {
			if no := visit(a); no != nil {
				return no
			}
		}
		return nil
	}
	for _, v := range later.cut() {
		if no := visit(v); no != nil {
			return no
		}
	}
	return nil
}
