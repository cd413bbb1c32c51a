package stage

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/passes/autodiff"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// cuts are the ways in which the batch is cut: by the devices of a mesh axis, and into
// microbatches.
var cuts = []struct{ shards, micro int }{{1, 2}, {2, 2}, {1, 4}, {2, 1}}

// TestEveryAxisAsTheBatch takes each axis of an operation as the batch of a pipeline, for
// every row there is. The step then computes what it computes of the whole batch, in the
// forward and in the backward phase, or is refused with E0609.
func TestEveryAxisAsTheBatch(t *testing.T) {
	for _, d := range op.All() {
		switch d.Class {
		case op.Symbolic, op.Control, op.Collective, op.Placement, op.Boundary:
			continue // they come from passes that run later, or stand for others
		}
		t.Run(d.Name, func(t *testing.T) {
			equal, refused := 0, 0
			for i := range 12 {
				e := d.Sample(rand.New(rand.NewSource(int64(i))))
				for _, axis := range axesOf(t, d, e) {
					for _, c := range cuts {
						for _, v := range variants {
							if axis.Size%(c.shards*c.micro) != 0 {
								continue
							}
							x := &example{Def: d, Example: e, axis: axis, shards: c.shards, micro: c.micro, variant: v}
							switch err := x.compare(t); {
							case err == nil:
								equal++
							case isCode(err, "E0609"):
								refused++
							default:
								t.Fatalf("sample %d, %s, %+v: %v", i, axis.Name, v, err)
							}
						}
					}
				}
			}
			if d.Name == op.Const || d.Name == op.Coordinate {
				return // no axes
			}
			if t.Logf("%d equal, %d refused", equal, refused); equal < 20 {
				t.Errorf("only %d cases are equal, %d are refused", equal, refused)
			}
		})
	}
}

// variant is a program around the operation.
type variant struct {
	given  bool // of data alone; otherwise operands depend on parameters
	square bool // the loss needs the result within a microbatch
}

var variants = []variant{{}, {square: true}, {given: true}, {given: true, square: true}}

func isCode(err error, code string) bool {
	l, ok := diag.As(err)
	return ok && len(l) == 1 && l[0].Code == code
}

// axesOf are the axes of operands and results, each name once.
func axesOf(t *testing.T, d *op.Def, e op.Example) (axes []ir.Axis) {
	var types []ir.Type
	for _, a := range e.Args {
		types = append(types, a.Type)
	}
	results, err := op.Infer(d.Name, types, e.Attrs)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range append(types, results...) {
		for _, a := range x.Axes {
			if !seen[a.Name] {
				seen[a.Name] = true
				axes = append(axes, ir.Axis{Name: a.Name, Size: a.Size})
			}
		}
	}
	return axes
}

// example is an operation in the loss of a model of two blocks.
type example struct {
	*op.Def
	op.Example
	axis          ir.Axis // that is the batch
	shards, micro int
	variant

	b    op.Builder
	in   check.Inputs
	r    *rand.Rand
	with []*ir.Value // parameters that the loss depends on
}

// compare runs the step of the whole batch and that of microbatches.
func (x *example) compare(t *testing.T) error {
	m := x.module()
	if err := autodiff.Run(&pass.Context{Pass: "autodiff"}, m); err != nil {
		return err
	}
	if errs := verify.Module(m); len(errs) > 0 {
		return fmt.Errorf("the program is not valid: %v\n%s", errs, ir.Print(m))
	}
	want, err := check.Execute(m, x.in, true)
	if err != nil {
		return err
	}
	before := ir.Print(m)
	if err := Run(&pass.Context{Pass: "stage"}, m); err != nil {
		return err
	}
	if errs := verify.Module(m); len(errs) > 0 {
		return fmt.Errorf("not valid any more: %v\n%s\n%s", errs, before, ir.Print(m))
	}
	got, err := check.Execute(m, x.in, true)
	if err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, before, ir.Print(m))
	}
	if where, diff := check.Difference(want, got); !(diff < 1e-9) {
		return fmt.Errorf("%s differs by %.3g\n%s\n%s", where, diff, before, ir.Print(m))
	}
	return nil
}

