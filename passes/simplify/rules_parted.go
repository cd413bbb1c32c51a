package simplify

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
		{"slice-softmax", "a slice of the softmax of a concatenation is the exponentials of one part by the sums of all", []string{op.Slice}, sliceSoftmax},
	})
}

// sliceSoftmax takes the softmax of a concatenation apart, of which one part alone is
// read: scores of keys and of a sink, as many write it. Every other part counts in the
// sum alone.
func sliceSoftmax(r *rewriter, o *ir.Op) *ir.Value {
	axis := o.Attrs.Text("axis")
	p := o.Args[0]
	for from(p, op.Cast) && r.uses[p] == 1 {
		p = p.Def.Args[0]
	}
	if !from(p, op.Div) || p.Type.DType.IsInt() {
		return nil
	}
	e, l := p.Def.Args[0], p.Def.Args[1]
	if !from(e, op.Exp) || !from(l, op.ReduceSum) || l.Def.Args[0] != e || !slices.Equal(l.Def.Attrs.Names("over"), []string{axis}) {
		return nil
	}
	t := &parted{rewriter: r, axis: axis, made: map[partOf]*ir.Value{}}
	if t.sizes = t.partsOf(e); t.sizes == nil {
		return nil
	}
	if r.uses[p] > 1 {
		return r.refuse(o, readByOthers)
	}
	start, limit := o.Attrs.Int("start", 0), o.Attrs.Int("limit", 0)
	for i, n := range t.sizes {
		if start == 0 && int64(n) == limit {
			if !t.can(o.Args[0]) {
				return r.refuse(o, "not all of the softmax is made of the parts of one concatenation")
			}
			return r.as(o, t.part(o.Args[0], i), o.Result().Type)
		}
		start, limit = start-int64(n), limit-int64(n)
	}
	return r.refuse(o, "the slice is not one part of the concatenation")
}

// parted is work on a concatenation along an axis, done on its parts.
type parted struct {
	*rewriter
	axis  string
	sizes []int
	made  map[partOf]*ir.Value
}

// partOf is a part of a value along the axis, or all of a value without it.
type partOf struct {
	v *ir.Value
	i int
}

// partsOf are the sizes of the parts of what v, with the axis, is elementwise work on.
func (t *parted) partsOf(v *ir.Value) (sizes []int) {
	switch o := v.Def; {
	case o == nil:
	case o.Name == op.Concat && o.Attrs.Text("axis") == t.axis:
		for _, a := range o.Args {
			sizes = append(sizes, a.Type.Size(t.axis))
		}
	case op.Of(o).Class == op.Elementwise:
		for _, a := range o.Args {
			if a.Type.Has(t.axis) {
				return t.partsOf(a)
			}
		}
	}
	return sizes
}

// can reports whether v, with the axis, can be made of the parts: it is elementwise work
// on one concatenation, less or by what is reduced of it.
func (t *parted) can(v *ir.Value) bool {
	o := v.Def
	switch {
	case o == nil:
		return false
	case o.Name == op.Concat && o.Attrs.Text("axis") == t.axis:
		return slices.EqualFunc(o.Args, t.sizes, func(a *ir.Value, n int) bool { return a.Type.Size(t.axis) == n })
	case op.Of(o).Class != op.Elementwise || len(o.Results) != 1:
		return false
	}
	return !slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return a.Type.Has(t.axis) && !t.can(a) })
}

// part is part i of v, or all of v where that has not the axis: reductions over the axis
// are of those of the parts, where they are of what can be made of them.
func (t *parted) part(v *ir.Value, i int) *ir.Value {
	o := v.Def
	if o == nil {
		return v
	}
	key := partOf{v, i}
	if !v.Type.Has(t.axis) {
		key.i = -1
	}
	if t.made[key] == nil {
		t.made[key] = t.make(v, o, i)
	}
	return t.made[key]
}

func (t *parted) make(v *ir.Value, o *ir.Op, i int) *ir.Value {
	join := map[string]string{op.ReduceMax: op.Max, op.ReduceSum: op.Add}[o.Name]
	switch {
	case o.Name == op.Concat && v.Type.Has(t.axis):
		return o.Args[i]
	case op.Of(o).Class == op.Elementwise:
		args := make([]*ir.Value, len(o.Args))
		for k, a := range o.Args {
			args[k] = t.part(a, i)
		}
		if slices.Equal(args, o.Args) {
			return v
		}
		return t.emit(o, o.Name, o.Attrs, args...)
	case join != "" && slices.Equal(o.Attrs.Names("over"), []string{t.axis}) && t.can(o.Args[0]):
		var all *ir.Value
		for k := range t.sizes {
			x := t.emit(o, o.Name, o.Attrs, t.part(o.Args[0], k))
			if all == nil {
				all = x
			} else {
				all = t.emit(o, join, nil, all, x)
			}
		}
		return all
	}
	return v
}
