package fusion

import (
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Core is an attention where it is not a kernel yet: the operations of a function of
// any level before kernels that make scores of queries and keys, an exponential of
// those, and products of what follows from it.
type Core struct {
	Exp *ir.Op
	Key string // the axis of keys
	// Ops are in program order: what is over the scores, products that make scores or
	// read them, reductions over them, and what makes a base of their maximum.
	Ops []*ir.Op
	// Blocked is an operation that reads what is over the scores and is none of the
	// attention, or nil.
	Blocked *ir.Op

	space  []ir.Axis
	scores map[*ir.Value]bool
	in     map[*ir.Op]bool
	of     *growing
}

// Over reports whether v is over the scores, and computed in the attention.
func (c *Core) Over(v *ir.Value) bool { return c.scores[v] && v.Def != nil && c.in[v.Def] }

// Has reports whether o is of the attention.
func (c *Core) Has(o *ir.Op) bool { return c.in[o] }

// Cores are the attentions of f, of operations that are within that of an exponential. What makes scores of
// operands that share no axis but those that it sums over, such as the logits of a
// loss, is none.
func Cores(f *ir.Func, within func(exp, o *ir.Op) bool) (out []*Core) {
	var g *growing
	done := map[*ir.Op]bool{}
	for _, o := range f.Ops {
		if o.Name != op.Exp || done[o] || !within(o, o) {
			continue
		}
		less := o.Args[0].Def
		if less == nil || less.Name != op.Sub {
			continue
		}
		x, base := less.Args[0].Type.Axes, less.Args[1].Type.Axes
		if len(base) != len(x)-1 || !subspace(base, x) {
			continue
		}
		if g == nil {
			g = newGrowing(f, within)
		}
		c := g.core(o, less)
		for _, e := range c.Ops {
			done[e] = true
		}
		if c.attends() {
			out = append(out, c)
		}
	}
	return out
}

// growing finds cores.
type growing struct {
	f      *ir.Func
	within func(exp, o *ir.Op) bool
	users  map[*ir.Value][]*ir.Op
	result map[*ir.Value]bool
	index  map[*ir.Op]int
	free   Constants
}

func newGrowing(f *ir.Func, within func(exp, o *ir.Op) bool) *growing {
	g := &growing{f: f, within: within, users: make(map[*ir.Value][]*ir.Op, len(f.Ops)), result: map[*ir.Value]bool{}, index: make(map[*ir.Op]int, len(f.Ops)), free: Constants{}}
	for i, o := range f.Ops {
		g.index[o] = i
		for _, a := range o.Args {
			g.users[a] = append(g.users[a], o)
		}
	}
	for _, r := range f.Results {
		g.result[r.Value] = true
	}
	return g
}

// core is what hangs together with an exponential by values over the scores.
func (g *growing) core(exp, less *ir.Op) *Core {
	c := &Core{Exp: exp, space: less.Args[0].Type.Axes, scores: map[*ir.Value]bool{}, in: map[*ir.Op]bool{}, of: g}
	for _, x := range c.space {
		if !subspace([]ir.Axis{x}, less.Args[1].Type.Axes) {
			c.Key = x.Name
		}
	}
	list := []*ir.Value{exp.Result()}
	add := func(v *ir.Value) {
		if !c.scores[v] && SameSpace(v.Type.Axes, c.space) {
			c.scores[v] = true
			list = append(list, v)
		}
	}
	c.scores[exp.Result()] = true
	for len(list) > 0 {
		v := list[len(list)-1]
		list = list[:len(list)-1]
		if d := v.Def; d != nil && g.within(exp, d) && c.computes(d) {
			c.in[d] = true
			if op.Of(d).Class != op.Contraction {
				for _, a := range d.Args {
					add(a)
				}
			}
		}
		if g.result[v] && v.Def != nil {
			c.Blocked = v.Def
		}
		for _, u := range g.users[v] {
			switch class := op.Of(u).Class; {
			case class == op.Boundary:
				c.Blocked = u
			case !g.within(exp, u):
			case class == op.Reduction || class == op.Contraction:
				c.in[u] = true
				for _, a := range u.Args {
					add(a)
				}
			case c.computes(u) && SameSpace(u.Result().Type.Axes, c.space):
				add(u.Result())
			default:
				c.Blocked = u
			}
		}
	}
	first := len(g.f.Ops)
	for o := range c.in {
		if !c.scores[o.Results[0]] {
			first = min(first, g.index[o])
		}
	}
	g.base(c, less.Args[1], first, map[*ir.Value]bool{})
	c.Ops = slices.SortedFunc(maps.Keys(c.in), func(a, b *ir.Op) int { return g.index[a] - g.index[b] })
	return c
}

// computes reports whether o, whose result is over the scores, is done a block of
// them at a time.
func (c *Core) computes(o *ir.Op) bool {
	if len(o.Results) != 1 {
		return false
	}
	switch op.Of(o).Class {
	case op.Elementwise, op.Source, op.Contraction:
		return true
	case op.Indexed:
		return o.Name == op.Gather && !c.scores[o.Args[0]]
	}
	return op.Has(o, op.ByName)
}

// base adds what makes v of the core's reductions, and reports whether v is made of
// them; known are values that were asked about. The first reduction is at a place of the
// function: nothing before it is made of one. In the steps of a ring that is what the
// steps before made of theirs.
func (g *growing) base(c *Core, v *ir.Value, first int, known map[*ir.Value]bool) bool {
	if of, ok := known[v]; ok {
		return of
	}
	o := v.Def
	if o == nil || c.scores[v] || g.index[o] < first || !g.within(c.Exp, o) {
		return false
	}
	if c.in[o] {
		return true
	}
	if op.Of(o).Class != op.Elementwise && !op.Has(o, op.ByName) {
		return false
	}
	of := false
	for _, a := range o.Args {
		of = g.base(c, a, first, known) || of
	}
	known[v] = of
	if of {
		c.in[o] = true
	}
	return of
}

// attends reports whether queries meet keys here: operands of a product that makes
// scores share an axis of them, and a product reads what is over the scores.
func (c *Core) attends() bool {
	into, out := false, false
	for _, o := range c.Ops {
		if op.Of(o).Class != op.Contraction {
			continue
		}
		if !c.scores[o.Result()] {
			out = true
			continue
		}
		into = into || slices.ContainsFunc(c.space, func(x ir.Axis) bool {
			return o.Args[0].Type.Has(x.Name) && o.Args[1].Type.Has(x.Name)
		})
	}
	return into && out
}

// Results are the values of the attention that the function in which it was found reads
// elsewhere, but for those over the scores.
func (c *Core) Results() (out []*ir.Value) {
	elsewhere := func(o *ir.Op) bool { return !c.in[o] }
	for _, o := range c.Ops {
		for _, v := range o.Results {
			if !c.scores[v] && (c.of.result[v] || slices.ContainsFunc(c.of.users[v], elsewhere)) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Kernel is the function that is a kernel of the core with these results; what is made
// of constants and positions alone is part of it.
func (c *Core) Kernel(results []*ir.Value) *ir.Func {
	f := &ir.Func{Name: "kernel", Class: ir.Kernel}
	at := map[*ir.Value]*ir.Value{}
	var copy func(o *ir.Op)
	of := func(v *ir.Value) *ir.Value {
		if at[v] == nil && v.Def != nil && (c.in[v.Def] || c.of.free.Has(v)) {
			copy(v.Def)
		}
		if at[v] == nil {
			at[v] = f.NewValue(v.Type.Clone(), nil)
			f.Args = append(f.Args, &ir.Arg{Value: at[v], Role: ir.RoleIn})
		}
		return at[v]
	}
	copy = func(o *ir.Op) {
		args := make([]*ir.Value, len(o.Args))
		for i, a := range o.Args {
			args[i] = of(a)
		}
		n := f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
		n.Pos, n.Scope = o.Pos, o.Scope
		for i, r := range o.Results {
			at[r] = n.Results[i]
		}
		f.Ops = append(f.Ops, n)
	}
	for _, o := range c.Ops {
		if at[o.Results[0]] == nil {
			copy(o)
		}
	}
	for _, v := range results {
		f.Results = append(f.Results, ir.Result{Value: at[v], Role: ir.RoleOut})
	}
	return f
}

// Constants are whether values are computed from constants and positions alone, as far as
// that was asked: one for many questions about a function that does not change meanwhile.
type Constants map[*ir.Value]bool

// Has reports whether v is.
func (c Constants) Has(v *ir.Value) bool {
	if is, ok := c[v]; ok {
		return is
	}
	o := v.Def
	if o == nil {
		return false
	}
	d := op.Of(o)
	if len(o.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise && !op.Has(o, op.ByName) {
		return false
	}
	c[v] = !slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return !c.Has(a) })
	return c[v]
}
