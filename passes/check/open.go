package check

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Open is a copy of m in which each result of a symbolic gradient is an
// argument instead, of role "opened" and with the path of the parameter: times
// the scale where what is differentiated is a loss times a scale. A module
// without gradients is returned as it is.
func Open(m *ir.Module) *ir.Module {
	if !symbolic(m) {
		return m
	}
	m = m.Clone()
	for _, f := range m.Funcs {
		repl := map[*ir.Value]*ir.Value{}
		var kept []*ir.Op
		for _, o := range f.Ops {
			if o.Name != op.Grad {
				kept = append(kept, o)
				continue
			}
			scale := scaleOf(f, o)
			for i, v := range o.Results {
				k := gradKey(f, o, i)
				if a := f.Arg(k.Role, k.Path); a != nil {
					repl[v] = a.Value
				} else {
					repl[v] = f.AddArg(v.Type, k.Role, k.Path, nil, o.Pos)
				}
				if scale != nil {
					b := op.Builder{F: f, Sink: &kept, Scope: o.Scope, Pos: o.Pos}
					repl[v] = b.Mul(repl[v], b.Cast(scale, v.Type.DType))
				}
			}
		}
		f.Ops = kept
		f.Replace(repl)
	}
	return m
}

// scaleOf is the factor by which o's loss is that of the function, or nil where
// it is the loss itself.
func scaleOf(f *ir.Func, o *ir.Op) *ir.Value {
	d := o.Args[0].Def
	if d == nil || d.Name != op.Mul {
		return nil
	}
	if slices.ContainsFunc(f.Results, func(r ir.Result) bool { return r.Role == ir.RoleLoss && r.Value == d.Args[0] }) {
		return d.Args[1]
	}
	return nil
}

func symbolic(m *ir.Module) bool {
	return slices.ContainsFunc(m.Funcs, func(f *ir.Func) bool {
		return slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Name == op.Grad })
	})
}

// gradKey names the gradient with respect to operand i+1 of a grad operation.
func gradKey(f *ir.Func, o *ir.Op, i int) Key {
	for _, a := range f.Args {
		if a.Value == o.Args[i+1] && a.Role != "" {
			return Key{roleOpened, a.Path}
		}
	}
	return Key{roleOpened, fmt.Sprintf("#%d", i)}
}

// only is a copy of m that computes in function fn nothing but the results of
// the role, and has no other entry function.
func only(m *ir.Module, fn, role string) *ir.Module {
	m = m.Clone()
	var funcs []*ir.Func
	for _, f := range m.Funcs {
		if f.Name == fn {
			keepResults(f, role)
			funcs = append(funcs, f)
		} else if f.Class == ir.Kernel {
			funcs = append(funcs, f)
		}
	}
	m.Funcs = funcs
	return m
}

func keepResults(f *ir.Func, role string) {
	live := map[*ir.Value]bool{}
	var results []ir.Result
	for _, r := range f.Results {
		if r.Role == role {
			results = append(results, r)
			live[r.Value] = true
		}
	}
	f.Results = results
	var back []*ir.Op
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		used := false
		for _, v := range o.Results {
			used = used || live[v]
		}
		if !used {
			continue
		}
		back = append(back, o)
		for _, a := range o.Args {
			live[a] = true
		}
	}
	f.Ops = f.Ops[:0]
	for i := len(back) - 1; i >= 0; i-- {
		f.Ops = append(f.Ops, back[i])
	}
}
