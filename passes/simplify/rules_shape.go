package simplify

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
		{"transpose-same", "an order that is there already", []string{op.Transpose}, transposeSame},
		{"transpose-chain", "the last order counts", []string{op.Transpose}, transposeChain},
		{"transpose-dot", "a dot may leave its axes in any order", []string{op.Transpose}, transposeDot},
		{"transpose-broadcast", "a broadcast may leave its axes in any order", []string{op.Transpose}, transposeBroadcast},
		{"rename-chain", "renamings compose, and may compose to nothing", []string{op.Rename}, renameChain},
		{"rename-broadcast", "rename the new axes where they are made", []string{op.Rename}, renameBroadcast},
		{"broadcast-same", "a broadcast to the axes that are there", []string{op.Broadcast}, broadcastSame},
		{"broadcast-chain", "one broadcast adds all axes", []string{op.Broadcast}, broadcastChain},
		{"merge-split", "a split undone, and a merge undone", []string{op.Merge, op.Split}, mergeSplit},
		{"slice-all", "a slice of everything", []string{op.Slice}, sameType},
		{"pad-none", "a padding of nothing", []string{op.Pad}, sameType},
		{"concat-one", "a concatenation of one", []string{op.Concat}, sameType},
		{"pads-tile", "the sum of paddings of neighbours is their concatenation: the gradient of taking slices", []string{op.Add}, padsTile},
		{"reduce-none", "a reduction over no axis", []string{op.ReduceSum, op.ReduceMax}, sameType},
		{"reduce-chain", "nested reductions are one", []string{op.ReduceSum, op.ReduceMax}, reduceChain},
		{"reduce-broadcast", "reduce first; n copies sum to n times one, and their maximum is one", []string{op.ReduceSum, op.ReduceMax}, reduceBroadcast},
		{"reduce-factor", "the sum of c * x is c times the sum, and so for -x", []string{op.ReduceSum}, reduceFactor},
		{"dot-transpose", "a dot reads its operands in any order", []string{op.Dot}, dotTranspose},
		{"align", "axes align by name: no order, no broadcast of an operand is needed that leaves the result's type", nil, align},
		{"broadcast-late", "compute on few elements, broadcast the result", nil, broadcastLate},
	})
}

func transposeSame(_ *rewriter, o *ir.Op) *ir.Value {
	if o.Args[0].Type.SameShape(o.Results[0].Type) {
		return o.Args[0]
	}
	return nil
}

func transposeChain(r *rewriter, o *ir.Op) *ir.Value {
	if from(o.Args[0], op.Transpose) {
		return r.emit(o, op.Transpose, o.Attrs, o.Args[0].Def.Args[0])
	}
	return nil
}

// transposeDot applies where nobody else reads the dot, which would otherwise
// be computed twice.
func transposeDot(r *rewriter, o *ir.Op) *ir.Value {
	d := o.Args[0]
	if !from(d, op.Dot) {
		return nil
	}
	if r.uses[d] > 1 {
		return r.refuse(o, readByOthers)
	}
	return r.emit(d.Def, op.Dot, d.Def.Attrs.With("out", ir.Names(o.Results[0].Type.Names())), d.Def.Args...)
}

func transposeBroadcast(r *rewriter, o *ir.Op) *ir.Value {
	if !from(o.Args[0], op.Broadcast) {
		return nil
	}
	return r.emit(o, op.Broadcast, ir.A("axes", sizes(o.Results[0].Type)), o.Args[0].Def.Args[0])
}

func renameChain(r *rewriter, o *ir.Op) *ir.Value {
	if o.Args[0].Type.SameShape(o.Results[0].Type) {
		return o.Args[0]
	}
	if !from(o.Args[0], op.Rename) {
		return nil
	}
	x := o.Args[0].Def.Args[0]
	var pairs ir.Pairs
	for i, a := range x.Type.Axes {
		if to := o.Results[0].Type.Axes[i].Name; to != a.Name {
			pairs = append(pairs, ir.Pair{From: a.Name, To: to})
		}
	}
	if len(pairs) == 0 {
		return x
	}
	return r.emit(o, op.Rename, ir.A("axes", pairs), x)
}

