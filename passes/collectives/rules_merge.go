package collectives

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Rules that make two collectives one, or none.

func alone(x *rewriter, o *ir.Op) *ir.Value {
	if !collective(o) {
		return nil
	}
	if op.Reorders(o) && op.SameState(o.Args[0].Type, o.Result().Type) {
		return o.Args[0]
	}
	rest := slices.DeleteFunc(slices.Clone(over(o)), func(m string) bool { return x.m.MeshSize(m) == 1 })
	switch {
	case len(rest) == len(over(o)):
		return nil
	case len(rest) > 0:
		return x.b.Emit(o.Name, o.Attrs.With("over", ir.Names(rest)), o.Args[0])
	case o.Name == op.Permute && !op.Reorders(o) && o.Attrs.Ints("sources")[0] != 0:
		return nil // gives zeros
	}
	return o.Args[0]
}

// what says what a collective does, for those that read the same.
func what(o *ir.Op) string {
	return fmt.Sprintf("%s %d%s %v", o.Name, o.Args[0].ID, o.Attrs.With("why", nil), o.Slot)
}

// note remembers that the program has collective o.
func (x *rewriter) note(o *ir.Op) {
	if collective(o) {
		x.seen[what(o)] = o.Result()
	}
}

func same(x *rewriter, o *ir.Op) *ir.Value {
	if !collective(o) {
		return nil
	}
	return x.seen[what(o)]
}

func undo(x *rewriter, o *ir.Op) *ir.Value {
	if !collective(o) {
		return nil
	}
	p := before(o)
	if p == nil || !slices.Equal(over(o), over(p)) {
		return nil
	}
	inverse := false
	switch o.Name + " " + p.Name {
	case "all_gather shard_slice", "shard_slice all_gather":
		inverse = axis(o) == axis(p)
	case "all_to_all all_to_all":
		inverse = axis(o) == p.Attrs.Text("to") && axis(p) == o.Attrs.Text("to")
	}
	if !inverse {
		return nil
	}
	return p.Args[0]
}

// reorders is join of permutes into other shardings: one into the last, or none.
func reorders(x *rewriter, o, p *ir.Op) *ir.Value {
	mesh, over := op.Reordering(x.m.Mesh, p.Args[0].Type, o.Result().Type)
	return x.emit(op.Permute, p.Args[0], over, "mesh", mesh)
}

// join: gathers go from minor to major mesh axes, cuts from major to minor.
func join(x *rewriter, o *ir.Op) *ir.Value {
	if !collective(o) {
		return nil
	}
	p := before(o, o.Name)
	if op.Reorders(o) && p != nil && op.Reorders(p) && x.only(p.Result()) {
		return reorders(x, o, p)
	}
	if p == nil || !x.only(p.Result()) || !disjoint(over(o), over(p)) || axis(o) != axis(p) || o.Attrs.Text("reduce") != p.Attrs.Text("reduce") {
		return nil
	}
	attrs := o.Attrs
	var all []string
	switch o.Name {
	case op.AllReduce:
		for _, a := range x.m.Mesh {
			if slices.Contains(over(o), a.Name) || slices.Contains(over(p), a.Name) {
				all = append(all, a.Name)
			}
		}
		return x.b.Emit(o.Name, attrs.With("over", ir.Names(all)), p.Args[0])
	case op.AllGather:
		all = append(append(all, over(o)...), over(p)...)
	case op.ReduceScatter, op.ShardSlice:
		all = append(append(all, over(p)...), over(o)...)
	default:
		return nil
	}
	return x.b.Emit(o.Name, attrs.With("over", ir.Names(all)).With("parts", ir.Int(Parts(x.m, all))), p.Args[0])
}

func scatter(x *rewriter, o *ir.Op) *ir.Value {
	if o.Name != op.ShardSlice || !x.allowed(op.ReduceScatter) {
		return nil
	}
	p := before(o, op.AllReduce)
	if p == nil || !x.only(p.Result()) {
		return nil
	}
	rest, ok := without(over(p), over(o))
	if !ok {
		return nil
	}
	reduce := ir.Name(p.Attrs.Text("reduce"))
	part := x.emit(op.ReduceScatter, p.Args[0], over(o), "axis", ir.Name(axis(o)), "reduce", reduce)
	return x.emit(op.AllReduce, part, rest, "reduce", reduce)
}

// regroup: the mesh axes of the slice must be the minor ones of the gather.
func regroup(x *rewriter, o *ir.Op) *ir.Value {
	if o.Name != op.ShardSlice || !x.allowed(op.AllToAll) {
		return nil
	}
	p := before(o, op.AllGather)
	if p == nil || !x.only(p.Result()) || axis(o) == axis(p) {
		return nil
	}
	k := len(over(p)) - len(over(o))
	if k < 0 || !slices.Equal(over(p)[k:], over(o)) {
		return nil
	}
	v := x.emit(op.AllToAll, p.Args[0], over(o), "axis", ir.Name(axis(p)), "to", ir.Name(axis(o)))
	return x.emit(op.AllGather, v, over(p)[:k], "axis", ir.Name(axis(p)))
}

func fewer(x *rewriter, o *ir.Op) *ir.Value {
	if o.Name != op.ShardSlice {
		return nil
	}
	p := before(o, op.AllGather)
	if p == nil || axis(o) != axis(p) {
		return nil
	}
	a, b := over(p), over(o)
	switch {
	case len(b) < len(a) && slices.Equal(a[:len(b)], b) && x.only(p.Result()):
		return x.emit(op.AllGather, p.Args[0], a[len(b):], "axis", ir.Name(axis(o)))
	case len(b) > len(a) && slices.Equal(b[:len(a)], a):
		return x.emit(op.ShardSlice, p.Args[0], b[len(a):], "axis", ir.Name(axis(o)))
	}
	return nil
}

// redirect: gather after all_to_all, all_to_all after slice or reduce_scatter.
func redirect(x *rewriter, o *ir.Op) *ir.Value {
	if !collective(o) {
		return nil
	}
	p := before(o)
	if p == nil || !slices.Equal(over(o), over(p)) || !x.only(p.Result()) {
		return nil
	}
	switch o.Name + " " + p.Name {
	case "all_gather all_to_all":
		if axis(o) == p.Attrs.Text("to") {
			return x.emit(op.AllGather, p.Args[0], over(o), "axis", ir.Name(axis(p)))
		}
	case "all_to_all shard_slice":
		if axis(o) == axis(p) {
			return x.emit(op.ShardSlice, p.Args[0], over(o), "axis", ir.Name(o.Attrs.Text("to")))
		}
	case "all_to_all reduce_scatter":
		if axis(o) == axis(p) {
			return x.emit(op.ReduceScatter, p.Args[0], over(o), "axis", ir.Name(o.Attrs.Text("to")), "reduce", ir.Name(p.Attrs.Text("reduce")))
		}
	}
	return nil
}

func sum(x *rewriter, o *ir.Op) *ir.Value {
	if o.Name != op.AllGather || !x.allowed(op.AllReduce) {
		return nil
	}
	p := before(o, op.ReduceScatter)
	if p == nil || !x.only(p.Result()) || axis(o) != axis(p) || !slices.Equal(over(o), over(p)) {
		return nil
	}
	return x.emit(op.AllReduce, p.Args[0], over(o), "reduce", ir.Name(p.Attrs.Text("reduce")))
}
