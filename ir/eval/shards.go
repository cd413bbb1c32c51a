package eval

import (
	"fmt"
	"math"

	"ptc/ir"
	"ptc/ir/tensor"
)

// ShardArgs cuts global arguments into those of each device, by the shardings
// in the types of f's arguments.
func ShardArgs(m *ir.Module, f *ir.Func, global []*tensor.Tensor) ([][]*tensor.Tensor, error) {
	if len(global) != len(f.Args) {
		return nil, fmt.Errorf("eval: @%s takes %d arguments, found %d", f.Name, len(f.Args), len(global))
	}
	out := make([][]*tensor.Tensor, m.Devices())
	for d := range out {
		coord := tensor.Coord(m.Mesh, d)
		for i, a := range f.Args {
			x, err := tensor.Shard(global[i], a.Value.Type, m.Mesh, coord)
			if err != nil {
				return nil, err
			}
			out[d] = append(out[d], x)
		}
	}
	return out, nil
}

// AssembleResults joins the devices' results into global ones, by the
// shardings in the types of f's results.
func AssembleResults(m *ir.Module, f *ir.Func, results [][]*tensor.Tensor) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(f.Results))
	for i, r := range f.Results {
		parts := make([]*tensor.Tensor, len(results))
		for d := range results {
			parts[d] = results[d][i]
		}
		x, err := tensor.Assemble(parts, r.Value.Type, m.Mesh)
		if err != nil {
			return nil, fmt.Errorf("eval: @%s: result %d: %w", f.Name, i, err)
		}
		out[i] = x
	}
	return out, nil
}

// Worst is the largest [tensor.RelDiff] between tensors at the same place of
// two lists, and that place. Lists of different lengths differ infinitely.
func Worst(a, b []*tensor.Tensor) (diff float64, at int) {
	for i := range a {
		if i >= len(b) {
			break
		}
		if d := tensor.RelDiff(a[i], b[i]); d > diff {
			diff, at = d, i
		}
	}
	if len(a) != len(b) {
		return math.Inf(1), min(len(a), len(b))
	}
	return diff, at
}
