package fuse

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// joinTasks puts the operations of each task in a row. Nothing reads what a later task
// makes.
func joinTasks(f *ir.Func) {
	if len(f.Tasks) == 0 {
		return
	}
	at := map[*ir.Task]int{}
	for i, t := range f.Tasks {
		at[t] = i
	}
	slices.SortStableFunc(f.Ops, func(a, b *ir.Op) int { return at[a.Task] - at[b.Task] })
}

// firstTicks gives every call of a kernel that adds to what the tick before left the
// kernel of the first tick, in which there is nothing to add to.
func firstTicks(f *ir.Func, shared *kernels) error {
	for _, o := range f.Ops {
		if o.Callee == nil {
			continue
		}
		var entered []int
		for i, v := range o.Args {
			if v.Def != nil && v.Def.Name == op.EnterTick {
				entered = append(entered, i)
			}
		}
		if len(entered) == 0 {
			continue
		}
		first, err := firstOf(o.Callee, entered)
		if err != nil {
			return err
		}
		o.First = shared.add(first)
	}
	return nil
}

// firstOf is kernel k without the operands at these places: whatever reads one is its
// other operand.
func firstOf(k *ir.Func, entered []int) (*ir.Func, error) {
	f := k.Clone()
	gone := map[*ir.Value]bool{}
	for _, i := range entered {
		gone[f.Args[i].Value] = true
	}
	f.Args = slices.DeleteFunc(f.Args, func(a *ir.Arg) bool { return gone[a.Value] })
	is := map[*ir.Value]*ir.Value{}
	var ops []*ir.Op
	for _, o := range f.Ops {
		at := slices.IndexFunc(o.Args, func(v *ir.Value) bool { return gone[v] })
		if at < 0 {
			ops = append(ops, o)
			continue
		}
		if len(o.Args) != 2 || gone[o.Args[1-at]] || o.Name != op.Add && o.Name != op.Max {
			return nil, fmt.Errorf("fuse: `%s` of @%s reads what the tick before left", o.Name, k.Name)
		}
		is[o.Result()] = o.Args[1-at]
	}
	f.Ops = ops
	f.Replace(is)
	seen := map[*ir.Value]bool{}
	b := op.Builder{F: f}
	for i, r := range f.Results {
		if r.Value.Def == nil || seen[r.Value] { // written all the same
			r.Value = b.EmitStated(op.Cast, ir.A("to", ir.Name(r.Value.Type.DType.String())), r.Value)
		}
		seen[r.Value] = true
		f.Results[i] = r
	}
	dropDead(f)
	f.Renumber()
	return f, nil
}
