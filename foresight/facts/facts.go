package facts

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Facts are those of a model's training step.
type Facts struct {
	// Batch is the axis that data parallelism divides, Rows its size; Sequence is the next axis of the data, empty if there
	// is none, and Positions its size.
	Batch, Sequence string
	Rows, Positions int
	// Blocks is the path of the repeated module with the most parameters, such as "blocks"; Module its name, such as
	// "Block", Instances how often it is there. Without one, Blocks is empty and Instances 0.
	Blocks, Module string
	Instances      int
	Params         []Param
	// Residual is the axis of what goes from block to block, such as embed. Tensor are the axes that may be sharded over
	// devices that share a block; Outer those of them that only parameters outside the blocks have, such as vocab.
	Residual      string
	Tensor, Outer []string
	Experts       string // the axis of experts; empty if there is none
	Sizes         map[string]int
	// Flops is the arithmetic of a step. BlockFlops is that of the products of one block, for the whole batch, forward and
	// backward, without those over the scores of attention. DTypes are the dtypes of the factors of the products, sorted.
	Flops      float64
	BlockFlops int64
	DTypes     []string
}

// Param is a parameter, or one of each block.
type Param struct {
	Path   string
	Axes   []ir.Axis
	Bytes  int64 // of an element
	States int64 // of the optimizer's states for an element
	Block  bool  // there is one in each of Facts.Blocks
	Before bool  // it is none of a block, and the first block depends on it, as on an embedding
}

// Elems is how many elements a parameter has.
func (p *Param) Elems() int64 {
	n := int64(1)
	for _, a := range p.Axes {
		n *= int64(a.Size)
	}
	return n
}

// Has reports whether a parameter has an axis.
func (p *Param) Has(axis string) bool {
	for _, a := range p.Axes {
		if a.Name == axis {
			return true
		}
	}
	return false
}

// Of are the facts of a module with gradients and precision, that is not divided among devices. The error says what a search cannot do without.
func Of(m *ir.Module) (*Facts, error) {
	f := m.Func("step")
	if f == nil {
		return nil, errors.New("the source has no `train` block: there is no step whose layout could be found")
	}
	x := &Facts{Sizes: map[string]int{}}
	for _, s := range f.Stacks {
		if n := params(f, s.Name); s.Count > x.Instances && n > 0 {
			x.Blocks, x.Instances = s.Name, s.Count
		}
	}
	x.Module = moduleOf(m, x.Blocks)
	before := x.before(f)
	states := map[string]int64{}
	for _, a := range f.Args {
		if a.Role == ir.RoleState {
			of, _, _ := strings.Cut(a.Path, "/")
			states[of] += int64(a.Value.Type.DType.Size())
		}
	}
	for _, a := range f.Args {
		switch a.Role {
		case ir.RoleParam:
			p := Param{Path: a.Path, Axes: a.Value.Type.Axes, Bytes: int64(a.Value.Type.DType.Size()), States: states[a.Path], Block: x.Blocks != "" && strings.HasPrefix(a.Path, x.Blocks+".{i}.")}
			p.Before = !p.Block && before[a.Value]
			x.Params = append(x.Params, p)
			for _, d := range a.Value.Type.Axes {
				x.Sizes[d.Name] = d.Size
			}
		case ir.RoleData:
			x.data(a.Value.Type.Axes)
		}
	}
	if x.Batch == "" {
		return nil, errors.New("the step has no data: there is no batch to divide")
	}
	x.axes()
	x.arithmetic(f)
	return x, nil
}

// before is all that the first run of the blocks depends on.
func (x *Facts) before(f *ir.Func) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	first := slices.IndexFunc(f.Ops, func(o *ir.Op) bool { return o.Run != nil && o.Run.Stack.Name == x.Blocks })
	if first < 0 {
		return out
	}
	for _, o := range f.Ops[first:] {
		if o.Run == f.Ops[first].Run {
			for _, v := range o.Args {
				out[v] = true
			}
		}
	}
	for _, o := range slices.Backward(f.Ops[:first]) {
		if slices.ContainsFunc(o.Results, func(v *ir.Value) bool { return out[v] }) {
			for _, v := range o.Args {
				out[v] = true
			}
		}
	}
	return out
}

// arithmetic counts FLOPs.
func (x *Facts) arithmetic(f *ir.Func) {
	x.Flops = fusion.Mathematics(f)
	scores := map[*ir.Op]bool{}
	for _, c := range fusion.Cores(f, func(_, o *ir.Op) bool { return op.Of(o).Class != op.Boundary }) {
		for _, o := range c.Ops {
			scores[o] = true
		}
	}
	dtypes := map[string]bool{}
	for _, o := range f.Ops {
		if op.Of(o).Class != op.Contraction {
			continue
		}
		dtypes[o.Args[0].Type.DType.String()] = true
		if o.Run != nil && o.Run.Stack.Name == x.Blocks && !scores[o] {
			x.BlockFlops += op.Of(o).Flops(o)
		}
	}
	x.DTypes = slices.Sorted(maps.Keys(dtypes))
}

// data reads the axes of a field of the batch.
func (x *Facts) data(axes []ir.Axis) {
	for i, d := range axes {
		x.Sizes[d.Name] = d.Size
		switch {
		case i == 0 && x.Batch == "":
			x.Batch, x.Rows = d.Name, d.Size
		case i == 1 && x.Sequence == "":
			x.Sequence, x.Positions = d.Name, d.Size
		}
	}
}

// params counts the parameters below a path.
func params(f *ir.Func, path string) (n int) {
	for _, a := range f.Args {
		if a.Role == ir.RoleParam && strings.HasPrefix(a.Path, path+".{i}.") {
			n++
		}
	}
	return n
}

// moduleOf is the name of the module that is repeated at a path.
func moduleOf(m *ir.Module, path string) string {
	t := m.MetaTerm("instances")
	if t == nil || path == "" {
		return ""
	}
	for _, a := range t.Args {
		if text, ok := a.Val.(ir.Str); ok && slices.Contains(strings.Split(string(text), ", "), path+".*") {
			return a.Key
		}
	}
	return ""
}
