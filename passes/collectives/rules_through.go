package collectives

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// sliceThrough: of an elementwise operation the operands are sliced rather than the
// result, those that have the axis, so that the slice meets their collectives.
func sliceThrough(x *rewriter, o *ir.Op) *ir.Value {
	if o.Name != collective.ShardSlice || !x.leads(o.Args[0], o) {
		return nil
	}
	f := o.Args[0].Def
	if exchange(f) {
		return nil
	}
	args := make([]*ir.Value, len(f.Args))
	for i, a := range f.Args {
		args[i] = a
		if a.Type.Has(axis(o)) {
			args[i] = x.again(o, a)
		}
	}
	t := o.Result().Type.Clone()
	n, err := x.b.TryEmit(f.Name, args, op.Localize(f, []ir.Type{t}))
	if err != nil || !n[0].Type.SameAxes(t) {
		return nil
	}
	n[0].Type = t
	return n[0]
}

// leads reports whether v is computed, through operations that nothing else reads
// and that a slice can go through, from a collective that the slice will meet:
// one whose sum or gather the slice makes smaller.
func (x *rewriter) leads(v *ir.Value, o *ir.Op) bool {
	f := v.Def
	if f == nil || !x.only(v) || f.Slot != o.Slot {
		return false
	}
	if exchange(f) {
		return op.Has(f, op.Reduces|op.Gathers)
	}
	if len(f.Results) != 1 || op.Of(f).Class != op.Elementwise && !op.Has(f, op.ByName) {
		return false
	}
	at := v.Type.Axes[v.Type.Index(axis(o))]
	found := false
	for _, a := range f.Args {
		i := a.Type.Index(axis(o))
		if i < 0 {
			continue
		}
		if !slices.Equal(a.Type.Axes[i].Mesh, at.Mesh) || a.Type.Axes[i].Size != at.Size {
			return false // holds the part by another name
		}
		found = found || x.leads(a, o)
	}
	return found
}

// narrow: casts change each element by itself, so that moving and casting
// commute, bit for bit. Sums do not.
func narrow(x *rewriter, o *ir.Op) *ir.Value {
	p := o.Args[0].Def
	if p == nil || p.Slot != o.Slot || !x.only(o.Args[0]) || len(p.Args) != 1 {
		return nil
	}
	moved := func(c *ir.Op) bool { return op.Has(c, op.Exchanges) && !op.Has(c, op.Reduces) }
	size := func(v *ir.Value) int { return v.Type.DType.Size() }
	switch {
	case moved(o) && p.Name == op.Cast && size(p.Args[0]) < size(o.Args[0]),
		moved(p) && o.Name == op.Cast && size(o.Result()) < size(o.Args[0]):
	default:
		return nil
	}
	// Types of collectives say where partial sums are, those of casts are given.
	v := x.again(p, x.again(o, p.Args[0]))
	v.Type = o.Result().Type.Clone()
	return v
}
