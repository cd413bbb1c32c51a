package factor

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// made says which readers of a value share what brings it into a state: those at the
// same place, that do not have it afresh. Where each microbatch brings it there for itself,
// what runs once for all of them does so on its own.
type made struct {
	value, at    int
	afresh, each bool
}

// Reshard is v in the state of t, which has the same axes and sizes, for a reader
// that is sharded because of from. Without a reader, whose says what v becomes.
func (x *Flow) Reshard(reader *ir.Op, v *ir.Value, t ir.Type, from Origins, whose string) *ir.Value {
	if v.Type.SameShape(t) { // mostly
		return v
	}
	t = t.WithDType(v.Type.DType)
	if w := x.same.of[v]; w != nil && !x.free[v.Def] { // numbers stay where they are
		v = w
	}
	// A sum is reduced where it is made, other moves are the reader's: each place has
	// its own of what it receives.
	by := reader
	if len(v.Type.Partial) > 0 && v.Def != nil && !x.Crosses(reader, v) {
		by = v.Def
	}
	// What microbatches share is there for all of them, unless each brings it here anew.
	each := reader.PerMicro() && x.perMicro(v)
	key := made{v.ID, x.place(by), (reader.PerMicro() == v.PerMicro() || x.perMicro(v)) && slices.ContainsFunc(x.Policies, func(p Policy) bool { return p.Afresh(reader, v, t) }), each}
	for _, w := range x.made[key] {
		if w.Type.Equal(t) {
			return w
		}
	}
	var w *ir.Value
	switch {
	case v.Def != nil && x.free[v.Def] && len(t.Partial) == 0: // a term of a sum is not what every device computes
		w = x.remake(v.Def, t, from)
	case x.widens(v) >= 0 && len(v.Type.Partial)+len(t.Partial) == 0: // what is converted is fewer bytes
		w = x.anew(reader, v.Def, t, from, whose)
	default:
		w = x.reshard(reader, by, v, t, x.because(v, t, from, whose))
	}
	x.made[key] = append(x.made[key], w)
	x.origin.Set(w, x.origin.Of(v).overlaid(from))
	return w
}

// reshard emits the operation, in the slot of by.
func (x *Flow) reshard(reader, by *ir.Op, v *ir.Value, t ir.Type, why string) *ir.Value {
	o := x.Func.NewOp(op.Reshard, []*ir.Value{v}, nil, t)
	if why != "" {
		o.Attrs = ir.A("why", ir.Str(why))
	}
	of := reader
	if apart := x.Apart[v] || len(reader.Results) > 0 && x.Apart[reader.Results[0]]; !apart {
		if of = by; by == v.Def && Root(v).Def != nil { // what a sum is cast from, not where it is needed cast
			of = Root(v).Def
		}
	}
	o.Scope, o.Pos, o.Slot = of.Scope, of.Pos, x.timesOf(v, by.Slot)
	if x.run == nil && v.In() != nil { // a result
		o.Run = x.timesOf(v, v.Def.Slot).Run
	}
	x.put(o, v)
	return o.Result()
}

// timesOf is slot for an operation on v: what is there once is brought into another
// state once, before all microbatches, and what they add up to after all of them.
func (x *Flow) timesOf(v *ir.Value, slot ir.Slot) ir.Slot {
	sum := v.Def != nil && v.Def.Accumulates() != ""
	if sum {
		slot.Phase = ir.Update
	}
	if !slot.Micro || v.PerMicro() || x.perMicro(v) {
		return slot
	}
	if slot.Micro = false; slot.Run != nil {
		k := apart{slot.Run, sum}
		if x.once[k] == nil {
			x.once[k] = &ir.Run{Stack: slot.Run.Stack, Down: slot.Run.Down}
			x.ofAll[x.once[k]] = true
		}
		slot.Run = x.once[k]
	}
	return slot
}

// apart is what is done once for the instances of a run that is one of each microbatch:
// before that, or behind.
type apart struct {
	run    *ir.Run
	behind bool
}

// again emits o once more, on other operands, with a result in the state of t.
func (x *Flow) again(o, slot *ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	n := x.Func.NewOp(o.Name, args, o.Attrs, t)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, x.timesOf(o.Results[0], slot.Slot)
	if x.run == nil && o.Run != nil {
		n.Run = x.timesOf(o.Results[0], o.Slot).Run
	}
	x.put(n, o.Results[0])
	return n.Result()
}

// perMicro reports whether each microbatch brings v into other states for itself, or what v is
// widened from.
func (x *Flow) perMicro(v *ir.Value) bool { return x.PerMicro != nil && x.PerMicro(x.Moved(v)) }

