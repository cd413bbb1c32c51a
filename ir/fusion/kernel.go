package fusion

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Class is the shape of a kernel's loop nest.
type Class string

const (
	// Map: every computed value is elementwise over one iteration space.
	//	for p in Space { compute; store }
	Map Class = "map"
	// Row: reductions over the same axes, which hold the contiguous axis;
	// between and after them, elementwise work over the rows.
	//	for p in Space\Reduce { for r in Reduce {…reduce…}; for r {…} }
	Row Class = "row"
	// Column: reductions over the same axes, whose results keep the
	// contiguous axis; after them, elementwise work on the results.
	//	for block of p { for r in Reduce { acc[p] += … }; compute; store }
	Column Class = "column"
	// Gemm: one contraction, elementwise work on its operands as they are
	// packed (prologue) and on its result before it is stored (epilogue).
	Gemm Class = "gemm"
	// Scatter: one scatter_add, elementwise work on its updates.
	Scatter Class = "scatter"
	// Pieces: one concat or pad, elementwise work on its operands.
	Pieces Class = "pieces"
)

// Part says where in a kernel an operation belongs.
type Part uint8

const (
	// PartView: no code; the result is a view of an argument.
	PartView Part = iota
	// PartBody: elementwise work of map, row (see Phase), column before the
	// reduction, scatter and pieces operands, and on the scores of attention.
	PartBody
	// PartLeft and PartRight: prologue on the contraction's operands; of attention, on
	// any of those that are not over the scores, PartLeft.
	PartLeft
	PartRight
	// PartRoot: the contraction, reduction, scatter_add, concat or pad; of attention, the
	// products and the reductions.
	PartRoot
	// PartEpilogue: elementwise work on a root's result.
	PartEpilogue
)

// View is a value that is a strided view of an argument's buffer.
type View struct {
	Arg int // index in Func.Args
	op.Strided
}

// Kernel is the analysis of one kernel function.
type Kernel struct {
	F     *ir.Func
	Class Class
	// Space is the iteration space in loop order, outermost first. Row and
	// Column: all axes of the reduced operands. Gemm: the result's axes in
	// storage order (the contracted axes are in Reduce).
	Space []ir.Axis
	// Reduce are the reduced or contracted axes, in loop order.
	Reduce []ir.Axis
	// Root is the contraction, scatter_add, concat or pad; nil for others.
	Root *ir.Op
	// Views holds the arguments and the view operations' results.
	Views map[*ir.Value]View
	// Part of every operation.
	Part map[*ir.Op]Part
	// Phase numbers the sweeps over a row: an operation of phase n needs the
	// results of reductions of phases below n. 0 is the first sweep. Values
	// over the kept axes alone belong to the phase in which they are known.
	Phase map[*ir.Op]int
	// Contraction says what the axes of a kernel of class Gemm are; nil for others.
	Contraction *Contraction
	// Sections are those of class Horizontal, which alone has any.
	Sections []*Section
	// Attention is what a kernel of class Attend computes; nil for others. Its Space
	// is Both, Rows and Key.
	Attention *Attention
}

// Analyze classifies a kernel function, or says why it cannot be tiled.
func Analyze(f *ir.Func) (*Kernel, error) {
	k := &Kernel{F: f, Views: map[*ir.Value]View{}, Part: map[*ir.Op]Part{}, Phase: map[*ir.Op]int{}}
	for i, a := range f.Args {
		k.Views[a.Value] = View{i, op.Dense(a.Value.Type)}
	}
	if Class(f.Attrs.Text("kind")) == Horizontal {
		return k, k.horizontal()
	}
	for _, o := range f.Ops {
		k.view(o)
	}
	if attends(f) {
		return k, k.attend()
	}
	var body []*ir.Op
	var reductions []*ir.Op
	for _, o := range f.Ops {
		if k.isView(o) {
			continue
		}
		switch d := op.Of(o); d.Class {
		case op.Elementwise, op.Source:
			body = append(body, o)
		case op.Indexed:
			if err := k.indexed(o); err != nil {
				return nil, err
			}
			if k.Root != o {
				body = append(body, o)
			}
		case op.Reduction:
			reductions = append(reductions, o)
		case op.Contraction:
			if err := k.setRoot(o, Gemm); err != nil {
				return nil, err
			}
		case op.Movement:
			if op.Has(o, op.ByName) {
				body = append(body, o)
				continue
			}
			if op.CanView(o) {
				return nil, fmt.Errorf("%s of a computed value must be a kernel of its own", o.Name)
			}
			if err := k.setRoot(o, Pieces); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%s cannot be in a kernel", o.Name)
		}
	}
	if k.Root != nil && len(reductions) > 0 {
		return nil, fmt.Errorf("%s and %s in one kernel", k.Root.Name, reductions[0].Name)
	}
	switch {
	case len(reductions) > 0:
		return k, k.reduction(reductions)
	case k.Class == Gemm:
		return k, k.gemm(body)
	case k.Class == Scatter || k.Class == Pieces:
		return k, k.rooted(body)
	}
	k.Class = Map
	return k, k.mapped(body)
}

// view records o as a view of an argument where it is one.
func (k *Kernel) view(o *ir.Op) {
	if len(o.Args) != 1 || !op.CanView(o) {
		return
	}
	in, ok := k.Views[o.Args[0]]
	if !ok {
		return
	}
	if out, ok := op.View(o, in.Strided); ok {
		k.Views[o.Result()] = View{in.Arg, out}
		k.Part[o] = PartView
	}
}

