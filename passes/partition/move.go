package partition

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// move brings v into the state of t (same tensor, local sizes) by the fewest
// bytes: first cut what is whole (shard_slice, nothing is sent, and all that
// follows moves less), settle owed sums into their place (reduce_scatter), move
// shards from one axis to another (all_to_all), settle the other sums
// (all_reduce), and gather last. After each step what comes first is looked at
// again: a shard that has moved may have made room for a sum. Several mesh axes
// are one collective where they are neighbours in the states.
func (p *partitioner) move(why *ir.Op, v *ir.Value, t ir.Type) *ir.Value {
	steps := []func(*ir.Value, ir.Type) *ir.Value{p.cut, p.scatterOwed, p.exchange, p.settle, p.gather, p.owe}
	for i := 0; i < len(steps); i++ {
		if w := steps[i](v, t); w != nil {
			p.remark(why, w)
			v, i = w, -1
		}
	}
	if !v.Type.Equal(t.WithDType(v.Type.DType)) {
		panic(fmt.Sprintf("partition: %s did not become %s", v.Type, t))
	}
	return v
}

// remark says what was inserted, for whom and because of which rule.
func (p *partitioner) remark(why *ir.Op, v *ir.Value) {
	o := v.Def
	if o == nil || op.Of(o).Class != op.Collective || o.Name == "shard_slice" {
		return
	}
	reason := why.Attrs.Text("why")
	if reason == "" {
		reason = "its reader"
	}
	if !o.Attrs.Has("why") {
		o.Attrs = o.Attrs.With("why", ir.Str(reason))
	}
	p.c.Remarkf(o, "%s of %d bytes over %v for %%%d: %s", o.Name, o.Args[0].Type.Bytes(), o.Attrs.Names("over"), v.ID, reason)
}

func (p *partitioner) emit(name string, v *ir.Value, over []string, kv ...any) *ir.Value {
	attrs := ir.A(kv...).With("over", ir.Names(over))
	if name != "all_reduce" {
		attrs = attrs.With("parts", ir.Int(p.parts(over)))
	}
	return p.b.Emit(name, attrs, v)
}

// scatterOwed settles sums owed over the mesh axes over which t shards an axis
// next.
func (p *partitioner) scatterOwed(v *ir.Value, t ir.Type) *ir.Value {
	for _, kind := range []string{"sum", "max"} {
		for i, a := range v.Type.Axes {
			over := next(a.Mesh, t.Axes[i].Mesh, func(m string) bool {
				owed := ir.Partial{Mesh: m, Reduce: kind}
				return slices.Contains(v.Type.Partial, owed) && !slices.Contains(t.Partial, owed)
			})
			if len(over) > 0 {
				return p.emit("reduce_scatter", v, over, "axis", ir.Name(a.Name), "reduce", ir.Name(kind))
			}
		}
	}
	return nil
}

// next are the mesh axes that want has behind have, as far as ok holds; none
// where have is not how want begins.
func next(have, want []string, ok func(m string) bool) []string {
	if !prefix(have, want) {
		return nil
	}
	n := len(have)
	for n < len(want) && ok(want[n]) {
		n++
	}
	return want[len(have):n]
}

// settle reduces the sums that t does not owe, all of one kind at once.
func (p *partitioner) settle(v *ir.Value, t ir.Type) *ir.Value {
	for _, kind := range []string{"sum", "max"} {
		var over []string
		for _, m := range p.m.Mesh {
			owed := ir.Partial{Mesh: m.Name, Reduce: kind}
			if slices.Contains(v.Type.Partial, owed) && !slices.Contains(t.Partial, owed) {
				over = append(over, m.Name)
			}
		}
		if len(over) > 0 {
			return p.emit("all_reduce", v, over, "reduce", ir.Name(kind))
		}
	}
	return nil
}

// exchange moves the minor mesh axes of one axis' sharding to another axis: as
// many as go there together.
func (p *partitioner) exchange(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		want := t.Axes[i].Mesh
		for k := range a.Mesh {
			if len(want) > k && slices.Equal(a.Mesh[:k+1], want[:k+1]) {
				continue // stays
			}
			over := a.Mesh[k:]
			for j, b := range v.Type.Axes {
				to := t.Axes[j].Mesh
				if n := len(b.Mesh); j != i && prefix(b.Mesh, to) && len(to) >= n+len(over) && slices.Equal(to[n:n+len(over)], over) {
					return p.emit("all_to_all", v, over, "axis", ir.Name(a.Name), "to", ir.Name(b.Name))
				}
			}
		}
	}
	return nil
}

// cut keeps this device's part of an axis that is whole on the group.
func (p *partitioner) cut(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		over := next(a.Mesh, t.Axes[i].Mesh, func(m string) bool { return !uses(v.Type, m) })
		if len(over) > 0 {
			return p.emit("shard_slice", v, over, "axis", ir.Name(a.Name))
		}
	}
	return nil
}

// uses reports whether t is sharded over, or owes a sum over, mesh axis m.
func uses(t ir.Type, m string) bool {
	for _, a := range t.Axes {
		if slices.Contains(a.Mesh, m) {
			return true
		}
	}
	for _, x := range t.Partial {
		if x.Mesh == m {
			return true
		}
	}
	return false
}

// gather makes an axis whole over the minor mesh axes over which t does not
// shard it so.
func (p *partitioner) gather(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		if k := common(a.Mesh, t.Axes[i].Mesh); k < len(a.Mesh) {
			return p.emit("all_gather", v, a.Mesh[k:], "axis", ir.Name(a.Name))
		}
	}
	return nil
}

// common is how many mesh axes a and b begin with alike.
func common(a, b []string) int {
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return k
}

func prefix(a, b []string) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// owe makes a scalar that every device has into a sum owed: the first device
// of the group has it, the others zero.
func (p *partitioner) owe(v *ir.Value, t ir.Type) *ir.Value {
	var over []string
	for _, owed := range t.Partial {
		if owed.Reduce == "sum" && !slices.Contains(v.Type.Partial, owed) {
			over = append(over, owed.Mesh)
		}
	}
	if len(over) == 0 {
		return nil
	}
	w := p.b.OweByFirst(v, over)
	w.Type.Partial = append([]ir.Partial(nil), t.Partial...)
	return w
}
