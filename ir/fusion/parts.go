package fusion

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// Parts is a kernel as two: one sums the contracted axis of its products in parts, each
// on its own, and one adds the parts up, in their order, and does what is behind.
//
//	%c = dot %a, %b over=(k)          %p = dot %a', %b' out=(part, …) over=(k)
//	%d = add %c, %bias           →    ── in memory ──
//	                                  %c = reduce_sum %p over=(part)
//	                                  %d = add %c, %bias
//
// Here a' and b' have the axis k in two, part and the rest, which is a view. So few
// results of long sums are work for many tasks ("split-K"), and how many parts there are
// decides the order of the sum, whatever the number of threads.
type Parts struct {
	// Products has the partial sums as its first results, and then those of the whole
	// kernel that no cut product is behind. Sum has the partial sums as its first
	// arguments, and the other results.
	Products, Sum *ir.Func
	N             int // how many results of Products are partial sums
	// What the others are of the whole kernel's.
	ProductArgs, SumArgs       []int
	ProductResults, SumResults []int
}

// InParts cuts the products of kernel f, or of its sections, for each of which parts says
// into how many; 1 leaves one as it is, and so stays a section that cannot be cut. It is
// nil where all stay. The error says why f, which is as it was, cannot be cut.
func InParts(f *ir.Func, parts func(*Kernel) int64) (*Parts, error) {
	k, err := Analyze(f)
	if err != nil {
		return nil, err
	}
	roots := map[*ir.Op]int64{}
	for i, s := range k.Apart() {
		if s.Class != Gemm {
			continue
		}
		n := parts(s)
		if n > 1 && k.Class == Horizontal {
			if _, err := inParts(s, map[*ir.Op]int64{s.Root: n}); err != nil {
				n = 1
			}
		}
		if n > 1 {
			roots[k.root(i)] = n
		}
	}
	if len(roots) == 0 {
		return nil, nil
	}
	return inParts(k, roots)
}

// inParts cuts the products roots, each into so many parts.
func inParts(k *Kernel, roots map[*ir.Op]int64) (*Parts, error) {
	c := &cutting{k: k, parts: roots, sums: map[*ir.Op]*ir.Value{}}
	out := &Parts{N: len(roots)}
	if err := c.products(out); err != nil {
		return nil, err
	}
	if err := c.sum(out); err != nil {
		return nil, err
	}
	return out, nil
}

// root is the operation of f that is the root of section i.
func (k *Kernel) root(i int) *ir.Op {
	if k.Class != Horizontal {
		return k.Root
	}
	of, _ := k.split()
	for _, o := range k.F.Ops {
		if of[o] == i && op.Of(o).Class == op.Contraction {
			return o
		}
	}
	return nil
}

// cutting is the state of cutting one kernel.
type cutting struct {
	k     *Kernel
	parts map[*ir.Op]int64
	sums  map[*ir.Op]*ir.Value // of each product the partial sums, as a result of Products
}

// products makes the function of the partial sums.
func (c *cutting) products(p *Parts) error {
	w := newWriter(c.k.F)
	for _, o := range c.k.F.Ops {
		n, cut := c.parts[o]
		if !cut {
			continue
		}
		sum, err := c.product(w, o, n)
		if err != nil {
			return err
		}
		c.sums[o] = sum
		w.f.Results = append(w.f.Results, ir.Result{Value: sum, Role: ir.RoleOut})
	}
	late := c.late()
	for i, r := range c.k.F.Results {
		if !late[r.Value] {
			p.ProductResults = append(p.ProductResults, i)
			w.f.Results = append(w.f.Results, ir.Result{Value: w.copy(r.Value), Role: r.Role, Path: r.Path})
		}
	}
	p.ProductArgs = w.arguments()
	var err error
	p.Products, err = w.finish(c.k.Class)
	return err
}

