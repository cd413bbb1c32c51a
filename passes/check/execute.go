package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// Outcome is the results of every entry function by its name.
type Outcome map[string]Results

// Execute evaluates every entry function of m. Exact keeps float64 throughout;
// otherwise every value is rounded to its dtype.
func Execute(m *ir.Module, in Inputs, exact bool) (Outcome, error) {
	return ExecuteBy(m, in, eval.Options{Exact: exact})
}

// ExecuteBy is [Execute] with the evaluator's own options.
func ExecuteBy(m *ir.Module, in Inputs, opts eval.Options) (Outcome, error) {
	m = m.Unrolled()
	out := Outcome{}
	stages := map[string][]*ir.Func{}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		if of := f.Of; of != "" {
			stages[of] = append(stages[of], f)
			continue
		}
		args, err := arguments(f, in)
		if err != nil {
			return nil, err
		}
		res, err := run(m, f, args, opts)
		if err != nil {
			return nil, err
		}
		out[f.Name] = Results{}
		collect(out[f.Name], f, res)
	}
	for _, of := range slices.Sorted(maps.Keys(stages)) {
		res, err := runStages(m, stages[of], in, opts)
		if err != nil {
			return nil, err
		}
		out[of] = res
	}
	return out, nil
}

func collect(out Results, f *ir.Func, res []*tensor.Tensor) {
	for i, r := range f.Results {
		out[resultKey(r, i)] = res[i]
	}
}

// arguments are f's inputs.
func arguments(f *ir.Func, in Inputs) ([]*tensor.Tensor, error) {
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		x := in[argKey(a, i)]
		if a.Role == ir.RoleCoord { // the evaluator knows the device
			x = tensor.New(a.Value.Type)
		}
		if a.Role == ir.RoleIndex {
			x = tensor.Scalar(ir.I32, float64(a.Attrs.Int(ir.AttrNumber, 0)))
		}
		if x == nil {
			return nil, fmt.Errorf("check: no input for %s of @%s", argKey(a, i), f.Name)
		}
		args[i] = &tensor.Tensor{Type: x.Type, Data: x.Data}
	}
	return args, nil
}

// runStages evaluates the programs of a pipeline's stages at once; program i
// is of coordinate i on the mesh axis along which they send.
func runStages(m *ir.Module, fs []*ir.Func, in Inputs, o eval.Options) (Results, error) {
	axis := pipelineAxis(m, len(fs))
	n := m.Devices()
	progs, args := make([]*ir.Func, n), make([][]*tensor.Tensor, n)
	for i, f := range fs {
		mine, err := arguments(f, in)
		if err != nil {
			return nil, err
		}
		for j, a := range mine {
			a.Type = whole(m, f.Args[j].Value.Type)
		}
		parts, err := eval.ShardArgs(m, f, mine)
		if err != nil {
			return nil, err
		}
		for d := range n {
			if tensor.Coord(m.Mesh, d)[axis] == i {
				progs[d], args[d] = f, parts[d]
			}
		}
	}
	res, err := eval.Programs(m, progs, args, o)
	if err != nil {
		return nil, err
	}
	out := Results{}
	for i, f := range fs {
		// What a stage holds is the same for every coordinate of the pipeline.
		all := make([][]*tensor.Tensor, n)
		for d := range n {
			all[d] = res[onStage(m, d, axis, i)]
		}
		joined, err := eval.AssembleResults(m, f, all)
		if err != nil {
			return nil, err
		}
		collect(out, f, joined)
	}
	return out, nil
}

// pipelineAxis is the mesh axis that messages go along.
func pipelineAxis(m *ir.Module, stages int) string {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if op.Has(o, op.Sends) {
				return o.Attrs.Names("over")[0]
			}
		}
	}
	for _, a := range m.Mesh {
		if a.Size == stages {
			return a.Name
		}
	}
	return ""
}

// onStage is the device that differs from d in being on stage i.
func onStage(m *ir.Module, d int, axis string, i int) int {
	c := tensor.Coord(m.Mesh, d)
	c[axis] = i
	rank := 0
	for _, a := range m.Mesh {
		rank = rank*a.Size + c[a.Name]
	}
	return rank
}

// run evaluates f on global arguments to global results: from Local on, on
// every device of the mesh.
func run(m *ir.Module, f *ir.Func, args []*tensor.Tensor, o eval.Options) ([]*tensor.Tensor, error) {
	if m.Level < ir.Local || m.Devices() == 1 {
		for i, a := range args {
			a.Type = f.Args[i].Value.Type
		}
		return eval.Func(m, f, args, o)
	}
	for i, a := range args {
		a.Type = whole(m, f.Args[i].Value.Type)
	}
	parts, err := eval.ShardArgs(m, f, args)
	if err != nil {
		return nil, err
	}
	res, err := eval.Devices(m, f, parts, o)
	if err != nil {
		return nil, err
	}
	return eval.AssembleResults(m, f, res)
}

// whole is the global type of the tensor of which t is a part.
func whole(m *ir.Module, t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		for _, x := range t.Axes[i].Mesh {
			t.Axes[i].Size *= m.MeshSize(x)
		}
		t.Axes[i].Mesh = nil
	}
	t.Partial = nil
	return t
}

func resultKey(r ir.Result, i int) Key {
	if r.Role == "" {
		return Key{"result", ir.Int(i).String()}
	}
	return Key{r.Role, r.Path}
}

// Difference is the largest relative difference of what is in a, and where it
// is: function and result. It is infinite where b lacks one.
func Difference(a, b Outcome) (where string, diff float64) {
	for _, fn := range slices.Sorted(maps.Keys(a)) {
		if b[fn] == nil {
			return "@" + fn, math.Inf(1)
		}
		if k, d := Diff(a[fn], b[fn]); d > diff || where == "" {
			where, diff = "@"+fn+" "+k.String(), d
		}
	}
	return where, diff
}
