package eval_test

import (
	"math"
	"slices"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// partsOf lists the ways to cut an axis over some of the mesh axes, and which
// are left.
func partsOf(mesh []string) (cuts, left [][]string) {
	cuts, left = [][]string{nil}, [][]string{mesh}
	for i, m := range mesh {
		rest := slices.Delete(slices.Clone(mesh), i, i+1)
		more, then := partsOf(rest)
		for j := range more {
			cuts = append(cuts, append([]string{m}, more[j]...))
			left = append(left, then[j])
		}
	}
	return cuts, left
}

// TestCollectivesKeepTheValue: for every collective that keeps its operand's
// value, every state that its row takes and every group, the devices' results,
// put together as the states that follow from the row say, are the tensor that
// their operands were the parts of.
func TestCollectivesKeepTheValue(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "p", Size: 2}, {Name: "q", Size: 3}}
	whole := tensor.New(ir.Type{DType: ir.F64, Axes: []ir.Axis{{Name: "a", Size: 36}, {Name: "b", Size: 36}}})
	for i := range whole.Data {
		whole.Data[i] = float64(i%17) - 8 + float64(i)/1024
	}
	taken := map[string]int{}
	for _, x := range states(whole.Type, mesh) {
		for _, d := range op.All() {
			if d.Traits&op.SameValue == 0 || d.Class != op.Collective {
				continue
			}
			for _, attrs := range groups(d, mesh) {
				f := &ir.Func{Name: "f"}
				v := f.AddArg(x, ir.RoleData, "x", nil, f0)
				types, err := d.Check([]ir.Type{x}, attrs)
				if err != nil {
					continue
				}
				o := f.NewOp(d.Name, []*ir.Value{v}, attrs, types...)
				if types, err = op.States(o); err != nil {
					continue
				}
				taken[d.Name]++
				o.Result().Type = types[0]
				f.Ops = []*ir.Op{o}
				f.Results = []ir.Result{{Value: o.Result(), Role: ir.RoleOut}}
				m := &ir.Module{Level: ir.Local, Mesh: mesh, Funcs: []*ir.Func{f}}
				res, err := eval.Devices(m, f, partialParts(t, m, whole, x), eval.Options{})
				if err != nil {
					t.Fatalf("%s%s of %s: %v", d.Name, attrs, x, err)
				}
				got, err := eval.AssembleResults(m, f, res)
				if err != nil {
					t.Fatalf("%s%s of %s: %v", d.Name, attrs, x, err)
				}
				if diff := tensor.RelDiff(whole, got[0]); diff > 1e-12 {
					t.Errorf("%s%s of %s gives %s, which is another tensor (by %g)", d.Name, attrs, x, types[0], diff)
				}
			}
		}
	}
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "shard_slice"} {
		if taken[name] < 4 {
			t.Errorf("%s: %d cases", name, taken[name])
		}
	}
	t.Log(taken)
}

