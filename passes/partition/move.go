package partition

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// move brings v into the state of t (same tensor, local sizes) by the fewest
// bytes: settle owed sums into their place (reduce_scatter) or everywhere
// (all_reduce), move a shard from one axis to another (all_to_all), cut what
// is whole (shard_slice, nothing is sent), and gather last.
func (p *partitioner) move(why *ir.Op, v *ir.Value, t ir.Type) *ir.Value {
	for _, step := range []func(*ir.Value, ir.Type) *ir.Value{p.scatterOwed, p.settle, p.exchange, p.cut, p.gather, p.cut, p.owe} {
		for {
			w := step(v, t)
			if w == nil {
				break
			}
			p.remark(why, w)
			v = w
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

// scatterOwed settles a sum owed over mesh axis m where t shards an axis over
// m next.
func (p *partitioner) scatterOwed(v *ir.Value, t ir.Type) *ir.Value {
	for _, owed := range v.Type.Partial {
		if slices.Contains(t.Partial, owed) {
			continue
		}
		for i, a := range v.Type.Axes {
			want := t.Axes[i].Mesh
			if k := len(a.Mesh); len(want) > k && want[k] == owed.Mesh && slices.Equal(want[:k], a.Mesh) {
				return p.emit("reduce_scatter", v, []string{owed.Mesh}, "axis", ir.Name(a.Name), "reduce", ir.Name(owed.Reduce))
			}
		}
	}
	return nil
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

// exchange moves the minor mesh axis of one axis' sharding to another axis.
func (p *partitioner) exchange(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		k := len(a.Mesh)
		if k == 0 || prefix(a.Mesh, t.Axes[i].Mesh) {
			continue
		}
		m := a.Mesh[k-1]
		for j, b := range v.Type.Axes {
			want := t.Axes[j].Mesh
			if n := len(b.Mesh); j != i && len(want) > n && want[n] == m && slices.Equal(want[:n], b.Mesh) {
				return p.emit("all_to_all", v, []string{m}, "axis", ir.Name(a.Name), "to", ir.Name(b.Name))
			}
		}
	}
	return nil
}

// cut keeps this device's part of an axis that is whole on the group.
func (p *partitioner) cut(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		want := t.Axes[i].Mesh
		if k := len(a.Mesh); len(want) > k && slices.Equal(want[:k], a.Mesh) && !uses(v.Type, want[k]) {
			return p.emit("shard_slice", v, want[k:k+1], "axis", ir.Name(a.Name))
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

// gather makes an axis whole from its minor mesh axis on, as far as t does not
// shard it so.
func (p *partitioner) gather(v *ir.Value, t ir.Type) *ir.Value {
	for i, a := range v.Type.Axes {
		if !prefix(a.Mesh, t.Axes[i].Mesh) {
			return p.emit("all_gather", v, a.Mesh[len(a.Mesh)-1:], "axis", ir.Name(a.Name))
		}
	}
	return nil
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
	first := p.b.Emit("eq", nil, p.b.Emit("coordinate", ir.A("over", ir.Names(over))), p.b.Const(ir.I32, 0))
	w := p.b.Select(first, v, p.b.Like(v, 0))
	w.Type.Partial = append([]ir.Partial(nil), t.Partial...)
	return w
}
