package check

import (
	"fmt"
	"math"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
)

// Outcome is the results of every entry function by its name.
type Outcome map[string]Results

// Execute evaluates every entry function of m. Exact keeps float64 throughout;
// otherwise every value is rounded to its dtype.
func Execute(m *ir.Module, in Inputs, exact bool) (Outcome, error) {
	out := Outcome{}
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "kernel" {
			continue
		}
		args := make([]*tensor.Tensor, len(f.Args))
		for i, a := range f.Args {
			x := in[argKey(a, i)]
			if a.Role == ir.RoleCoord { // the evaluator knows the device
				x = tensor.New(a.Value.Type)
			}
			if x == nil {
				return nil, fmt.Errorf("check: no input for %s of @%s", argKey(a, i), f.Name)
			}
			args[i] = &tensor.Tensor{Type: x.Type, Data: x.Data}
		}
		res, err := run(m, f, args, eval.Options{Exact: exact})
		if err != nil {
			return nil, err
		}
		out[f.Name] = Results{}
		for i, r := range f.Results {
			out[f.Name][resultKey(r, i)] = res[i]
		}
	}
	return out, nil
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

func resultKey(r ir.Result, i int) Key {
	if r.Role == "" {
		return Key{"result", ir.Int(i).String()}
	}
	return Key{r.Role, r.Path}
}

// Difference is the largest relative difference of what is in a, and where it
// is: function and result. It is infinite where b lacks one.
func Difference(a, b Outcome) (where string, diff float64) {
	for _, fn := range sortedNames(a) {
		if b[fn] == nil {
			return "@" + fn, math.Inf(1)
		}
		if k, d := Diff(a[fn], b[fn]); d > diff || where == "" {
			where, diff = "@"+fn+" "+k.String(), d
		}
	}
	return where, diff
}
