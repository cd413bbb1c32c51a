package ir

import "slices"

// Serial is f, of level Fused or Planned, with the turns of its tasks one after the other: a function
// without tasks that computes the same. Runs stay, one of each turn.
func (f *Func) Serial() *Func {
	s := &serial{u: &unroller{micros: max(1, f.Micro), number: map[*Value]int64{}}, at: map[instance]*Value{}, turn: map[*Value]*Value{},
		to: &Func{Name: f.Name, Class: f.Class, Of: f.Of, Stage: f.Stage, Attrs: f.Attrs, Stacks: f.Stacks}}
	s.u.to = s.to
	for _, a := range f.Args {
		n := 1
		if a.Value.Micro {
			n = s.u.micros
		}
		for k := range n {
			b := *a
			b.Value = s.define(a.Value, k, nil)
			if a.Value.Micro {
				n := a.Attrs.Int(AttrNumber, 0) + int64(k)
				b.Path, b.Attrs = OfInstance(a.Path, k), a.Attrs.With(AttrNumber, Int(n))
				s.u.number[b.Value] = n
			}
			if at, ok := a.At.Get(); ok && a.Value.Micro {
				b.At, b.Spread = OffsetOf(at+a.placeOf(k)), Spread{}
			}
			s.to.Args = append(s.to.Args, &b)
		}
	}
	f.InTurns(func(t Turn, ops []*Op) {
		s.u.micro = t.Micro
		runs := map[*Run]*Run{nil: nil}
		for _, o := range ops {
			s.op(o, runs)
		}
	})
	for _, r := range f.Results {
		r.Value = s.use(r.Value)
		s.to.Results = append(s.to.Results, r)
	}
	s.u.indices()
	s.to.Renumber()
	return s.to
}

type serial struct {
	u    *unroller
	to   *Func
	at   map[instance]*Value
	turn map[*Value]*Value // by what `enter_turn` gives: what the turn before left
}

func (s *serial) of(v *Value, micro int) instance {
	if !v.PerMicro() {
		micro = 0
	}
	return instance{v, 0, micro}
}

func (s *serial) define(v *Value, micro int, by *Op) *Value {
	w := &Value{Type: v.Type.Clone(), Def: by, Each: v.Each}
	s.at[s.of(v, micro)] = w
	return w
}

func (s *serial) use(v *Value) *Value { return s.at[s.of(v, s.u.micro)] }

// op writes o in the present turn.
func (s *serial) op(o *Op, runs map[*Run]*Run) {
	switch o.Name {
	case EnterTurn:
		s.at[s.of(o.Result(), s.u.micro)] = s.turn[o.Result()] // nil in the first turn
		return
	case LeaveTurn:
		left := s.use(o.Args[1])
		s.turn[o.Args[0]], s.at[s.of(o.Result(), 0)] = left, left
		return
	}
	if _, known := runs[o.Run]; !known {
		runs[o.Run] = &Run{Stack: o.Run.Stack, Down: o.Run.Down}
	}
	p := new(Op)
	*p = *o
	p.Run, p.Task, p.First, p.Attrs = runs[o.Run], nil, nil, s.u.attrs(o.Attrs, nil, 0)
	if o.Run == nil {
		p.Ahead = 0
	}
	if p.At, p.Spread = o.At, nil; o.Spread != nil {
		p.At = slices.Clone(o.At)
		for i, by := range o.Spread {
			p.At[i] += by.Of(0, s.u.micro)
			p.Spread = append(p.Spread, by.serial())
		}
		if !slices.ContainsFunc(p.Spread, func(by Spread) bool { return by != Spread{} }) {
			p.Spread = nil
		}
	}
	p.Args, p.Results = make([]*Value, len(o.Args)), make([]*Value, len(o.Results))
	for i, v := range o.Args {
		p.Args[i] = s.use(v)
	}
	if slices.Contains(p.Args, nil) {
		p.Args = slices.DeleteFunc(p.Args, func(v *Value) bool { return v == nil })
		p.Callee = o.First
	}
	for i, v := range o.Results {
		p.Results[i] = s.define(v, s.u.micro, p)
	}
	s.to.Ops = append(s.to.Ops, p)
}

// Serial is m with all functions serial; they call kernels.
func (m *Module) Serial() *Module {
	u := *m
	u.Funcs = slices.Clone(m.Funcs)
	for i, f := range u.Funcs {
		if len(f.Tasks) > 0 {
			u.Funcs[i] = f.Serial()
		}
	}
	return &u
}
