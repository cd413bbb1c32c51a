package chunk

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// TestRangesAreTheWhole: of each operation, and each axis of its operands, the ranges of rows
// one after the other make what all of them do at once, or [treats] says that it mixes rows.
func TestRangesAreTheWhole(t *testing.T) {
	tried := map[how]int{}
	for _, d := range op.All() {
		switch d.Class {
		case op.Elementwise, op.Reduction, op.Contraction, op.Movement, op.Indexed:
		default:
			continue
		}
		for seed := range int64(40) {
			e := d.Sample(rand.New(rand.NewSource(seed)))
			for _, axis := range axesOf(e.Args) {
				whole, ranges, is := halves(t, d.Name, e, axis)
				tried[is]++
				if diff, _ := eval.Worst(whole, ranges); diff > 1e-9 {
					t.Errorf("%s%s, sample %d: one half of %s after the other differs by %.2g", d.Name, e.Attrs, seed, axis, diff)
				}
			}
		}
	}
	for _, is := range []how{mixes, rows, sums, maxes} {
		if tried[is] < 10 {
			t.Errorf("only %d cases of kind %d", tried[is], is)
		}
	}
}

// axesOf are the names of the axes of even size.
func axesOf(args []*tensor.Tensor) (names []string) {
	seen := map[string]bool{}
	for _, x := range args {
		for _, a := range x.Type.Axes {
			if !seen[a.Name] && a.Size%2 == 0 {
				seen[a.Name] = true
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// halves evaluates an operation at once, and for one half of the rows along axis after the
// other; there is nothing to compare where it mixes rows.
func halves(t *testing.T, name string, e op.Example, axis string) (whole, ranges []*tensor.Tensor, is how) {
	t.Helper()
	f := &ir.Func{Name: "f"}
	b := &op.Builder{F: f}
	var args []*ir.Value
	size := 0
	for i, x := range e.Args {
		args = append(args, f.AddArg(x.Type, ir.RoleData, fmt.Sprint("a", i), nil, b.Pos))
		if x.Type.Has(axis) {
			size = x.Type.Size(axis)
		}
	}
	results, err := b.TryEmit(name, args, e.Attrs)
	if err != nil {
		t.Fatal(err)
	}
	o := results[0].Def
	if is = treats(o, []string{axis}); is == mixes {
		return nil, nil, is
	}
	made := [][]*ir.Value{half(b, o, axis, 0, size/2), half(b, o, axis, size/2, size)}
	for i, r := range results {
		var v *ir.Value
		switch x, y := made[0][i], made[1][i]; is {
		case rows:
			v = b.Emit(op.Concat, ir.A("axis", ir.Name(axis)), x, y)
		case maxes:
			v = b.Emit(op.Max, nil, x, y)
		default:
			v = b.Emit(op.Add, nil, x, y)
		}
		f.Results = append(f.Results, ir.Result{Value: r, Role: ir.RoleOut}, ir.Result{Value: v, Role: ir.RoleOut})
	}
	out, err := eval.Func(&ir.Module{Name: "test", Funcs: []*ir.Func{f}}, f, e.Args, eval.Options{Exact: true})
	if err != nil {
		t.Fatalf("%s%s, %s: %v", name, e.Attrs, axis, err)
	}
	for i := range results {
		whole, ranges = append(whole, out[2*i]), append(ranges, out[2*i+1])
	}
	return whole, ranges, is
}

// half emits o once more on a range of rows.
func half(b *op.Builder, o *ir.Op, axis string, from, limit int) []*ir.Value {
	var args []*ir.Value
	for _, v := range o.Args {
		if v.Type.Has(axis) {
			v = b.Emit(op.Slice, ir.A("axis", ir.Name(axis), "start", ir.Int(from), "limit", ir.Int(limit)), v)
		}
		args = append(args, v)
	}
	var types []ir.Type
	for _, r := range o.Results {
		u := r.Type.Clone()
		if i := u.Index(axis); i >= 0 {
			u.Axes[i].Size = limit - from
		}
		types = append(types, u)
	}
	n := b.F.NewOp(o.Name, args, o.Attrs, types...)
	n.Attrs = op.Localize(n, types)
	b.F.Ops = append(b.F.Ops, n)
	return n.Results
}
