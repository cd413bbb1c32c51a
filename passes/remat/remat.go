package remat

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run applies the recompute rules of m's layout to @step.
func Run(c *pass.Context, m *ir.Module) error {
	f := m.Func("step")
	rules := rulesOf(m)
	if f == nil || len(rules) == 0 {
		return nil
	}
	for _, r := range rules {
		if r.auto {
			c.Remarkf(nil, "recompute auto is not applied: every activation is kept")
			return nil
		}
	}
	r := &rewriter{f: f, rules: rules, again: map[*ir.Op]bool{}, copies: map[*ir.Value]*ir.Value{}}
	r.choose()
	r.rewrite()
	c.Remarkf(nil, "@step: %d operations are done again in the backward pass, %.3g more flops", r.count, float64(r.flops))
	return nil
}

// rule is one recompute rule: patterns of module paths, and members to keep.
type rule struct {
	auto     bool
	patterns []string
	keep     []string
}

func rulesOf(m *ir.Module) []rule {
	t := m.MetaTerm("layout")
	if t == nil {
		return nil
	}
	instances := m.MetaTerm("instances")
	var out []rule
	for _, x := range t.Args.Terms("rules") {
		if x.Head != "recompute" {
			continue
		}
		r := rule{keep: x.Args.Names("keep")}
		for _, name := range strings.Split(x.Args.Text("of"), ",") {
			name = strings.TrimSpace(name)
			r.auto = r.auto || name == "auto"
			paths := name
			if instances != nil && instances.Args.Has(name) {
				paths = instances.Args.Text(name)
			}
			for _, p := range strings.Split(paths, ",") {
				r.patterns = append(r.patterns, strings.TrimSpace(p))
			}
		}
		out = append(out, r)
	}
	return out
}

// inside is the path of the instance that scope is in, and whether the rule
// has its values computed again.
func (r rule) inside(scope string) (string, bool) {
	at := strings.Split(scope, ".")
	for n := 1; n <= len(at); n++ {
		for _, p := range r.patterns {
			if !matches(strings.Split(p, "."), at[:n]) {
				continue
			}
			if n < len(at) && slices.Contains(r.keep, at[n]) {
				return "", false
			}
			return strings.Join(at[:n], "."), true
		}
	}
	return "", false
}

// matches reports whether a path is of the pattern, in which * stands for one
// part and ** for any number.
func matches(pattern, path []string) bool {
	if len(pattern) == 0 || len(path) == 0 {
		return len(pattern) == 0 && len(path) == 0 || len(pattern) == 1 && pattern[0] == "**"
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], path) || matches(pattern, path[1:])
	}
	return (pattern[0] == "*" || pattern[0] == path[0]) && matches(pattern[1:], path[1:])
}

type rewriter struct {
	f      *ir.Func
	rules  []rule
	loss   int
	again  map[*ir.Op]bool // forward operations that may be done again
	copies map[*ir.Value]*ir.Value
	out    []*ir.Op
	count  int
	flops  int64
}

// choose marks the forward operations inside the modules whose results no
// operation of the forward pass outside reads.
func (r *rewriter) choose() {
	r.loss = len(r.f.Ops)
	for _, x := range r.f.Results {
		if x.Role != ir.RoleLoss {
			continue
		}
		for i, o := range r.f.Ops {
			if o == x.Value.Def {
				r.loss = i
			}
		}
	}
	where := map[*ir.Op]string{}
	for i, o := range r.f.Ops {
		if i > r.loss {
			break
		}
		for _, x := range r.rules {
			if path, ok := x.inside(o.Scope); ok {
				where[o] = path
				r.again[o] = true
			}
		}
	}
	leaves := func(v *ir.Value, to string) {
		if v.Def != nil && r.again[v.Def] && where[v.Def] != to {
			delete(r.again, v.Def)
		}
	}
	for i, o := range r.f.Ops {
		if i <= r.loss {
			for _, v := range o.Args {
				leaves(v, where[o])
			}
		}
	}
	for _, x := range r.f.Results {
		leaves(x.Value, "a result")
	}
}

// rewrite makes the operations after the loss read copies.
func (r *rewriter) rewrite() {
	for i, o := range r.f.Ops {
		if i > r.loss {
			for k, v := range o.Args {
				o.Args[k] = r.copyOf(v, o)
			}
		}
		r.out = append(r.out, o)
	}
	r.f.Ops = r.out
}

// copyOf is v computed again, for a reader in the backward pass, or v itself. A
// reader on another stage than v has received v in the forward half; to send it
// again would make it wait for a stage whose backward half is later.
func (r *rewriter) copyOf(v *ir.Value, reader *ir.Op) *ir.Value {
	if v.Def == nil || !r.again[v.Def] || crosses(v.Def, reader) {
		return v
	}
	if w := r.copies[v]; w != nil {
		return w
	}
	o := v.Def
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = r.copyOf(a, o)
	}
	var types []ir.Type
	for _, x := range o.Results {
		types = append(types, x.Type.Clone())
	}
	attrs := o.Attrs.With(op.TagAgain, ir.BoolVal(true))
	if attrs.Has(op.TagHalf) {
		attrs = attrs.With(op.TagHalf, ir.Name("backward"))
	}
	n := r.f.NewOp(o.Name, args, attrs, types...)
	n.Scope, n.Pos = o.Scope, o.Pos
	r.out = append(r.out, n)
	r.count++
	r.flops += op.Of(o).Flops(o)
	for i, x := range o.Results {
		r.copies[x] = n.Results[i]
	}
	return r.copies[v]
}

// crosses reports whether two operations are on different stages of a pipeline.
func crosses(a, b *ir.Op) bool {
	x, y := a.Attrs.Get(op.TagStage), b.Attrs.Get(op.TagStage)
	return x != nil && y != nil && x != y
}
