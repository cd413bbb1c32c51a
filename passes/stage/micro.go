package stage

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// microAxis numbers the microbatches where an axis is cut into them. It is the
// minor part: microbatch i of m has the elements i, i+m, i+2m, …, so that the
// axis, which is left as the major part, can be sharded as before.
const microAxis = "microbatch"

// Kinds of a value with respect to microbatches.
type state struct {
	parts []*ir.Value // by microbatch; nil where the value is whole
	axis  string      // parts are cut along this axis; empty where they are sums owed
	kind  string      // of owed parts: sum or max
}

// splitter clones what works on the batch.
type splitter struct {
	*tagger
	m     int
	batch string
	b     op.Builder
	out   []*ir.Op
	of    map[*ir.Value]*state
	whole map[*ir.Value]*ir.Value // what a cut or owed value becomes as a whole
	cuts  map[string]*ir.Value    // parts cut from whole values
	late  map[*ir.Value]bool      // known only after the last microbatch
	// given are values that depend on the batch, on numbers of the step and on
	// constants alone. What needs one whole computes it from the whole batch,
	// before the first microbatch, on its own stage.
	given map[*ir.Value]bool
	// runs are those of each microbatch; rest is what a run has once for all of them,
	// and at the place in out where the run begins.
	runs map[runOf]*ir.Run
	rest map[*ir.Run][]*ir.Op
	at   map[int][]*ir.Run
}

type runOf struct {
	run   *ir.Run
	micro int
}

// run is what r is for microbatch i.
func (s *splitter) run(r *ir.Run, i int) *ir.Run {
	if r == nil {
		return nil
	}
	k := runOf{r, i}
	if s.runs[k] == nil {
		s.runs[k] = &ir.Run{Stack: r.Stack, Down: r.Down}
	}
	return s.runs[k]
}

// microbatch rewrites f so that what depends on the batch is done for each of
// its m parts.
func microbatch(f *ir.Func, t *tagger, r *layout.Pipeline) error {
	s := &splitter{tagger: t, m: r.Microbatches, of: map[*ir.Value]*state{}, whole: map[*ir.Value]*ir.Value{}, cuts: map[string]*ir.Value{}, late: map[*ir.Value]bool{}, given: givenOf(f), runs: map[runOf]*ir.Run{}, rest: map[*ir.Run][]*ir.Op{}, at: map[int][]*ir.Run{}}
	s.b = op.Builder{F: f, Sink: &s.out}
	if err := s.fields(); err != nil {
		return err
	}
	var run *ir.Run
	for _, o := range f.Ops {
		if run != o.Run {
			if run = o.Run; run != nil {
				s.at[len(s.out)] = append(s.at[len(s.out)], run)
			}
		}
		if err := s.operation(o); err != nil {
			return err
		}
	}
	for i, res := range f.Results {
		if st := s.of[res.Value]; st != nil {
			f.Results[i].Value = s.join(res.Value)
		}
	}
	f.Ops = make([]*ir.Op, 0, len(s.out))
	for i := range len(s.out) + 1 {
		for _, run := range s.at[i] {
			f.Ops = append(f.Ops, s.rest[run]...)
		}
		if i < len(s.out) {
			f.Ops = append(f.Ops, s.out[i])
		}
	}
	f.JoinRuns()
	return nil
}

// fields cuts the batch's fields.
func (s *splitter) fields() error {
	for _, a := range s.f.Args {
		if a.Role != ir.RoleData {
			continue
		}
		t := a.Value.Type
		if t.Rank() == 0 || t.Axes[0].Size%s.m != 0 {
			return &diag.Error{Code: "E0608", Pos: s.rule.At, Msg: fmt.Sprintf("the field `%s` of %s cannot be cut into %d microbatches", a.Path, t, s.m)}
		}
		s.batch = t.Axes[0].Name
	}
	for _, a := range s.f.Args {
		if a.Role != ir.RoleData {
			continue
		}
		st := &state{axis: s.batch}
		s.b.Pos = a.Pos
		for i := range s.m {
			s.b.Slot = ir.Slot{Stage: ir.At(s.home[a.Value]), Phase: ir.Forward, Micro: ir.At(i)}
			st.parts = append(st.parts, s.cut(a.Value, s.batch, i))
		}
		s.of[a.Value] = st
	}
	s.b.Slot, s.b.Pos = ir.Slot{}, diag.Pos{}
	return nil
}

