package average

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// kind says what a value is of the batch's rows.
type kind uint8

const (
	fixed   kind = iota // depends on no row
	rows                // has one part for each
	sum                 // is a sum over them
	related             // depends on which are together, or on where they are
)

// state is what a value is of the rows.
type state struct {
	kind kind
	axis string // along which rows are
}

// analysis is what all values of a function are of the rows of its batch, in parts of
// consecutive rows.
type analysis struct {
	f     *ir.Func
	parts int
	batch map[string]bool // axes along which rows are
	of    map[*ir.Value]state
	enter map[*ir.Value]state // of what enters instances, where it is not that of the first one
}

// analyze finds the states of f's values, of a batch in so many parts.
func analyze(f *ir.Func, parts int) *analysis {
	a := &analysis{f: f, parts: parts, enter: map[*ir.Value]state{}}
	for again := true; again; {
		a.batch, a.of = map[string]bool{}, map[*ir.Value]state{}
		for _, x := range f.Args {
			if x.Role == ir.RoleData && x.Value.Type.Rank() > 0 {
				axis := x.Value.Type.Axes[0].Name
				a.batch[axis], a.of[x.Value] = true, state{rows, axis}
			}
		}
		again = false
		for _, o := range f.Ops {
			a.see(o)
			again = again || o.Name == op.Leave && a.left(o)
		}
	}
	return a
}

// left notes what enters the instances of a stack where it is not what leaves them: a sum
// where it starts at zero, if that is what then leaves; else what is related from the
// second instance on.
func (a *analysis) left(o *ir.Op) (changed bool) {
	in, out := o.Args[0], a.of[o.Args[1]]
	was := a.of[in]
	if was == out {
		return false
	}
	next := state{kind: related}
	if _, tried := a.enter[in]; !tried && was.kind == fixed && in.Def != nil && constant(in.Def.Args[0], 0) {
		next = state{kind: sum}
	}
	a.enter[in] = next
	return was != next
}

// see finds the states of o's results.
func (a *analysis) see(o *ir.Op) {
	if s, ok := a.enter[firstResult(o)]; ok {
		a.of[o.Results[0]] = s
		return
	}
	all := a.states(o)
	for i, r := range o.Results {
		a.of[r] = all[i]
		if all[i].kind == rows {
			a.batch[all[i].axis] = true
		}
	}
}

func firstResult(o *ir.Op) *ir.Value {
	if len(o.Results) == 0 {
		return nil
	}
	return o.Results[0]
}

// states are those of o's results.
func (a *analysis) states(o *ir.Op) []state {
	out := make([]state, len(o.Results))
	if f := a.factor(o); f != nil {
		for j, axis := range f.Results {
			switch {
			case axis != "":
				out[j] = state{rows, axis}
			case f.Reduction == "sum":
				out[j] = state{kind: sum}
			default:
				out[j] = state{kind: related}
			}
		}
		return out
	}
	s := state{kind: related}
	switch {
	case a.allFixed(o.Args) && !a.named(o):
		s = state{}
	case a.adds(o):
		s = state{kind: sum}
	}
	for j := range out {
		out[j] = s
	}
	return out
}

// factor is the factor along which o works on each part: every operand that has it is rows
// along it, and every other one depends on no row.
func (a *analysis) factor(o *ir.Op) *op.Factor {
	rule := op.Of(o).Shard(o)
	f, carried := op.RowFactor(o, rule, a.parts, func(v *ir.Value) string { return a.of[v].axis }, a.batch)
	if f == nil || !carried && op.Of(o).Class == op.Source {
		return nil // a source makes positions, or random numbers by position
	}
	for i, axis := range f.Args {
		s := a.of[o.Args[i]]
		if axis != "" && s != (state{rows, axis}) || axis == "" && s.kind != fixed {
			return nil
		}
	}
	return f
}

// named reports whether o makes or reads an axis of the batch.
func (a *analysis) named(o *ir.Op) bool {
	has := func(v *ir.Value) bool {
		return slices.ContainsFunc(v.Type.Axes, func(x ir.Axis) bool { return a.batch[x.Name] })
	}
	return slices.ContainsFunc(o.Args, has) || slices.ContainsFunc(o.Results, has)
}

func (a *analysis) allFixed(vs []*ir.Value) bool {
	return !slices.ContainsFunc(vs, func(v *ir.Value) bool { return a.of[v].kind != fixed })
}

// adds reports whether o makes a sum over rows of sums: it is linear in them, and nothing
// else depends on rows.
func (a *analysis) adds(o *ir.Op) bool {
	if o.Name == op.Cast || o.Name == op.Detach { // up to rounding, of which a sum of counts has none
		return a.of[o.Args[0]].kind == sum && o.Result().Type.DType.IsFloat()
	}
	if o.Name == op.Leave {
		return a.of[o.Args[1]].kind == sum && a.of[o.Args[0]].kind == sum
	}
	return slices.ContainsFunc(op.LinearIn(o), func(in []int) bool {
		for i, v := range o.Args {
			want := fixed
			if slices.Contains(in, i) {
				want = sum
			}
			if s := a.of[v].kind; s != want && !(want == sum && constant(v, 0)) {
				return false
			}
		}
		return true
	})
}

// constant reports whether v is that number.
func constant(v *ir.Value, x float64) bool {
	c, ok := constantOf(v)
	return ok && c == x
}

// constantOf is the number that v is.
func constantOf(v *ir.Value) (float64, bool) {
	for v.Def != nil && (v.Def.Name == op.Broadcast || v.Def.Name == op.Cast && v.Type.DType.IsFloat()) {
		v = v.Def.Args[0]
	}
	if v.Def == nil || v.Def.Name != op.Const {
		return 0, false
	}
	return v.Def.Attrs.Float("value", 0), true
}