// module is the step: a field of the batch, the operation in the second block, and what
// is made of its results.
func (x *example) module() *ir.Module {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	m := &ir.Module{Name: "rows", Level: ir.Global, Mesh: []ir.MeshAxis{{Name: "dp", Size: x.shards}, {Name: "pp", Size: 2}}, Funcs: []*ir.Func{f}}
	m.SetMeta(ir.Term{Head: "layout", Args: ir.A("name", ir.Str("l"), "rules", ir.Terms{
		{Head: "shard", Args: ir.A("axes", ir.Names{x.axis.Name}, "over", ir.Names{"dp"})},
		{Head: "pipeline", Args: ir.A("blocks", ir.Str("blocks"), "over", ir.Names{"pp"}, "schedule", ir.Name("gpipe"), "microbatches", ir.Int(x.micro), "chunks", ir.Int(1))},
	})})
	x.b, x.in, x.r = op.Builder{F: f}, check.Inputs{}, rand.New(rand.NewSource(1))
	b := &x.b
	unit := x.argument(ir.RoleParam, "unit", scalar(1.5))
	x.with = append(x.with, unit)
	x.argument(ir.RoleData, "rows", tensor.New(ir.Type{DType: ir.F32, Axes: []ir.Axis{x.axis}}))
	b.Scope = "blocks.0"
	loss := b.Mul(unit, unit)
	var args []*ir.Value
	for i, a := range x.Example.Args {
		args = append(args, x.operand(i, a))
	}
	b.Scope = "blocks.1"
	loss = b.Mul(loss, unit)
	results := must(b.TryEmit(x.Name, args, x.Example.Attrs))
	b.Scope = "loss"
	for i, r := range results {
		loss = b.Add(loss, x.term(i, r))
	}
	grads := must(b.TryEmit(op.Grad, append([]*ir.Value{loss}, x.with...), nil))
	f.Results = append(f.Results, ir.Result{Value: loss, Role: ir.RoleLoss})
	for i, g := range grads {
		path := f.Args[slices.IndexFunc(f.Args, func(a *ir.Arg) bool { return a.Value == x.with[i] })].Path
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: path})
	}
	return m
}

func must(vs []*ir.Value, err error) []*ir.Value {
	if err != nil {
		panic(err)
	}
	return vs
}

func scalar(v float64) *tensor.Tensor { return tensor.Scalar(ir.F32, v) }

func (x *example) argument(role, path string, t *tensor.Tensor) *ir.Value {
	x.in[check.Key{Role: role, Path: path}] = t
	return x.b.F.AddArg(t.Type, role, path, nil, diag.Pos{})
}

// operand is a field of the batch that has the batch first, and what does not have it a
// parameter.
func (x *example) operand(i int, a *tensor.Tensor) *ir.Value {
	path := fmt.Sprint("a", i)
	if !a.Type.Has(x.axis.Name) || a.Type.Size(x.axis.Name) != x.axis.Size {
		v := x.argument(ir.RoleParam, path, a)
		if a.Type.DType.IsFloat() {
			x.with = append(x.with, v)
		}
		return v
	}
	first := a.Type.Drop(x.axis.Name)
	first.Axes = append([]ir.Axis{x.axis}, first.Axes...)
	v := x.b.Reorder(x.argument(ir.RoleData, path, a.Reordered(first)), a.Type)
	if a.Type.DType.IsFloat() && !x.given {
		w := x.argument(ir.RoleParam, "w"+path, tensor.Scalar(a.Type.DType, 1))
		x.with = append(x.with, w)
		v = x.b.Mul(v, w)
	}
	return v
}

// term is a sum of result i with a weight for each element, whose gradient is the result.
func (x *example) term(i int, r *ir.Value) *ir.Value {
	b := &x.b
	r = b.Cast(r, ir.F32)
	if x.square {
		r = b.Mul(r, r)
	}
	weights := tensor.New(r.Type)
	for j := range weights.Data {
		weights.Data[j] = 0.5 + x.r.Float64()
	}
	w := x.argument(ir.RoleParam, fmt.Sprint("v", i), weights)
	x.with = append(x.with, w)
	r = b.Mul(r, w)
	if r.Type.Rank() == 0 {
		return r
	}
	return b.Emit(op.ReduceSum, ir.A("over", ir.Names(r.Type.Names())), r)
}