// operation clones o, or leaves it whole.
func (s *splitter) operation(o *ir.Op) error {
	rule := op.Of(o).Shard(o)
	if o.Run != nil && !s.alike(o, rule) {
		return errApart
	}
	if f := s.factor(o, rule); f != nil {
		return s.clone(o, func(i int, v *ir.Value) *ir.Value {
			if f.Args[i] != "" {
				return s.part(v, f.Args[i])
			}
			return nil
		}, f)
	}
	if s.staysOwed(o) {
		return s.clone(o, func(int, *ir.Value) *ir.Value { return nil }, nil)
	}
	if o.Run == nil && len(o.Results) > 0 && s.given[o.Results[0]] && op.Of(o).Class != op.Source {
		s.stage[o] = anywhere
	}
	for i, v := range o.Args {
		if s.of[v] != nil {
			o.Args[i] = s.join(v)
		}
		if s.late[o.Args[i]] {
			for _, r := range o.Results {
				s.late[r] = true
			}
		}
	}
	if len(o.Results) > 0 && s.late[o.Results[0]] {
		s.phase[o] = ir.Update
	}
	run := o.Run
	o.Slot = s.slot(o, 0)
	o.Run = run
	if run != nil && s.phase[o] != ir.Update {
		s.rest[run] = append(s.rest[run], o)
	} else {
		s.out = append(s.out, o)
	}
	return nil
}