// padsTile joins pad(x) + pad(y) where x ends at the position at which y
// begins; what lies outside of both stays padded.
func padsTile(r *rewriter, o *ir.Op) *ir.Value {
	x, y := o.Args[0], o.Args[1]
	if !from(x, op.Pad) || !from(y, op.Pad) {
		return nil
	}
	if r.uses[x] > 1 || r.uses[y] > 1 {
		return r.refuse(o, readByOthers)
	}
	axis := x.Def.Attrs.Text("axis")
	if y.Def.Attrs.Text("axis") != axis || !x.Type.SameShape(y.Type) {
		return nil
	}
	low := func(v *ir.Value) int64 { return v.Def.Attrs.Int("low", 0) }
	if low(y) < low(x) {
		x, y = y, x
	}
	a, b := x.Def.Args[0], y.Def.Args[0]
	if low(x)+int64(a.Type.Size(axis)) != low(y) {
		return r.refuse(o, "the slices are not neighbours")
	}
	both := r.emit(o, op.Concat, ir.A("axis", ir.Name(axis)), a, b)
	high := y.Def.Attrs.Int("high", 0)
	if both == nil || low(x) == 0 && high == 0 {
		return both
	}
	return r.emit(o, op.Pad, ir.A("axis", ir.Name(axis), "low", ir.Int(low(x)), "high", ir.Int(high)), both)
}

func renameBroadcast(r *rewriter, o *ir.Op) *ir.Value {
	if !from(o.Args[0], op.Broadcast) {
		return nil
	}
	x, big := o.Args[0].Def.Args[0], o.Args[0].Type
	var pairs ir.Pairs
	for i, a := range big.Axes {
		if to := o.Results[0].Type.Axes[i].Name; to != a.Name && x.Type.Has(a.Name) {
			pairs = append(pairs, ir.Pair{From: a.Name, To: to})
		}
	}
	if len(pairs) > 0 {
		if x = r.emit(o, op.Rename, ir.A("axes", pairs), x); x == nil {
			return nil
		}
	}
	return r.emit(o, op.Broadcast, ir.A("axes", sizes(o.Results[0].Type)), x)
}

func broadcastSame(r *rewriter, o *ir.Op) *ir.Value {
	if o.Args[0].Type.Rank() != o.Results[0].Type.Rank() {
		return nil
	}
	return r.keep(o, o.Args[0])
}

func broadcastChain(r *rewriter, o *ir.Op) *ir.Value {
	if x := o.Args[0]; from(x, op.Broadcast) || from(x, op.Transpose) {
		return r.emit(o, op.Broadcast, o.Attrs, x.Def.Args[0])
	}
	return nil
}

func mergeSplit(_ *rewriter, o *ir.Op) *ir.Value {
	undone := op.Split
	if o.Name == op.Split {
		undone = op.Merge
	}
	if x := o.Args[0]; from(x, undone) && x.Def.Args[0].Type.Equal(o.Results[0].Type) {
		return x.Def.Args[0]
	}
	return nil
}

// sameType matches an operation that moves or reduces nothing, which its type
// shows.
func sameType(_ *rewriter, o *ir.Op) *ir.Value {
	if len(o.Args) == 1 && o.Args[0].Type.Equal(o.Results[0].Type) {
		return o.Args[0]
	}
	return nil
}

func reduceChain(r *rewriter, o *ir.Op) *ir.Value {
	x := o.Args[0]
	if !from(x, o.Name) {
		return nil
	}
	if r.uses[x] > 1 {
		return r.refuse(o, readByOthers)
	}
	over := slices.Concat(x.Def.Attrs.Names("over"), o.Attrs.Names("over"))
	return r.emit(o, o.Name, o.Attrs.With("over", ir.Names(over)), x.Def.Args[0])
}