func (k *Kernel) setRoot(o *ir.Op, c Class) error {
	if k.Root != nil {
		return fmt.Errorf("%s and %s in one kernel", k.Root.Name, o.Name)
	}
	k.Root, k.Class = o, c
	k.Part[o] = PartRoot
	return nil
}

// indexed accepts gather from a view, and one scatter_add as the root.
func (k *Kernel) indexed(o *ir.Op) error {
	if o.Name == op.ScatterAdd {
		return k.setRoot(o, Scatter)
	}
	if _, ok := k.Views[o.Args[0]]; !ok {
		return fmt.Errorf("%s from a computed value", o.Name)
	}
	return nil
}

// mapped checks a map kernel: the space is that of the widest result.
func (k *Kernel) mapped(body []*ir.Op) error {
	var widest ir.Type
	for _, r := range k.F.Results {
		if r.Value.Type.Rank() >= widest.Rank() {
			widest = r.Value.Type
		}
	}
	k.Space = widest.Axes
	for _, r := range k.F.Results {
		if !SameSpace(r.Value.Type.Axes, k.Space) {
			return fmt.Errorf("results %s and %s of one map kernel have different axes", r.Value.Type, widest)
		}
	}
	for _, o := range body {
		k.Part[o] = PartBody
		if !subspace(o.Result().Type.Axes, k.Space) {
			return fmt.Errorf("%s has axes beyond the kernel's: %s", o.Name, o.Result().Type)
		}
	}
	return nil
}

// rooted checks scatter and pieces kernels: the root is the only result, or, of a
// scatter_add, its sum with a value.
func (k *Kernel) rooted(body []*ir.Op) error {
	for _, o := range body {
		k.Part[o] = PartBody
	}
	if len(k.F.Results) != 1 {
		return fmt.Errorf("%s must be the only result of its kernel", k.Root.Name)
	}
	out, root := k.F.Results[0].Value, k.Root.Result()
	sum := out.Def
	if out != root {
		if k.Class != Scatter || k.Addend() == nil {
			return fmt.Errorf("%s must be the only result of its kernel", k.Root.Name)
		}
		k.Part[sum] = PartEpilogue
	}
	for _, o := range body {
		if slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return a == root && o != sum }) {
			return fmt.Errorf("%s reads the result of %s", o.Name, k.Root.Name)
		}
	}
	k.Space = root.Type.Axes
	return nil
}

// Addend is what the updates of a scatter_add are added to, in their order; nil for zeros.
func (k *Kernel) Addend() *ir.Value { return addend(k.F.Results[0].Value.Def, k.Root.Result()) }

// addend is what sum adds to v, or nil where it is no sum of v and a value of its axes.
func addend(sum *ir.Op, v *ir.Value) *ir.Value {
	if sum == nil || sum.Name != op.Add || !sameStorage(sum.Result().Type, v.Type) {
		return nil
	}
	for i, a := range sum.Args {
		if other := sum.Args[1-i]; a == v && other != v && sameStorage(other.Type, v.Type) {
			return other
		}
	}
	return nil
}

// gemm separates prologue and epilogue.
func (k *Kernel) gemm(body []*ir.Op) error {
	k.Space = k.Root.Result().Type.Axes
	over := k.Root.Attrs.Names("over")
	for _, a := range k.Root.Args[0].Type.Axes {
		for _, n := range over {
			if a.Name == n {
				k.Reduce = append(k.Reduce, a)
			}
		}
	}
	after := map[*ir.Value]bool{k.Root.Result(): true}
	for _, o := range body {
		for _, a := range o.Args {
			after[o.Result()] = after[o.Result()] || after[a]
		}
	}
	var mark func(v *ir.Value, p Part) error
	mark = func(v *ir.Value, p Part) error {
		if _, ok := k.Views[v]; ok || v.Def == nil {
			return nil
		}
		if after[v] {
			return fmt.Errorf("the contraction depends on its own result")
		}
		if old, ok := k.Part[v.Def]; ok && old != p {
			return fmt.Errorf("%s is in the prologue of both operands", v.Def.Name)
		}
		k.Part[v.Def] = p
		for _, a := range v.Def.Args {
			if err := mark(a, p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := mark(k.Root.Args[0], PartLeft); err != nil {
		return err
	}
	if err := mark(k.Root.Args[1], PartRight); err != nil {
		return err
	}
	for _, o := range body {
		if _, ok := k.Part[o]; ok {
			continue
		}
		k.Part[o] = PartEpilogue
		if !subspace(o.Result().Type.Axes, k.Space) {
			return fmt.Errorf("%s has axes beyond the contraction's: %s", o.Name, o.Result().Type)
		}
	}
	for _, r := range k.F.Results {
		if r.Value.Def == nil || k.Part[r.Value.Def] < PartRoot || !SameSpace(r.Value.Type.Axes, k.Space) {
			return fmt.Errorf("result %s is not over the contraction's axes", r.Value.Type)
		}
	}
	k.Contraction = k.contraction()
	return nil
}

// SameSpace reports whether both have the same axes, in any order.
func SameSpace(a, b []ir.Axis) bool { return len(a) == len(b) && subspace(a, b) }

func subspace(a, b []ir.Axis) bool {
next:
	for _, x := range a {
		for _, y := range b {
			if x.Name == y.Name && x.Size == y.Size {
				continue next
			}
		}
		return false
	}
	return true
}
