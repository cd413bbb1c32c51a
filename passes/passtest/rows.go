package passtest

import (
	"fmt"
	"math/rand"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/passes/check"
)

// Batch is an operation in the loss of a model of two blocks, on two stages of a pipeline,
// with one of its axes as the batch.
type Batch struct {
	Op     op.Example
	Def    *op.Def
	Axis   ir.Axis // that is the batch
	Shards int     // of the batch, over mesh axis dp
	Micro  int     // microbatches
	Given  bool    // operands are of data alone; otherwise they depend on parameters
	Square bool    // the loss needs the result within a microbatch
	Inputs check.Inputs

	b    op.Builder
	r    *rand.Rand
	with []*ir.Value // parameters that the loss depends on
}

// AxesOf are the axes of the operands and results of an example of d, each name once.
func AxesOf(d *op.Def, e op.Example) (axes []ir.Axis) {
	var types []ir.Type
	for _, a := range e.Args {
		types = append(types, a.Type)
	}
	results, err := op.Infer(d.Name, types, e.Attrs)
	if err != nil {
		panic(err) // it is the row's own example
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

// Module is the step: a field of the batch, the operation in the second block, and what
// is made of its results.
func (x *Batch) Module() *ir.Module {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	m := &ir.Module{Name: "rows", Level: ir.Global, Mesh: []ir.MeshAxis{{Name: "dp", Size: x.Shards}, {Name: "pp", Size: 2}}, Funcs: []*ir.Func{f}}
	m.SetMeta(ir.Term{Head: "layout", Args: ir.A("name", ir.Str("l"), "rules", ir.Terms{
		{Head: "shard", Args: ir.A("axes", ir.Names{x.Axis.Name}, "over", ir.Names{"dp"})},
		{Head: "pipeline", Args: ir.A("blocks", ir.Str("blocks"), "over", ir.Names{"pp"}, "schedule", ir.Name("gpipe"), "microbatches", ir.Int(x.Micro), "chunks", ir.Int(1))},
	})})
	x.b, x.Inputs, x.r = op.Builder{F: f}, check.Inputs{}, rand.New(rand.NewSource(1))
	b := &x.b
	unit := x.argument(ir.RoleParam, "unit", scalar(1.5))
	x.with = append(x.with, unit)
	x.argument(ir.RoleData, "rows", tensor.New(ir.Type{DType: ir.F32, Axes: []ir.Axis{x.Axis}}))
	b.Scope = "blocks.0"
	loss := b.Mul(unit, unit)
	var args []*ir.Value
	for i, a := range x.Op.Args {
		args = append(args, x.operand(i, a))
	}
	b.Scope = "blocks.1"
	loss = b.Mul(loss, unit)
	results := must(b.TryEmit(x.Def.Name, args, x.Op.Attrs))
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

func (x *Batch) argument(role, path string, t *tensor.Tensor) *ir.Value {
	x.Inputs[check.Key{Role: role, Path: path}] = t
	return x.b.F.AddArg(t.Type, role, path, nil, diag.Pos{})
}

// operand is a field of the batch that has the batch first, and what does not have it a
// parameter.
func (x *Batch) operand(i int, a *tensor.Tensor) *ir.Value {
	path := fmt.Sprint("a", i)
	if !a.Type.Has(x.Axis.Name) || a.Type.Size(x.Axis.Name) != x.Axis.Size {
		v := x.argument(ir.RoleParam, path, a)
		if a.Type.DType.IsFloat() {
			x.with = append(x.with, v)
		}
		return v
	}
	first := a.Type.Drop(x.Axis.Name)
	first.Axes = append([]ir.Axis{x.Axis}, first.Axes...)
	v := x.b.Reorder(x.argument(ir.RoleData, path, a.Reordered(first)), a.Type)
	if a.Type.DType.IsFloat() && !x.Given {
		w := x.argument(ir.RoleParam, "w"+path, tensor.Scalar(a.Type.DType, 1))
		x.with = append(x.with, w)
		v = x.b.Mul(v, w)
	}
	return v
}

// term is a sum of result i with a weight for each element, whose gradient is the result.
func (x *Batch) term(i int, r *ir.Value) *ir.Value {
	b := &x.b
	r = b.Cast(r, ir.F32)
	if x.Square {
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
