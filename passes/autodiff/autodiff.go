package autodiff

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run expands every gradient of every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		expandAll(c, f)
	}
	return nil
}

// expandAll expands in execution order, so that a gradient of something that
// reads another gradient differentiates operations only.
func expandAll(c *pass.Context, f *ir.Func) {
	late := lateOf(f)
	out := make([]*ir.Op, 0, len(f.Ops))
	repl := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		for i, a := range o.Args {
			if g, ok := repl[a]; ok {
				o.Args[i] = g
			}
		}
		if o.Name != op.Grad {
			out = append(out, o)
			continue
		}
		before := len(out)
		for i, g := range Expand(f, &out, o) {
			repl[o.Results[i]] = g
		}
		c.Remarkf(o, "%d operations compute the gradients of %d values through %d operations",
			len(out)-before, len(o.Results), before)
	}
	f.Ops = out
	f.Replace(repl)
	sink(f, late)
}

// Expand appends to ops the operations that compute the results of grad,
// whose operands the operations in ops define, and returns those results.
func Expand(f *ir.Func, ops *[]*ir.Op, grad *ir.Op) []*ir.Value {
	loss, wanted := grad.Args[0], grad.Args[1:]
	r := &reverse{
		b:       op.Builder{F: f, Scope: grad.Scope, Pos: grad.Pos, Sink: ops},
		depends: dependents(*ops, wanted),
		adjoint: map[*ir.Value]*ir.Value{},
	}
	forward := *ops
	if r.depends[loss] {
		r.adjoint[loss] = r.b.Like(loss, 1)
	}
	for i := len(forward) - 1; i >= 0; i-- {
		end := i + 1
		for run := forward[i].Run; run != nil && i > 0 && forward[i-1].Run == run; {
			i--
		}
		if forward[i].Run != nil {
			r.run(forward[i:end])
		} else {
			r.visit(forward[i])
		}
	}
	r.b.Scope, r.b.Pos = grad.Scope, grad.Pos
	results := make([]*ir.Value, len(wanted))
	for i, p := range wanted {
		if results[i] = r.adjoint[p]; results[i] == nil {
			r.b.Each(p.In())
			results[i] = r.orZero(p)
		}
	}
	return results
}

// dependents holds the values that depend differentiably on the wanted ones,
// and those themselves.
func dependents(ops []*ir.Op, wanted []*ir.Value) map[*ir.Value]bool {
	depends := make(map[*ir.Value]bool, len(ops))
	for _, p := range wanted {
		depends[p] = true
	}
	// What enters an instance depends on what leaves the one before, further down.
	for n := -1; n != len(depends); {
		n = len(depends)
		for _, o := range ops {
			if op.Of(o).Grad == nil {
				continue
			}
			for _, a := range o.Args {
				if !depends[a] {
					continue
				}
				for _, v := range o.Results {
					if v.Type.DType.IsFloat() {
						depends[v] = true
					}
				}
				if o.Name == op.Leave {
					depends[o.Args[0]] = true
				}
			}
		}
		if !slices.ContainsFunc(ops, func(o *ir.Op) bool { return o.Run != nil }) {
			break
		}
	}
	return depends
}

// reverse is the state of one expansion.
type reverse struct {
	b       op.Builder
	depends map[*ir.Value]bool
	adjoint map[*ir.Value]*ir.Value // gradient of the loss by value, so far
}

// visit adds to the adjoints of o's operands. All readers of o's results have
// been visited, so their adjoints are complete.
func (r *reverse) visit(o *ir.Op) {
	grads := make([]*ir.Value, len(o.Results))
	any := false
	for i, v := range o.Results {
		grads[i] = r.adjoint[v]
		any = any || grads[i] != nil
	}
	row := op.Of(o)
	if !any || row.Grad == nil {
		return
	}
	r.b.Scope, r.b.Pos = o.Scope, o.Pos
	for i, g := range row.Grad(&r.b, o, grads) {
		a := o.Args[i]
		if g == nil || !r.depends[a] {
			continue
		}
		if !g.Type.Equal(a.Type) {
			panic(fmt.Sprintf("autodiff: the row of %s gives operand %d of type %s a gradient of type %s",
				o.Name, i+1, a.Type, g.Type))
		}
		r.add(a, g)
	}
}

// add adds g to the gradient of v.
func (r *reverse) add(v, g *ir.Value) {
	if sum := r.adjoint[v]; sum != nil {
		g = r.b.Add(sum, g)
	}
	r.adjoint[v] = g
}
