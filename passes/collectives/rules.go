package collectives

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// rule is one way to say the same with fewer bytes or fewer operations.
type rule struct {
	name string
	// before and after say it for a reader; A and B are axes, L, M, N disjoint lists
	// of mesh axes.
	before, after string
	reason        string
	// apply gives what stands for o's result, and emits what computes it; nil
	// where the rule does not fit.
	apply func(x *rewriter, o *ir.Op) *ir.Value
}

// rules are tried in this order. The value between two operations must have no
// other reader, unless nothing is sent instead.
var rules []rule

func init() {
	rules = []rule{
		{"alone", "C over a mesh axis of size 1", "x, or C over the others",
			"a device has nothing to say to itself", alone},
		{"same", "C(x), C(x)", "C(x)",
			"both are in one half of the step, so the result is there", same},
		{"undo", "gather(slice(x)), slice(gather(x)), all_to_all(all_to_all(x)) back", "x",
			"the second takes back what the first did", undo},
		{"join", "C over N (C over M (x)) along A", "C over (M, N) (x)",
			"one operation sends no more than two: of sums, less", join},
		{"scatter", "slice over M, along A (all_reduce over L, M (x))", "all_reduce over L (reduce_scatter over M, along A (x))",
			"of the sum, a device needs its part", scatter},
		{"regroup", "slice over M, along B (all_gather over L, M, along A (x))", "all_gather over L (all_to_all over M, from A to B (x))",
			"of the whole, a device needs its part", regroup},
		{"fewer", "slice over L, along A (all_gather over L, M, along A (x))", "all_gather over M (x)",
			"only what the part lacks is gathered", fewer},
		{"redirect", "C over L, along B (all_to_all over L, from A to B (x))", "C over L, along A (x)",
			"the way through another axis is not needed", redirect},
		{"sum", "all_gather over L, along A (reduce_scatter over L, along A (x))", "all_reduce over L (x)",
			"the parts are not read, so it is one sum for all: the same bytes in one operation", sum},
		{"slice first", "slice over M, along B (C over L, along A (x))", "C over L (slice over M (x))",
			"C then moves a part only", sliceFirst},
		{"gather last", "C over L, along B (all_gather over M, along A (x))", "all_gather over M (C over L (x))",
			"C then moves a part only", gatherLast},
		{"slice through", "slice(f(…, C(x))), f elementwise", "f(…, slice(C(x)))",
			"so that slice meets C", sliceThrough},
		{"narrow", "C(widen(x)), narrow(C(x)), C moves alone", "widen(C(x)), C(narrow(x))",
			"what is only moved, is moved in the dtype of fewer bytes", narrow},
	}
}

// names are the attributes that rules compare.
func over(o *ir.Op) []string { return o.Attrs.Names("over") }

func axis(o *ir.Op) string { return o.Attrs.Text("axis") }

// before is the operation that computes o's operand, if it is of one of these
// kinds (any collective, where none is named) and runs in the same slot of a
// pipeline.
func before(o *ir.Op, kinds ...string) *ir.Op {
	p := o.Args[0].Def
	if p == nil || p.Slot != o.Slot || len(kinds) == 0 && !collective(p) || len(kinds) > 0 && !slices.Contains(kinds, p.Name) {
		return nil
	}
	return p
}

// allowed reports whether no rule of the layout forbids collectives of the kind,
// or the program has had one here.
func (x *rewriter) allowed(kind string, had ...*ir.Op) bool {
	return !slices.Contains(x.l.forbidden, kind) || slices.ContainsFunc(had, func(o *ir.Op) bool { return o.Name == kind })
}

// emit adds collective `kind` over these mesh axes; kv are its other attributes.
// Without mesh axes it is v.
func (x *rewriter) emit(kind string, v *ir.Value, over []string, kv ...any) *ir.Value {
	if len(over) == 0 {
		return v
	}
	attrs := ir.A(kv...).With("over", ir.Names(slices.Clone(over)))
	if op.Lookup(kind).Takes("parts") {
		attrs = attrs.With("parts", ir.Int(Parts(x.m, over)))
	}
	return x.b.Emit(kind, attrs, v)
}

// again emits o on another operand.
func (x *rewriter) again(o *ir.Op, v *ir.Value) *ir.Value {
	return x.b.Emit(o.Name, o.Attrs, v)
}

// disjoint reports whether no mesh axis is in both lists.
func disjoint(a, b []string) bool {
	return !slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}

// without is a less what is in b; false where b has more than a.
func without(a, b []string) (rest []string, ok bool) {
	for _, m := range b {
		if !slices.Contains(a, m) {
			return nil, false
		}
	}
	for _, m := range a {
		if !slices.Contains(b, m) {
			rest = append(rest, m)
		}
	}
	return rest, true
}

// axes are those that a collective cuts or makes whole.
func axes(o *ir.Op) (out []string) {
	for _, k := range []string{"axis", "to"} {
		if n := o.Attrs.Text(k); n != "" {
			out = append(out, n)
		}
	}
	return out
}