// product is o with its sum in n parts.
func (c *cutting) product(w *writer, o *ir.Op, n int64) (*ir.Value, error) {
	axis := ""
	for _, a := range o.Args[0].Type.Axes {
		if slices.Contains(o.Attrs.Names("over"), a.Name) && int64(a.Size)%n == 0 {
			axis = a.Name
			break
		}
	}
	if axis == "" {
		return nil, fmt.Errorf("no axis that `%s` sums over has %d equal parts", o.Name, n)
	}
	x := &operands{c: c, w: w, axis: axis, part: c.fresh(), n: int(n), at: map[*ir.Value]*ir.Value{}}
	var args []*ir.Value
	for _, v := range o.Args {
		v, err := x.operand(v)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	t := o.Result().Type
	out := ir.Names(append([]string{x.part}, t.Names()...))
	return w.b.EmitStated(o.Name, o.Attrs.With("out", out).With("to", ir.Name(t.DType.Acc().String())), args...), nil
}

// Parted reports whether product k is of the partial sums of another one.
func (k *Kernel) Parted() bool {
	out := k.Root.Result().Type.Axes
	return len(out) > 0 && slices.ContainsFunc(k.F.Ops, func(o *ir.Op) bool {
		into := o.Attrs.Sizes("into")
		return o.Name == op.Split && len(into) == 2 && into[0].Name == out[0].Name && strings.HasPrefix(into[0].Name, partName)
	})
}

// partName is how the axis of the parts is called.
const partName = "part"

// fresh is a name that no axis of the kernel has.
func (c *cutting) fresh() string {
	name := partName
	has := func(v *ir.Value) bool { return v.Type.Has(name) }
	for {
		taken := slices.ContainsFunc(c.k.F.Args, func(a *ir.Arg) bool { return has(a.Value) }) ||
			slices.ContainsFunc(c.k.F.Ops, func(o *ir.Op) bool { return slices.ContainsFunc(o.Results, has) })
		if !taken {
			return name
		}
		name += "_"
	}
}

// operands are those of a product, with the contracted axis in two.
type operands struct {
	c          *cutting
	w          *writer
	axis, part string
	n          int
	at         map[*ir.Value]*ir.Value
}

// operand is v with the axis in two, where it has it: views are cut, and what is
// elementwise is done on them.
func (x *operands) operand(v *ir.Value) (*ir.Value, error) {
	if !v.Type.Has(x.axis) {
		return x.w.copy(v), nil
	}
	if x.at[v] != nil {
		return x.at[v], nil
	}
	if _, view := x.c.k.Views[v]; view {
		size := v.Type.Axes[v.Type.Index(x.axis)].Size
		into := ir.Sizes{{Name: x.part, N: x.n}, {Name: x.axis, N: size / x.n}}
		x.at[v] = x.w.b.EmitStated(op.Split, ir.A("axis", ir.Name(x.axis), "into", into), x.w.copy(v))
		return x.at[v], nil
	}
	o := v.Def
	if op.Of(o).Class != op.Elementwise || op.DependsOnDevice(o) {
		return nil, fmt.Errorf("`%s` along `%s` before a product", o.Name, x.axis)
	}
	var args []*ir.Value
	for _, a := range o.Args {
		a, err := x.operand(a)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	x.at[v] = x.w.b.EmitStated(o.Name, o.Attrs, args...)
	return x.at[v], nil
}

// late are the values that a cut product is behind.
func (c *cutting) late() map[*ir.Value]bool {
	late := map[*ir.Value]bool{}
	for _, o := range c.k.F.Ops {
		_, is := c.parts[o]
		if is || slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return late[v] }) {
			late[o.Result()] = true
		}
	}
	return late
}

// sum makes the function that adds the parts up.
func (c *cutting) sum(p *Parts) error {
	w := newWriter(c.k.F)
	for _, o := range c.k.F.Ops {
		partial := c.sums[o]
		if partial == nil {
			continue
		}
		v := w.f.AddArg(partial.Type.Clone(), ir.RoleIn, "", nil, diag.Pos{})
		sum := w.b.EmitStated(op.ReduceSum, ir.A("over", ir.Names{partial.Type.Axes[0].Name}), v)
		if want := o.Result().Type.DType; want != sum.Type.DType {
			sum = w.b.EmitStated(op.Cast, ir.A("to", ir.Name(want.String())), sum)
		}
		w.at[o.Result()] = sum
	}
	late := c.late()
	for i, r := range c.k.F.Results {
		if late[r.Value] {
			p.SumResults = append(p.SumResults, i)
			w.f.Results = append(w.f.Results, ir.Result{Value: w.copy(r.Value), Role: r.Role, Path: r.Path})
		}
	}
	p.SumArgs = w.arguments()
	class := c.k.Class
	if p.N == 1 {
		class = Column
	}
	var err error
	p.Sum, err = w.finish(class)
	return err
}