// TestReordersKeepTheValue: the permute between any two shardings with shards of
// one size, with a sum or not, keeps the tensor; over too few mesh axes, or over
// one that the operand is partial over, its row refuses it.
func TestReordersKeepTheValue(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "p", Size: 2}, {Name: "q", Size: 3}, {Name: "r", Size: 2}}
	whole := tensor.New(ir.Type{DType: ir.F64, Axes: []ir.Axis{{Name: "a", Size: 12}, {Name: "b", Size: 12}}})
	for i := range whole.Data {
		whole.Data[i] = float64(i%17) - 8 + float64(i)/1024
	}
	n := 0
	all := states(whole.Type, mesh)
	for _, x := range all {
		for _, y := range all {
			y.Partial = x.Partial
			pairs, over := op.Reordering(mesh, x, y)
			if len(over) == 0 || x.Axes[0].Size != y.Axes[0].Size || x.Axes[1].Size != y.Axes[1].Size {
				continue
			}
			f := &ir.Func{Name: "f"}
			v := f.AddArg(x, ir.RoleData, "x", nil, f0)
			o := f.NewOp("permute", []*ir.Value{v}, ir.A("over", over, "mesh", pairs), y)
			types, err := op.States(o)
			if partial := slices.ContainsFunc(x.Partial, func(p ir.Partial) bool { return slices.Contains(over, p.Mesh) }); partial {
				if err == nil {
					t.Fatalf("permute%s of %s", o.Attrs, x)
				}
				continue
			}
			if err != nil || !op.SameState(types[0], y) {
				t.Fatalf("permute%s of %s gives %v, %v, want %s", o.Attrs, x, types, err, y)
			}
			f.Ops, f.Results = []*ir.Op{o}, []ir.Result{{Value: o.Result(), Role: ir.RoleOut}}
			m := &ir.Module{Level: ir.Local, Mesh: mesh, Funcs: []*ir.Func{f}}
			res, err := eval.Devices(m, f, partialParts(t, m, whole, x), eval.Options{})
			if err != nil {
				t.Fatalf("permute%s of %s: %v", o.Attrs, x, err)
			}
			got, err := eval.AssembleResults(m, f, res)
			if err != nil {
				t.Fatal(err)
			}
			if diff := tensor.RelDiff(whole, got[0]); diff > 1e-12 {
				t.Errorf("permute%s of %s is another tensor (by %g)", o.Attrs, x, diff)
			}
			o.Attrs = o.Attrs.With("over", over[1:])
			if _, err := op.States(o); len(over) > 1 && err == nil {
				t.Errorf("permute%s of %s", o.Attrs, x)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d cases", n)
	}
}

var f0 = (&op.Builder{}).Pos

// states are all states of t on the mesh, with the sizes of one device.
func states(t ir.Type, mesh []ir.MeshAxis) []ir.Type {
	var names []string
	size := map[string]int{}
	for _, a := range mesh {
		names = append(names, a.Name)
		size[a.Name] = a.Size
	}
	var out []ir.Type
	cutA, leftA := partsOf(names)
	for i := range cutA {
		cutB, leftB := partsOf(leftA[i])
		for j := range cutB {
			for _, kind := range []string{"", "sum", "max"} {
				x := t.Clone()
				x.Axes[0].Mesh, x.Axes[1].Mesh = cutA[i], cutB[j]
				for k := range x.Axes {
					for _, m := range x.Axes[k].Mesh {
						x.Axes[k].Size /= size[m]
					}
				}
				for _, m := range leftB[j] {
					if kind != "" {
						x.Partial = append(x.Partial, ir.Partial{Mesh: m, Reduce: kind})
					}
				}
				out = append(out, x)
			}
		}
	}
	return out
}

// groups are attributes of a collective for every group, axis and reduction.
func groups(d *op.Def, mesh []ir.MeshAxis) []ir.Attrs {
	takes := func(key string) bool {
		return slices.ContainsFunc(d.Attrs, func(a op.AttrSpec) bool { return a.Key == key })
	}
	var out []ir.Attrs
	for _, over := range [][]string{{"p"}, {"q"}, {"p", "q"}, {"q", "p"}} {
		n := 1
		for _, a := range mesh {
			if slices.Contains(over, a.Name) {
				n *= a.Size
			}
		}
		all := []ir.Attrs{ir.A("over", ir.Names(over))}
		each := func(key string, vals ...ir.AttrVal) {
			if !takes(key) {
				return
			}
			var more []ir.Attrs
			for _, a := range all {
				for _, v := range vals {
					more = append(more, a.With(key, v))
				}
			}
			all = more
		}
		each("parts", ir.Int(n))
		each("axis", ir.Name("a"), ir.Name("b"))
		each("to", ir.Name("a"), ir.Name("b"))
		each("reduce", ir.Name("sum"), ir.Name("max"))
		out = append(out, all...)
	}
	return out
}

// partialParts are the devices' parts of x in the state of type t: of a partial
// sum, shares that add up to it; of a maximum, one that is it and lesser
// ones.
func partialParts(t *testing.T, m *ir.Module, x *tensor.Tensor, of ir.Type) [][]*tensor.Tensor {
	t.Helper()
	whole := of.Clone()
	whole.Partial = nil
	var out [][]*tensor.Tensor
	for d := range m.Devices() {
		coord := tensor.Coord(m.Mesh, d)
		part, err := tensor.Shard(x, whole, m.Mesh, coord)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range of.Partial {
			n, c := float64(m.MeshSize(p.Mesh)), float64(coord[p.Mesh])
			share := 2 * (c + 1) / (n * (n + 1)) // 1 + 2 + … + n of them
			for i := range part.Data {
				if p.Reduce == "sum" {
					part.Data[i] *= share
				} else {
					part.Data[i] -= math.Abs(c - 1)
				}
			}
		}
		part.Type = of
		out = append(out, []*tensor.Tensor{part})
	}
	return out
}
