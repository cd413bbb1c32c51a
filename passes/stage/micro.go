package stage

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// state is what microbatches have of a value.
type state struct {
	part *ir.Value // one for each microbatch
	axis string    // the part is some rows of this axis (rows.go); empty where parts are partial sums
	kind string    // of partial sums: sum or max; or own
}

// own is the kind of what each microbatch has by itself, of which there is none of all (op.AttrOwn).
const own = "own"

// isOwn reports whether v is such.
func (s *splitter) isOwn(v *ir.Value) bool { return s.of[v] != nil && s.of[v].kind == own }

// splitter decides of each operation whether it works on one microbatch, and makes it do so.
type splitter struct {
	*tagger
	grid  *grid
	text  *text
	batch map[string]bool // axes of the batch's rows: of the fields, and what is made of these
	of    map[*ir.Value]*state
	whole map[*ir.Value]*ir.Value // what a cut or partial value becomes as a whole
	cuts  map[string]*ir.Value    // parts cut from whole values
	wide  map[string]*ir.Value    // those with an axis of microbatches
	late  map[*ir.Value]cause     // known only after the last microbatch
	// given are values that depend on the batch, on numbers of the step and on
	// constants alone. What needs one whole computes it from the whole batch,
	// before the first microbatch, on its own stage.
	given map[*ir.Value]bool
}

// text is the operations that have been written.
type text struct {
	out []*ir.Op
	// runs are those of microbatches; rest is what a run has once for all of them,
	// and heads the place in out where the run begins.
	runs  map[*ir.Run]*ir.Run
	rest  map[*ir.Run][]*ir.Op
	heads map[int][]*ir.Run
}

// run is what r is for a microbatch.
func (t *text) run(r *ir.Run) *ir.Run {
	if r == nil {
		return nil
	}
	if t.runs[r] == nil {
		t.runs[r] = &ir.Run{Stack: r.Stack, Down: r.Down}
	}
	return t.runs[r]
}

// ops are all operations, those that a run has once in front of it.
func (t *text) ops() []*ir.Op {
	ops := make([]*ir.Op, 0, len(t.out))
	for i := range len(t.out) + 1 {
		for _, run := range t.heads[i] {
			ops = append(ops, t.rest[run]...)
		}
		if i < len(t.out) {
			ops = append(ops, t.out[i])
		}
	}
	return ops
}

// microbatch rewrites f so that what depends on the batch works on one of its m
// parts, for each of them.
func microbatch(m *ir.Module, f *ir.Func, t *tagger) error {
	x := &text{runs: map[*ir.Run]*ir.Run{}, rest: map[*ir.Run][]*ir.Op{}, heads: map[int][]*ir.Run{}}
	s := &splitter{tagger: t, text: x, grid: &grid{f: f, names: namesFor(f), m: t.micro, shards: 1, at: t.at, b: op.Builder{F: f, Sink: &x.out}}, batch: map[string]bool{}, of: map[*ir.Value]*state{},
		whole: map[*ir.Value]*ir.Value{}, cuts: map[string]*ir.Value{}, wide: map[string]*ir.Value{}, late: map[*ir.Value]cause{}, given: givenOf(f)}
	f.Micro = t.micro
	if t.micro > 1 {
		if err := s.fields(m); err != nil {
			return err
		}
	}
	var run *ir.Run
	for _, o := range f.Ops {
		if run != o.Run {
			if run = o.Run; run != nil {
				x.heads[len(x.out)] = append(x.heads[len(x.out)], run)
			}
		}
		if err := s.operation(o); err != nil {
			return err
		}
	}
	for i, res := range f.Results {
		if s.of[res.Value] != nil {
			w, err := s.join(res.Value)
			if err != nil {
				return err
			}
			f.Results[i].Value = w
		}
	}
	f.Ops = x.ops()
	f.JoinRuns()
	accumulateEarly(f)
	return nil
}

// accumulateEarly moves what accumulates behind what it accumulates, so that a kernel
// can do both.
func accumulateEarly(f *ir.Func) {
	behind := map[*ir.Op][]*ir.Op{}
	moves := func(o *ir.Op) bool { return o.Accumulates() != "" && o.Args[0].Def.Run == o.Run }
	for _, o := range f.Ops {
		if moves(o) {
			d := o.Args[0].Def
			behind[d] = append(behind[d], o)
		}
	}
	ops := make([]*ir.Op, 0, len(f.Ops))
	for _, o := range f.Ops {
		if !moves(o) {
			ops = append(append(ops, o), behind[o]...)
		}
	}
	f.Ops = ops
}