// alike reports whether o, which is in a run, can be there for each microbatch, or
// once for all: what it reads is cut as it needs it already, and is put together for
// updates alone.
func (s *splitter) alike(o *ir.Op, rule op.Rule) bool {
	f := s.factor(o, rule)
	if f == nil && s.staysOwed(o) {
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
			if st != nil {
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
	var named *op.Factor
	for i := range rule.Factors {
		f := &rule.Factors[i]
		if f.Kind != op.PassThrough && f.Kind != op.Reduce || f.Size%s.m != 0 {
			continue
		}
		for j, axis := range f.Args {
			if st := s.of[o.Args[j]]; st != nil && axis != "" && st.axis == axis {
				return f
			}
			if axis == s.batch {
				named = f
			}
		}
		for _, axis := range f.Results {
			if axis == s.batch {
				named = f
			}
		}
	}
	if named != nil && s.phase[o] == ir.Update {
		return nil
	}
	return named
}

// staysOwed: o is linear, all its operands are sums owed, and on one stage.
func (s *splitter) staysOwed(o *ir.Op) bool {
	if !op.Of(o).Linear.Carries() || len(o.Args) == 0 {
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

// part makes v cut along axis; microbatch i reads part i.
func (s *splitter) part(v *ir.Value, axis string) *ir.Value {
	if st := s.of[v]; st != nil && st.axis == axis {
		return v
	}
	if s.of[v] != nil {
		v = s.join(v)
	}
	key := fmt.Sprintf("%d %s", v.ID, axis)
	if w := s.cuts[key]; w != nil {
		return w
	}
	st := &state{axis: axis}
	for i := range s.m {
		st.parts = append(st.parts, s.cut(v, axis, i))
	}
	w := &ir.Value{ID: v.ID, Type: v.Type, Def: v.Def}
	s.of[w] = st
	s.cuts[key] = w
	return w
}

// clone emits o once for each microbatch. cut says which operand is read in
// parts (other than owed ones, which are); f is the factor that is cut.
func (s *splitter) clone(o *ir.Op, cut func(i int, v *ir.Value) *ir.Value, f *op.Factor) error {
	args := make([]*ir.Value, len(o.Args))
	for i, v := range o.Args {
		s.b.Slot = ir.Slot{}
		switch w := cut(i, v); {
		case w != nil:
			args[i] = w
		case f == nil:
			args[i] = v
		case s.of[v] != nil:
			args[i] = s.join(v)
		default:
			args[i] = v
		}
		if s.late[args[i]] {
			return &diag.Error{Code: "E0609", Pos: o.Pos, Msg: fmt.Sprintf("`%s` works on one microbatch but needs a value of all of them", o.Name),
				Want: "a loss and gradients that are sums over the batch, of terms that need one microbatch of what depends on parameters", Note: notes(s.rule.At)}
		}
	}
	states := make([]*state, len(o.Results))
	types := make([]ir.Type, len(o.Results))
	for j, r := range o.Results {
		states[j], types[j] = &state{kind: "sum"}, r.Type.Clone()
		if f == nil {
			continue
		}
		if axis := f.Results[j]; axis != "" {
			states[j].axis = axis
			types[j].Axes[types[j].Index(axis)].Size /= s.m
		} else {
			states[j].kind = f.Reduction
		}
	}
	for i := range s.m {
		n := s.copyOf(o, args, types, states, i)
		for j, r := range n {
			states[j].parts = append(states[j].parts, r)
		}
	}
	for j, r := range o.Results {
		s.of[r] = states[j]
	}
	return nil
}

// copyOf is o for microbatch i.
func (s *splitter) copyOf(o *ir.Op, args []*ir.Value, types []ir.Type, states []*state, i int) []*ir.Value {
	mine := make([]*ir.Value, len(args))
	for k, v := range args {
		mine[k] = v
		if st := s.of[v]; st != nil {
			mine[k] = st.parts[i]
		}
	}
	at := s.slot(o, ir.At(i))
	at.Run = s.run(o.Run, i)
	if op.Of(o).Class == op.Source && len(states) == 1 && states[0].axis != "" {
		return s.source(o, mine, types[0], states[0].axis, i, at)
	}
	n := s.f.NewOp(o.Name, mine, op.Localize(o, types), types...)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, at
	s.stage[n], s.phase[n] = s.stage[o], s.phase[o]
	s.out = append(s.out, n)
	return n.Results
}

// source is what microbatch i has of o, which makes positions or random
// numbers along the cut axis: those of its elements in the whole.
func (s *splitter) source(o *ir.Op, args []*ir.Value, t ir.Type, axis string, i int, at ir.Slot) []*ir.Value {
	s.b.Scope, s.b.Pos, s.b.Slot = o.Scope, o.Pos, at
	defer func() { s.b.Slot = ir.Slot{} }()
	note := func(v *ir.Value) *ir.Value {
		s.stage[v.Def], s.phase[v.Def] = s.stage[o], s.phase[o]
		return v
	}
	if len(args) == 0 { // index: element k of the part is k·m + i of the whole
		x := note(s.b.Emit(o.Name, o.Attrs.With("size", ir.Int(t.Size(axis)))))
		x = note(s.b.Scale(x, float64(s.m)))
		return []*ir.Value{note(s.b.Add(x, s.b.Like(x, float64(i))))}
	}
	wide := t.Clone()
	wide.Axes = nil
	for _, a := range t.Axes {
		wide.Axes = append(wide.Axes, a)
		if a.Name == axis {
			wide.Axes = append(wide.Axes, ir.Axis{Name: microAxis, Size: 1})
		}
	}
	var axes ir.Sizes
	for _, a := range wide.Axes {
		axes = append(axes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	attrs := op.Window(o.Attrs.With("axes", axes), wide, microAxis, s.m, i)
	x := note(s.b.Emit(o.Name, attrs, args...))
	return []*ir.Value{note(s.b.Emit(op.Merge, ir.A("axes", ir.Names{axis, microAxis}, "into", ir.Name(axis)), x))}
}

// cut is what microbatch i has of v along axis.
func (s *splitter) cut(v *ir.Value, axis string, i int) *ir.Value {
	n := v.Type.Size(axis) / s.m
	x := s.b.Emit(op.Split, ir.A("axis", ir.Name(axis), "into", ir.Sizes{{Name: axis, N: n}, {Name: microAxis, N: s.m}}), v)
	x = s.b.Emit(op.Slice, ir.A("axis", ir.Name(microAxis), "start", ir.Int(i), "limit", ir.Int(i+1)), x)
	return s.b.Emit(op.Merge, ir.A("axes", ir.Names{axis, microAxis}, "into", ir.Name(axis)), x)
}

// paste is the inverse of cut for all microbatches.
func (s *splitter) paste(parts []*ir.Value, axis string) *ir.Value {
	wide := make([]*ir.Value, len(parts))
	for i, v := range parts {
		wide[i] = s.b.Emit(op.Split, ir.A("axis", ir.Name(axis), "into", ir.Sizes{{Name: axis, N: v.Type.Size(axis)}, {Name: microAxis, N: 1}}), v)
	}
	x := s.b.Emit(op.Concat, ir.A("axis", ir.Name(microAxis)), wide...)
	return s.b.Emit(op.Merge, ir.A("axes", ir.Names{axis, microAxis}, "into", ir.Name(axis)), x)
}

// join makes v whole: the parts one after the other, or the sum (maximum) of
// what is owed, each added in the slot that made it.
func (s *splitter) join(v *ir.Value) *ir.Value {
	if w := s.whole[v]; w != nil {
		return w
	}
	if s.given[v] {
		return s.again(v)
	}
	st := s.of[v]
	at := func(i int) ir.Slot { return st.parts[i].Def.Slot }
	s.b.Scope, s.b.Pos = "", diag.Pos{}
	if d := st.parts[0].Def; d != nil {
		s.b.Scope, s.b.Pos = d.Scope, d.Pos
	}
	var w *ir.Value
	if st.axis != "" {
		s.b.Slot = at(s.m - 1)
		w = s.b.Reorder(s.paste(st.parts, st.axis), v.Type)
	} else {
		name := op.Add
		if st.kind == "max" {
			name = op.Max
		}
		w = st.parts[0]
		for i := 1; i < s.m; i++ {
			s.b.Slot = at(i)
			w = s.b.Emit(name, nil, w, st.parts[i])
			s.stage[w.Def], s.phase[w.Def] = s.stage[st.parts[i].Def], s.phase[st.parts[i].Def]
		}
	}
	s.b.Slot = ir.Slot{}
	s.whole[v] = w
	s.late[w] = true
	return w
}
