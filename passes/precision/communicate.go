package precision

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// communicate has every device round its partial sum of a gradient to d before
// these are reduced: a cast that a partial sum may pass, and one back to float32
// behind it. Microbatches have been added by then, in float32.
// So do Megatron-LM (grad_reduce_in_fp32 off) and torchtitan (reduce_dtype).
func communicate(c *pass.Context, f *ir.Func, d ir.DType) {
	of := map[*ir.Value]bool{} // of which the terms are communicated
	uses := f.Uses()
	for _, r := range f.Results {
		if r.Role == ir.RoleGrad && r.Value.Def != nil && r.Value.Type.DType == ir.F32 {
			of[unscaled(r.Value, uses)] = true
		}
	}
	if len(of) == 0 {
		return
	}
	ops := f.Ops
	f.Ops = make([]*ir.Op, 0, len(ops)+2*len(of))
	repl := map[*ir.Value]*ir.Value{}
	for _, o := range ops {
		for i, a := range o.Args {
			if w := repl[a]; w != nil {
				o.Args[i] = w
			}
		}
		f.Ops = append(f.Ops, o)
		for _, v := range o.Results {
			if of[v] {
				b := op.Builder{F: f, Scope: o.Scope, Pos: o.Pos, Slot: o.Slot}
				x := b.Emit(op.Cast, ir.A("to", ir.Name(d.String()), op.AttrPartial, ir.BoolVal(true)), v)
				repl[v] = b.Cast(x, ir.F32)
			}
		}
	}
	for i, r := range f.Results {
		if w := repl[r.Value]; w != nil {
			f.Results[i].Value = w
		}
	}
	c.Remarkf(nil, "@%s: %d gradients are reduced across devices in %s", f.Name, len(of), d)
}

// unscaled is what a gradient is a multiple of, if nothing else reads that: the
// gradient of a scaled loss, whose partial sums are what devices reduce. The scale of a
// product of eight bits stays in front: each microbatch has its own.
func unscaled(v *ir.Value, uses map[*ir.Value]int) *ir.Value {
	for v.Def != nil && v.Def.Name == op.Mul {
		x, s := v.Def.Args[0], v.Def.Args[1]
		if s.Type.Rank() > 0 {
			x, s = s, x
		}
		if s.Type.Rank() > 0 || own(s) || x.Def == nil || uses[x] != 1 || !x.Type.SameShape(v.Type) {
			break
		}
		v = x
	}
	return v
}

// own reports whether each microbatch has scalar v by itself.
func own(v *ir.Value) bool {
	return v.Def != nil && (v.Def.Attrs.Bool(op.AttrOwn) || slices.ContainsFunc(v.Def.Args, func(a *ir.Value) bool { return a.Type.Rank() == 0 && own(a) }))
}