func reduceBroadcast(r *rewriter, o *ir.Op) *ir.Value {
	big := o.Args[0]
	if !from(big, op.Broadcast) {
		return nil
	}
	x := big.Def.Args[0]
	copies := 1
	var over ir.Names
	for _, n := range o.Attrs.Names("over") {
		if x.Type.Has(n) {
			over = append(over, n)
		} else {
			copies *= big.Type.Size(n)
		}
	}
	if d := big.Type.DType; copies > 1 && o.Name == op.ReduceSum && (d.Bits() < 32 || copies >= 1<<24) {
		return r.refuse(o, "%s may not hold %d, the number of copies", d, copies)
	}
	if len(over) > 0 {
		if x = r.emit(o, o.Name, o.Attrs.With("over", over), x); x == nil {
			return nil
		}
	}
	if o.Name == op.ReduceSum && copies > 1 {
		x = r.emit(o, op.Mul, nil, x, r.constant(o, x.Type.DType, float64(copies)))
	}
	return r.keep(o, x)
}

// reduceFactor leaves a product that others read where it is.
func reduceFactor(r *rewriter, o *ir.Op) *ir.Value {
	x := o.Args[0]
	if !x.Type.DType.IsFloat() {
		return nil
	}
	if from(x, op.Neg) {
		if r.uses[x] > 1 {
			return r.refuse(o, readByOthers)
		}
		return r.emit(o, op.Neg, nil, r.emit(o, o.Name, o.Attrs, x.Def.Args[0]))
	}
	if !from(x, op.Mul) {
		return nil
	}
	for i, y := range x.Def.Args {
		if c, ok := splat(x.Def.Args[1-i]); ok && normal(c) && y.Type.SameShape(x.Type) {
			if r.uses[x] > 1 {
				return r.refuse(o, readByOthers)
			}
			sum := r.emit(o, o.Name, o.Attrs, y)
			return r.emit(o, op.Mul, nil, sum, r.constant(o, y.Type.DType, c))
		}
	}
	return nil
}

func dotTranspose(r *rewriter, o *ir.Op) *ir.Value {
	args := slices.Clone(o.Args)
	for i, a := range args {
		if from(a, op.Transpose) {
			args[i] = a.Def.Args[0]
		}
	}
	if slices.Equal(args, o.Args) {
		return nil
	}
	attrs := o.Attrs
	if t, ok := infer(o, args, attrs); !ok || !t.Equal(o.Results[0].Type) {
		attrs = attrs.With("out", ir.Names(o.Results[0].Type.Names()))
	}
	return r.emit(o, op.Dot, attrs, args...)
}

// byName reports whether operands of the class are found by the names of
// their axes, whatever their order.
func byName(c op.Class) bool { return c == op.Elementwise || c == op.Reduction }

// align drops one by one the transposes and broadcasts of operands without
// which the result has the same type.
func align(r *rewriter, o *ir.Op) *ir.Value {
	if !byName(op.Of(o).Class) {
		return nil
	}
	args := slices.Clone(o.Args)
	for i := range args {
		for from(args[i], op.Transpose) || op.Of(o).Class == op.Elementwise && from(args[i], op.Broadcast) {
			was := args[i]
			args[i] = was.Def.Args[0]
			if t, ok := infer(o, args, o.Attrs); !ok || !t.Equal(o.Results[0].Type) {
				args[i] = was
				break
			}
		}
	}
	if slices.Equal(args, o.Args) {
		return nil
	}
	return r.emit(o, o.Name, o.Attrs, args...)
}

func broadcastLate(r *rewriter, o *ir.Op) *ir.Value {
	if op.Of(o).Class != op.Elementwise {
		return nil
	}
	args := slices.Clone(o.Args)
	for i := range args {
		for from(args[i], op.Broadcast) {
			args[i] = args[i].Def.Args[0]
		}
	}
	if slices.Equal(args, o.Args) {
		return nil
	}
	t, ok := infer(o, args, o.Attrs)
	if !ok || t.Rank() >= o.Results[0].Type.Rank() {
		return nil
	}
	return r.keep(o, r.emit(o, o.Name, o.Attrs, args...))
}