// operation makes o one of each microbatch, or leaves it whole.
func (s *splitter) operation(o *ir.Op) error {
	s.sumFromZero(o)
	if s.ofAll(o) {
		if o.Name == op.Leave && s.of[o.Args[0]] == nil {
			return errApart
		}
		s.only(o)
		return nil
	}
	rule := op.Of(o).Shard(o)
	if o.Run != nil && !s.alike(o, rule) {
		return errApart
	}
	if f := s.factor(o, rule); f != nil || s.staysPartial(o) || s.staysOwn(o) {
		return s.each(o, f)
	}
	if o.Run == nil && len(o.Results) > 0 && s.given[o.Results[0]] && op.Of(o).Class != op.Source {
		s.stage[o] = anywhere
	}
	for i, v := range o.Args {
		if s.of[v] == nil {
			continue
		}
		w, err := s.join(v)
		if err != nil {
			return err
		}
		o.Args[i] = w
	}
	if why, late := s.lateness(o); late {
		for _, r := range o.Results {
			s.late[r] = why
		}
		s.phase[o] = ir.Update
	}
	run := o.Run
	o.Slot = s.slot(o, false)
	o.Run = run
	if run != nil && s.phase[o] != ir.Update {
		s.text.rest[run] = append(s.text.rest[run], o)
	} else {
		s.text.out = append(s.text.out, o)
	}
	return nil
}

// ofAll reports whether o is one of the only microbatch there is, which is the batch: it
// may relate any rows, and combine them before it goes on. What depends on no batch is
// there once, as with many.
func (s *splitter) ofAll(o *ir.Op) bool {
	if s.grid.m > 1 || s.phase[o] == ir.Update || s.stage[o] == anywhere || slices.ContainsFunc(o.Args, s.isLate) {
		return false
	}
	drawn := op.Of(o).Class == op.Source && len(o.Args) > 0
	return drawn || slices.ContainsFunc(o.Args, func(v *ir.Value) bool {
		return s.of[v] != nil || s.arg[v] != nil && s.arg[v].Role == ir.RoleData
	})
}

// only makes o one of the only microbatch. Updates read its results as a sum over one.
func (s *splitter) only(o *ir.Op) {
	args := slices.Clone(o.Args)
	for i, v := range args {
		if st := s.of[v]; st != nil {
			args[i] = st.part
		}
	}
	at := s.slot(o, true)
	at.Run = s.text.run(o.Run)
	n := s.copyOf(o, args, o.Attrs, ir.CloneTypes(o.Results), at)
	for j, r := range n.Results {
		s.of[o.Results[j]] = &state{part: r, kind: "sum"}
	}
}

// alike reports whether o, which is in a run, can be there for each microbatch, or
// once for all: what it reads is cut as it needs it already, and is put together for
// updates alone.
func (s *splitter) alike(o *ir.Op, rule op.Rule) bool {
	f := s.factor(o, rule)
	if f == nil && (s.staysPartial(o) || s.staysOwn(o)) {
		return true
	}
	for i, v := range o.Args {
		st := s.of[v]
		switch {
		case f == nil:
			if st != nil && s.phase[o] != ir.Update {
				return false
			}
		case f.Args[i] == "":
			if st != nil && st.kind != own {
				return false
			}
		case st == nil || st.axis != f.Args[i]:
			return false
		}
	}
	return true
}

// factor is the factor of o that microbatches cut: one along which an operand
// is cut already, else the batch's.
func (s *splitter) factor(o *ir.Op, rule op.Rule) *op.Factor {
	named, carried := op.RowFactor(o, rule, s.grid.m*s.grid.shards, s.axisOf, s.batch)
	if carried {
		return named
	}
	if named != nil && (s.phase[o] == ir.Update || slices.ContainsFunc(o.Args, s.isLate)) {
		return nil
	}
	return named
}

// axisOf is the axis along which a value is cut, empty where it is along none.
func (s *splitter) axisOf(v *ir.Value) string {
	if st := s.of[v]; st != nil {
		return st.axis
	}
	return ""
}

// staysOwn reports whether o works on what each microbatch has by itself: in arithmetic, or
// as the maximum of all rows reads those of each.
func (s *splitter) staysOwn(o *ir.Op) bool {
	if c := op.Of(o).Class; c == op.Boundary || c == op.Source || !slices.ContainsFunc(o.Args, s.isOwn) {
		return false
	}
	return !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return s.of[v] != nil && !s.isOwn(v) || s.isLate(v) })
}

// staysPartial reports whether o is linear, and all its operands are partial sums of
// one stage, or one is and each microbatch has the others by itself.
func (s *splitter) staysPartial(o *ir.Op) bool {
	if s.scales(o) {
		return true
	}
	if !op.Of(o).Linear.Carries() && !s.rounds(o) || len(o.Args) == 0 {
		return false
	}
	at := -2
	for _, v := range o.Args {
		st := s.of[v]
		if st == nil || st.axis != "" || st.kind != "sum" || v.Def == nil {
			return false
		}
		if x := s.stage[v.Def]; at == -2 {
			at = x
		} else if at != x {
			return false
		}
	}
	return true
}

