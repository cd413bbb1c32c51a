package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// dropDead leaves out operations that nothing reads: those that [apart]
// replaced, and those of modules that were not simplified, which would give a
// kernel a shape that none of its results has. Exchanges stay, as others take
// part in them.
func dropDead(f *ir.Func) {
	f.DropDead(func(o *ir.Op) bool { return len(o.Results) == 0 || op.Of(o).Class == op.Collective })
}

// materializeViews makes copies where a view cannot do: of the operand of a
// view that strides cannot express (a merge of axes that are not adjacent in
// storage), of views that are results of the function, and of views that
// collectives read. A copy is a cast to the same dtype.
func materializeViews(f *ir.Func) []*ir.Op {
	strided := map[*ir.Value]op.Strided{}
	at := func(v *ir.Value) op.Strided {
		if s, ok := strided[v]; ok {
			return s
		}
		return op.Dense(v.Type)
	}
	var out, made []*ir.Op
	var run *ir.Run // that operations are in, and where it begins in out
	head := 0
	b := op.Builder{F: f, Sink: &made}
	type copy struct { // in the instances of a stack, or outside
		of   *ir.Value
		in   *ir.Stack
		task *ir.Task
	}
	copied := map[copy]*ir.Value{}
	dense := func(o *ir.Op, v *ir.Value) *ir.Value {
		k := copy{v, v.In(), o.Task}
		if copied[k] == nil {
			b.Scope, b.Pos, b.Slot = o.Scope, o.Pos, ir.Slot{Task: o.Task}
			if k.in != nil {
				b.Slot.Run = o.Run
			}
			copied[k] = b.EmitStated(op.Cast, ir.A("to", ir.Name(v.Type.DType.String())), v)
			if k.in == nil && run != nil { // once, before the instances that read it
				out = slices.Insert(out, head, made...)
				head += len(made)
			} else {
				out = append(out, made...)
			}
			made = nil
		}
		return copied[k]
	}
	results := map[*ir.Value]bool{}
	for _, r := range f.Results {
		results[r.Value] = true
	}
	replaced := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		if o.Run != run {
			run, head = o.Run, len(out)
		}
		if alone(o) {
			for i, a := range o.Args {
				if _, view := strided[a]; view {
					o.Args[i] = dense(o, a)
				}
			}
		}
		if !op.CanView(o) {
			out = append(out, o)
			continue
		}
		s, ok := op.View(o, at(o.Args[0]))
		if !ok {
			o.Args[0] = dense(o, o.Args[0])
			s, _ = op.View(o, op.Dense(o.Args[0].Type))
		}
		strided[o.Result()] = s
		out = append(out, o)
		if results[o.Result()] {
			replaced[o.Result()] = dense(o, o.Result())
		}
	}
	for i, r := range f.Results {
		if c := replaced[r.Value]; c != nil {
			f.Results[i].Value = c
		}
	}
	return out
}

const (
	splitAbove = 1 << 14 // elements reduced to a few before a split pays
	splitKept  = 16      // "a few"
	freeOps    = 12      // operations that a free value may be made of
	maskOps    = 1 << 8  // the same of one that an attention reads
	againBytes = 4096    // smaller values are stored: reading them costs nothing
	againFlops = 64      // per element, of a value that is rematerialized
	packFlops  = 8       // the same where a contraction packs it
	cheapFlops = 4       // per element, of work that may be repeated
	smallLeaf  = 8       // a leaf this many times smaller than the value is free
)

// splitReductions cuts a large reduction to a few elements in two, so that the
// first has one independent part per element of its outermost axis: the parts,
// and with them the result, do not depend on the number of threads.
func splitReductions(f *ir.Func) {
	var out []*ir.Op
	b := op.Builder{F: f, Sink: &out}
	replaced := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		if op.Of(o).Class == op.Reduction && len(o.Attrs.Names("over")) == 0 {
			b.Scope, b.Pos, b.Slot = o.Scope, o.Pos, ir.Slot{Run: o.Run, Task: o.Task}
			replaced[o.Result()] = b.EmitStated(op.Cast, ir.A("to", ir.Name(o.Args[0].Type.DType.String())), o.Args[0])
			continue
		}
		first, rest := splitAxes(o)
		if first == "" {
			out = append(out, o)
			continue
		}
		b.Scope, b.Pos, b.Slot = o.Scope, o.Pos, ir.Slot{Run: o.Run, Task: o.Task}
		inner := b.EmitStated(o.Name, o.Attrs.With("over", ir.Names(rest)), o.Args[0])
		replaced[o.Result()] = b.EmitStated(o.Name, o.Attrs.With("over", ir.Names{first}), inner)
	}
	f.Ops = out
	f.Replace(replaced)
}

func splitAxes(o *ir.Op) (first string, rest []string) {
	if op.Of(o).Class != op.Reduction {
		return "", nil
	}
	in := o.Args[0].Type
	if in.Elems() < splitAbove || o.Result().Type.Elems() > splitKept {
		return "", nil
	}
	over := map[string]bool{}
	for _, n := range o.Attrs.Names("over") {
		over[n] = true
	}
	for _, a := range in.Axes {
		switch {
		case !over[a.Name]:
		case first == "" && a.Size > 1:
			first = a.Name
		default:
			rest = append(rest, a.Name)
		}
	}
	if len(rest) == 0 {
		return "", nil
	}
	return first, rest
}
