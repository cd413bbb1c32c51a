package op

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
)

// Shardings of values, as types note them: each axis' shards, and what is
// partial. The rules below are those by which propagation chooses them, read in
// the other direction: what follows for the results from the operands.

// States returns the types of o's results with the states that follow from
// those of its operands, or a *ShapeError where its row does not allow those.
// Where nothing follows (an axis that no operand has: a broadcast repeats
// along it, a source knows its shard) the state is the one that o notes.
//
// With it goes this: if operands are what their states say of some tensors of
// the whole mesh, results are what theirs say of the operation's results on
// those tensors.
func States(o *ir.Op) ([]ir.Type, error) { return states(o, func(ir.Axis) int { return 1 }) }

// StatesOfWhole is [States] where sizes are those of whole tensors, as they are
// at the level Sharded.
func StatesOfWhole(o *ir.Op, mesh []ir.MeshAxis) ([]ir.Type, error) {
	c := &Context{Mesh: mesh}
	return states(o, c.Parts)
}

// states: a device has the size of an axis, by the number of shards.
func states(o *ir.Op, parts func(ir.Axis) int) ([]ir.Type, error) {
	d := Of(o)
	if d.State != nil {
		types := make([]ir.Type, len(o.Args))
		for i, a := range o.Args {
			types[i] = a.Type
		}
		return d.State(o, types)
	}
	if over := PartialOfFirst(o); over != nil {
		return partialOfFirst(o, over)
	}
	if err := readsPlace(o); err != nil {
		return nil, err
	}
	partial, err := partialOf(o)
	if err != nil {
		return nil, err
	}
	out := make([]ir.Type, len(o.Results))
	for i, r := range o.Results {
		out[i] = r.Type.Clone()
		out[i].Partial = slices.Clone(partial)
		for j := range out[i].Axes {
			out[i].Axes[j].Mesh = nil
		}
	}
	if d.Divide != nil {
		if axes := d.Divide(o, parts); axes != nil {
			out[0].Axes = axes
			return out, nil
		}
	}
	for _, f := range d.Shard(o).Factors {
		if err := f.states(o, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// states writes what follows from factor f of o into the types of its results.
func (f *Factor) states(o *ir.Op, out []ir.Type) error {
	mesh, from := []string(nil), ""
	note := func(t ir.Type, axis string) error {
		m := t.Axes[t.Index(axis)].Mesh
		if from == "" {
			mesh, from = m, axis
		} else if !slices.Equal(mesh, m) {
			return axisErr(axis, "operands have axis `%s` %s and %s", axis, parted(mesh), parted(m))
		}
		return nil
	}
	for i, axis := range f.Args {
		if axis != "" {
			if err := note(o.Args[i].Type, axis); err != nil {
				return err
			}
		}
	}
	if from == "" && f.Kind == PassThrough {
		for i, axis := range f.Results {
			if axis != "" {
				if err := note(o.Results[i].Type, axis); err != nil {
					return err
				}
			}
		}
	}
	exchanged := f.Kind == Exchange && len(mesh) == 1 // of a size that the verifier knows
	if len(mesh) > 0 && f.Kind != PassThrough && f.Kind != Reduce && !exchanged {
		return axisErr(from, "axis `%s` is %s, and has to be replicated", from, parted(mesh))
	}
	for i, axis := range f.Results {
		t := &out[i]
		switch {
		case axis != "":
			t.Axes[t.Index(axis)].Mesh = slices.Clone(mesh)
		case f.Kind == Reduce:
			for _, m := range mesh {
				t.Partial = append(t.Partial, ir.Partial{Mesh: m, Reduce: f.Reduction})
			}
		}
	}
	return nil
}

func parted(mesh []string) string {
	if len(mesh) == 0 {
		return "replicated"
	}
	return "sharded over " + strings.Join(mesh, ", ")
}

// partialOf is over what the results of o are partial because its operands are:
// sums, where all of those in which o is linear are partial over the same, and
// the others over nothing.
func partialOf(o *ir.Op) ([]ir.Partial, error) {
	if p := maximumOf(o); p != nil {
		return p, nil
	}
	in := LinearIn(o)
	if len(in) == 0 {
		in = [][]int{nil}
	}
	var first error
	for _, set := range in {
		partial, err := partialIn(o, set)
		if err == nil {
			return partial, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// maximumOf is over what the result of o is a partial maximum because its operands are
// partial maxima over the same: the largest of what devices make of theirs is what o makes
// of the largest.
func maximumOf(o *ir.Op) []ir.Partial {
	if o.Name != ReduceMax && o.Name != Max && !IsCopy(o) {
		return nil
	}
	partial := o.Args[0].Type.Partial
	sums := slices.ContainsFunc(partial, func(p ir.Partial) bool { return p.Reduce != "max" })
	if sums || slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return !ir.SamePartial(partial, v.Type.Partial) }) {
		return nil
	}
	return partial
}

// LinearIn are sets of operands in which o is linear, as long as the others are
// given: of what is linear as a whole all of them.
func LinearIn(o *ir.Op) [][]int {
	d := Of(o)
	if IsLinear(o) || d.Linear.All || IsCopy(o) {
		all := make([]int, len(o.Args))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	if len(o.Results) != 1 || !o.Results[0].Type.DType.IsFloat() {
		return nil // quotients of integers are rounded
	}
	if Has(o, Converts) && !roundsTerms(o) {
		return nil
	}
	return d.Linear.In
}

// partialIn is over what the results of o are partial where the operands in, and
// no others, are partial sums over the same.
func partialIn(o *ir.Op, in []int) ([]ir.Partial, error) {
	var partial []ir.Partial
	for i, a := range o.Args {
		if !slices.Contains(in, i) {
			if len(a.Type.Partial) > 0 {
				want := "a reduced value; the operation is not linear"
				if len(in) > 0 {
					want += fmt.Sprintf(" in it and operand %d alike", in[0]+1)
				}
				return nil, &ShapeError{Msg: fmt.Sprintf("operand %d is partial (%s)", i+1, a.Type), Want: want}
			}
			continue
		}
		if i == in[0] {
			partial = a.Type.Partial
		}
		if !ir.SamePartial(partial, a.Type.Partial) {
			return nil, &ShapeError{Msg: fmt.Sprintf("operand %d is %s, operand %d is %s", in[0]+1, o.Args[in[0]].Type, i+1, a.Type), Want: "operands that are partial over the same"}
		}
		for _, p := range a.Type.Partial {
			if p.Reduce != "sum" {
				return nil, &ShapeError{Msg: fmt.Sprintf("operand %d is a partial %s (%s)", i+1, p.Reduce, a.Type), Want: "a reduced value, or a sum"}
			}
		}
	}
	return partial, nil
}

// SameState reports whether types note the same parts and the same reductions,
// in any order.
func SameState(t, u ir.Type) bool {
	return ir.SamePartial(t.Partial, u.Partial) && slices.EqualFunc(t.Axes, u.Axes, func(a, b ir.Axis) bool { return slices.Equal(a.Mesh, b.Mesh) })
}

// EmitStated is [Builder.Emit] of an operation whose result is of the state
// that follows from its operands', where one does.
func (b *Builder) EmitStated(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	v := b.Emit(name, attrs, args...)
	if t, err := States(v.Def); err == nil {
		v.Type = t[0]
	}
	return v
}

// FirstsPartial makes a value that every device of the group has into a partial sum
// over the mesh axes: the first device has it, the others have zero.
func (b *Builder) FirstsPartial(v *ir.Value, over []string) *ir.Value {
	first := b.Emit("eq", nil, b.Emit("coordinate", ir.A("over", ir.Names(over))), b.Const(ir.I32, 0))
	w := b.Select(first, v, b.Like(v, 0))
	w.Type = v.Type.Clone()
	for _, m := range over {
		w.Type.Partial = append(w.Type.Partial, ir.Partial{Mesh: m, Reduce: "sum"})
	}
	return w
}

// PartialOfFirst is the mesh axes over which o, made by [Builder.FirstsPartial], is a
// partial sum of its second operand; nil for every other operation. It is the one way in
// which values may depend on the device and yet be of a state.
func PartialOfFirst(o *ir.Op) []string {
	if o.Name != "select" {
		return nil
	}
	cond, rest := o.Args[0].Def, o.Args[2].Def
	if cond == nil || rest == nil || cond.Name != "eq" || !isZero(rest) {
		return nil
	}
	at, zero := cond.Args[0].Def, cond.Args[1].Def
	if at == nil || zero == nil || at.Name != "coordinate" || !isZero(zero) {
		return nil
	}
	return at.Attrs.Names("over")
}

// readsPlace refuses operations that compute from the device's coordinates
// what no state describes.
func readsPlace(o *ir.Op) error {
	place := func(v *ir.Value) bool { return v.Def != nil && v.Def.Name == "coordinate" }
	for i, a := range o.Args {
		if place(a) && o.Name != "eq" || a.Def != nil && a.Def.Name == "eq" && slices.ContainsFunc(a.Def.Args, place) {
			return &ShapeError{Msg: fmt.Sprintf("operand %d depends on the device, and its type does not say how", i+1)}
		}
	}
	return nil
}

func isZero(o *ir.Op) bool { return o.Name == "const" && o.Attrs.Float("value", 1) == 0 }

func partialOfFirst(o *ir.Op, over []string) ([]ir.Type, error) {
	t := o.Args[1].Type
	if err := unused(t, over); err != nil {
		return nil, err
	}
	out := o.Result().Type.Clone()
	for i, a := range out.Axes {
		out.Axes[i].Mesh = nil
		if j := t.Index(a.Name); j >= 0 {
			out.Axes[i].Mesh = slices.Clone(t.Axes[j].Mesh)
		}
	}
	out.Partial = slices.Clone(t.Partial)
	for _, m := range over {
		out.Partial = append(out.Partial, ir.Partial{Mesh: m, Reduce: "sum"})
	}
	return []ir.Type{out}, nil
}

// unused checks that all devices that differ on the mesh axes have the same of
// a value of type t.
func unused(t ir.Type, over []string) error {
	for _, m := range over {
		for _, a := range t.Axes {
			if slices.Contains(a.Mesh, m) {
				return axisErr(a.Name, "axis `%s` is %s", a.Name, parted(a.Mesh))
			}
		}
		if slices.ContainsFunc(t.Partial, func(p ir.Partial) bool { return p.Mesh == m }) {
			return &ShapeError{Msg: fmt.Sprintf("the operand, %s, is partial over `%s`", t, m)}
		}
	}
	return nil
}

// Rules of collectives. Each checks what one operand must be; what becomes of
// its type is in Infer.

// eachOperand is the State of a collective whose result i is of operand i.
func eachOperand(check func(t ir.Type, o *ir.Op, i int) error) func(*ir.Op, []ir.Type) ([]ir.Type, error) {
	return func(o *ir.Op, args []ir.Type) ([]ir.Type, error) {
		for i, t := range args {
			if err := check(t, o, i); err != nil {
				return nil, err
			}
		}
		return Of(o).Infer(args, o.Attrs)
	}
}

// requirePartial: the operand is partial over the whole group, of the operation's
// reduction, and of no other.
func requirePartial(t ir.Type, o *ir.Op, _ int) error {
	kind := o.Attrs.Text("reduce")
	for _, m := range o.Attrs.Names("over") {
		if !slices.Contains(t.Partial, ir.Partial{Mesh: m, Reduce: kind}) {
			return &ShapeError{Msg: fmt.Sprintf("the operand, %s, is no partial %s over `%s`", t, kind, m)}
		}
	}
	if slices.ContainsFunc(t.Partial, func(p ir.Partial) bool { return p.Reduce != kind }) {
		return &ShapeError{Msg: fmt.Sprintf("the operand, %s, is partial by reductions of two kinds", t)}
	}
	return nil
}

// shardedLast: the axis is sharded over the group, as the minor part.
func shardedLast(t ir.Type, o *ir.Op, i int) error {
	axis, over := axisOf(o.Attrs, i), o.Attrs.Names("over")
	mesh := t.Axes[t.Index(axis)].Mesh
	if k := len(mesh) - len(over); k < 0 || !slices.Equal(mesh[k:], over) {
		return axisErr(axis, "axis `%s` is %s, not last over %s", axis, parted(mesh), strings.Join(over, ", "))
	}
	return nil
}

// wholeOver: all devices of the group have the same.
func wholeOver(t ir.Type, o *ir.Op, _ int) error { return unused(t, o.Attrs.Names("over")) }

// anyState: the operation does not look.
func anyState(ir.Type, *ir.Op, int) error { return nil }

// permutes: what is moved into another sharding can be, and otherwise [oneEach].
func permutes(t ir.Type, o *ir.Op, i int) error {
	if Reorders(o) {
		return reordersOver(t, o)
	}
	return oneEach(t, o, i)
}

// oneEach: of the axis, where there is one, each device of the group has one
// position.
func oneEach(t ir.Type, o *ir.Op, _ int) error {
	axis, over := o.Attrs.Text("axis"), o.Attrs.Names("over")
	if axis == "" {
		return nil
	}
	i := t.Index(axis)
	if i < 0 {
		return unknownAxis(axis, t)
	}
	if a := t.Axes[i]; a.Size != 1 || !slices.Equal(a.Mesh, over) {
		return axisErr(axis, "axis `%s` has %d positions on a device and is %s, not one over %s", axis, a.Size, parted(a.Mesh), strings.Join(over, ", "))
	}
	return nil
}

// asNoted is the State of an operation whose results are of the states that
// they note: another rule says whether rightly.
func asNoted(o *ir.Op, _ []ir.Type) ([]ir.Type, error) {
	out := make([]ir.Type, len(o.Results))
	for i, r := range o.Results {
		out[i] = r.Type
	}
	return out, nil
}