// scales reports whether o is linear in one operand, which is a partial sum, and the
// others are what each microbatch has by itself, or outside of updates, which scale
// whole gradients, what depends on constants and numbers of the step alone.
func (s *splitter) scales(o *ir.Op) bool {
	at := slices.IndexFunc(o.Args, func(v *ir.Value) bool { return s.of[v] != nil && !s.isOwn(v) })
	if at < 0 || len(o.Args) == 1 {
		return false
	}
	if st := s.of[o.Args[at]]; st.axis != "" || st.kind != "sum" {
		return false
	}
	for i, v := range o.Args {
		fixed := v.Def != nil && s.loose[v.Def] && s.of[v] == nil && s.phase[o] != ir.Update
		if i != at && !s.isOwn(v) && !fixed {
			return false
		}
	}
	return slices.ContainsFunc(op.Of(o).Linear.In, func(in []int) bool { return slices.Equal(in, []int{at}) })
}

// rounds reports whether o rounds a gradient that is about to be reduced, or widens one
// again that was, where each microbatch reduces its own. Elsewhere what is rounded is the
// sum over all of them.
func (s *splitter) rounds(o *ir.Op) bool {
	return s.reduced && (o.Attrs.Bool(op.AttrPartial) || o.Name == op.Cast && o.Args[0].Def != nil && o.Args[0].Def.Attrs.Bool(op.AttrPartial))
}

// part is what the microbatch has of v, an operand of o, along axis.
func (s *splitter) part(o *ir.Op, v *ir.Value, axis string) (*ir.Value, error) {
	if st := s.of[v]; st != nil && st.axis == axis {
		return st.part, nil
	}
	v, err := s.all(o, v)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%d %s %d", v.ID, axis, s.stage[o])
	if s.cuts[key] == nil {
		s.cuts[key] = s.cut(v, axis, s.stage[o])
	}
	return s.cuts[key], nil
}

// all is v, an operand of o, as each microbatch has it whole: an error where it is known
// only after all of them.
func (s *splitter) all(o *ir.Op, v *ir.Value) (*ir.Value, error) {
	if s.of[v] != nil {
		w, err := s.join(v)
		if err != nil {
			return nil, err
		}
		v = w
	}
	if s.isLate(v) {
		return nil, s.tooLate(o, v)
	}
	return v, nil
}

// each makes o one of each microbatch. f is the factor that is cut; without one, its
// operands are partial sums, or what each microbatch has by itself.
func (s *splitter) each(o *ir.Op, f *op.Factor) error {
	args := make([]*ir.Value, len(o.Args))
	for i, v := range o.Args {
		var err error
		switch {
		case f == nil && s.of[v] == nil:
			args[i] = v
			continue
		case f == nil || f.Args[i] == "" && s.isOwn(v):
			args[i] = s.of[v].part
			continue
		case f.Args[i] != "":
			args[i], err = s.part(o, v, f.Args[i])
		default:
			args[i], err = s.all(o, v)
		}
		if err != nil {
			return err
		}
	}
	states := make([]*state, len(o.Results))
	types := make([]ir.Type, len(o.Results))
	for j, r := range o.Results {
		states[j], types[j] = &state{kind: "sum"}, r.Type.Clone()
		if f == nil {
			if s.staysOwn(o) {
				states[j].kind = own
			}
			continue
		}
		if axis := f.Results[j]; axis != "" {
			states[j].axis, s.batch[axis] = axis, true
			types[j].Axes[types[j].Index(axis)].Size /= s.grid.m
		} else {
			states[j].kind = f.Reduction
			if o.Attrs.Bool(op.AttrOwn) {
				states[j].kind = own
			}
		}
	}
	for j, r := range s.one(o, args, types, states) {
		states[j].part = r
		s.of[o.Results[j]] = states[j]
	}
	return nil
}

// one is o for one microbatch.
func (s *splitter) one(o *ir.Op, args []*ir.Value, types []ir.Type, states []*state) []*ir.Value {
	at := s.slot(o, true)
	at.Run = s.text.run(o.Run)
	if op.Of(o).Class == op.Source && len(states) == 1 && states[0].axis != "" {
		return s.source(o, args, types[0], states[0].axis, at)
	}
	return s.copyOf(o, args, op.Localize(o, types), types, at).Results
}

// copyOf appends o with other operands, attributes and types.
func (s *splitter) copyOf(o *ir.Op, args []*ir.Value, attrs ir.Attrs, types []ir.Type, at ir.Slot) *ir.Op {
	n := s.f.NewOp(o.Name, args, attrs, types...)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, at
	s.stage[n], s.phase[n] = s.stage[o], s.phase[o]
	s.text.out = append(s.text.out, n)
	return n
}
