package fusion

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// writer makes a kernel of some of the operations of another one.
type writer struct {
	from, f *ir.Func
	b       op.Builder
	at      map[*ir.Value]*ir.Value
	args    []int // which argument of from each one is, but for those that are new
}

func newWriter(from *ir.Func) *writer {
	f := &ir.Func{Class: ir.Kernel}
	return &writer{from: from, f: f, b: op.Builder{F: f}, at: map[*ir.Value]*ir.Value{}}
}

// copy is v in the new kernel, with all that it is made of.
func (w *writer) copy(v *ir.Value) *ir.Value {
	if w.at[v] != nil {
		return w.at[v]
	}
	if v.Def == nil {
		w.at[v] = w.argument(slices.IndexFunc(w.from.Args, func(a *ir.Arg) bool { return a.Value == v }))
		return w.at[v]
	}
	o := v.Def
	var args []*ir.Value
	for _, a := range o.Args {
		args = append(args, w.copy(a))
	}
	n := w.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	w.f.Ops = append(w.f.Ops, n)
	for i, r := range o.Results {
		w.at[r] = n.Results[i]
	}
	return w.at[v]
}

// argument is the one that the kernel of which this is made has at n.
func (w *writer) argument(n int) *ir.Value {
	a := w.from.Args[n]
	w.args = append(w.args, n)
	return w.f.AddArg(a.Value.Type.Clone(), a.Role, a.Path, nil, a.Pos)
}

// arguments puts those that the other kernel has in its order, behind new ones, and
// says which they are. What depends on the device gets its coordinates.
func (w *writer) arguments() []int {
	if slices.ContainsFunc(w.f.Ops, op.DependsOnDevice) {
		w.f.Attrs = w.f.Attrs.With("mesh", w.from.Attrs.Get("mesh"))
		if at := slices.IndexFunc(w.from.Args, func(a *ir.Arg) bool { return a.Path == Coordinates }); at >= 0 && !slices.Contains(w.args, at) {
			w.argument(at)
		}
	}
	own := w.f.Args[len(w.f.Args)-len(w.args):] // new ones were first
	of := map[int]*ir.Arg{}
	for i, at := range w.args {
		of[at] = own[i]
	}
	slices.Sort(w.args)
	for i, at := range w.args {
		own[i] = of[at]
	}
	return w.args
}

// finish is the kernel, of the class or of that which it is found to be.
func (w *writer) finish(class Class) (*ir.Func, error) {
	w.f.Attrs = w.f.Attrs.With("kind", ir.Name(string(class)))
	w.f.Renumber()
	for _, o := range w.f.Ops {
		if types, err := op.States(o); err != nil || !op.SameState(types[0], o.Result().Type) {
			return nil, fmt.Errorf("`%s` has no sharding in parts", o.Name)
		}
	}
	k, err := Analyze(w.f)
	if err != nil {
		return nil, err
	}
	w.f.Attrs = w.f.Attrs.With("kind", ir.Name(string(k.Class)))
	return w.f, nil
}