// place is where o runs, -1 where that is everywhere.
func (x *Flow) place(o *ir.Op) int {
	if x.Place != nil && o != nil {
		if at, ok := x.Place(o); ok {
			return at
		}
	}
	return -1
}

// Root is what v is, or is converted from.
func Root(v *ir.Value) *ir.Value {
	for v.Def != nil && op.Has(v.Def, op.Converts) {
		v = v.Def.Args[0]
	}
	return v
}

// widens is the operand from which v is converted, being a float of fewer bytes, or which is multiplied by numbers and
// the like after that; -1 if there is none.
func (x *Flow) widens(v *ir.Value) int {
	o := v.Def
	if o == nil || op.Of(o).Class != op.Elementwise || len(o.Results) != 1 || !v.Type.DType.IsFloat() {
		return -1
	}
	main := -1
	for i, a := range o.Args {
		switch {
		case a.Type.Rank() == 0 || a.Def != nil && x.free[a.Def]:
		case main >= 0 || !a.Type.SameShape(v.Type):
			return -1
		default:
			main = i
		}
	}
	if main < 0 {
		return -1
	}
	from, to := o.Args[main].Type.DType, v.Type.DType
	if from.IsFloat() && (op.Has(o, op.Converts) && from.Bits() < to.Bits() || from.Bits() <= to.Bits() && x.widens(o.Args[main]) >= 0) {
		return main
	}
	return -1
}

// Moved is what is brought into another state where v is to be: v, or what it is widened from.
func (x *Flow) Moved(v *ir.Value) *ir.Value {
	for i := x.widens(v); i >= 0; i = x.widens(v) {
		v = v.Def.Args[i]
	}
	return v
}

// anew computes the result of o, which is elementwise, in the state of t for a reader.
func (x *Flow) anew(reader, o *ir.Op, t ir.Type, from Origins, whose string) *ir.Value {
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		want := Replicated(a.Type)
		for j := range want.Axes {
			want.Axes[j].Mesh = t.Axes[t.Index(want.Axes[j].Name)].Mesh
		}
		args[i] = x.Reshard(reader, a, want, from, whose)
	}
	return x.again(o, reader, t, args...)
}

// remake computes the result of o, which is free, in the state of t. What a split or
// a merge can make in fewer shards only is sharded further afterwards.
func (x *Flow) remake(o *ir.Op, t ir.Type, from Origins) *ir.Value {
	rule := op.Of(o).Shard(o)
	made := t.Clone()
	for _, f := range rule.Factors {
		if f.Results[0] == "" {
			continue
		}
		a := &made.Axes[made.Index(f.Results[0])]
		if f.Kind != op.PassThrough {
			a.Mesh = nil
		}
		for len(a.Mesh) > 0 && f.Size%x.Mesh.Shards(a.Mesh) != 0 {
			a.Mesh = a.Mesh[:len(a.Mesh)-1]
		}
	}
	args := make([]*ir.Value, len(o.Args))
	for i, v := range o.Args {
		want := Replicated(v.Type)
		for _, f := range rule.Factors {
			if f.Args[i] != "" && f.Results[0] != "" && f.Kind == op.PassThrough {
				want.Axes[want.Index(f.Args[i])].Mesh = made.Axes[made.Index(f.Results[0])].Mesh
			}
		}
		args[i] = x.Reshard(o, v, want, from, "")
	}
	w := x.again(o, o, made, args...)
	if made.Equal(t) {
		x.free[w.Def] = true
		return w
	}
	x.origin.Set(w, from)
	return x.Reshard(o, w, t, from, "")
}

// Origins are, for mesh axes over which a value is sharded or partial, where the
// rule of the layout is written that this goes back to.
type Origins map[string]string

// overlaid is o with what newer says in its place.
func (o Origins) overlaid(newer Origins) Origins {
	out := Origins{}
	for _, from := range []Origins{o, newer} {
		for m, at := range from {
			if at != "" {
				out[m] = at
			}
		}
	}
	return out
}

// because is why v is brought into the state of t: for each mesh axis of which the
// state changes, the rule that the reader follows, or else the one that made v as it
// is; of arguments, which lie as is given, that one first.
func (x *Flow) because(v *ir.Value, t ir.Type, from Origins, whose string) string {
	var rules []string
	for _, m := range x.Mesh {
		if alike(v.Type, t, m.Name) {
			continue
		}
		at, made := from[m.Name], x.origin.Of(v)[m.Name]
		if at == "" || made != "" && Root(v).Def == nil {
			at = made
		}
		if at != "" && !slices.Contains(rules, at) {
			rules = append(rules, at)
		}
	}
	why := strings.Join(rules, " and ")
	switch {
	case whose == "":
		return why
	case why == "":
		return whose
	}
	return why + ", for " + whose
}
