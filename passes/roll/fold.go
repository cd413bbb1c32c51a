package roll

import (
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// edit is what becomes of a function.
type edit struct {
	gone    opTable[bool]           // operations of all instances but the first
	dropped table[bool]             // what those have each
	front   map[*ir.Op][]*ir.Op     // operations to put before one
	back    map[*ir.Op][]*ir.Op     // and behind
	repl    map[*ir.Value]*ir.Value // what leaves, for whoever reads the last instance
	groups  map[*ir.Stack]group
}

func newEdit(values int) edit {
	return edit{make([]bool, values), make([]bool, values), map[*ir.Op][]*ir.Op{}, map[*ir.Op][]*ir.Op{}, map[*ir.Value]*ir.Value{}, map[*ir.Stack]group{}}
}

// fold makes a stack of the modules of g, which it takes.
func (s *sequence) fold(g group) *ir.Stack {
	t := &ir.Stack{Name: s.name(), Count: g.count + g.omitted}
	s.f.Stacks = append(s.f.Stacks, t)
	s.groups[t] = g
	for _, a := range s.f.Args {
		s.each(g, t, a.Value)
	}
	for _, o := range s.f.Ops {
		if o.Name != op.Grad {
			continue
		}
		for _, r := range o.Results {
			s.each(g, t, r)
		}
	}
	for _, w := range s.ways {
		if l := s.links[w]; l != nil {
			s.run(w, g, l, t)
		}
	}
	return t
}

// name is that of the list, and a number where it is taken.
func (s *sequence) name() string {
	base := strings.ReplaceAll(s.list, ".", "_")
	name := base
	for n := 2; s.f.Stack(name) != nil; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

// each marks an argument or gradient as one that every instance has, or, of all but
// the first instance, as not written.
func (s *sequence) each(g group, t *ir.Stack, v *ir.Value) {
	m := int(s.family.get(v)) - 1
	switch {
	case m < 0 || m < g.first || m >= g.first+g.period*g.count:
	case m < g.first+g.period:
		v.Each = t
	default:
		s.dropped[v.ID] = true
	}
}

// index is the argument that holds the number of the instance.
func (s *sequence) index(t *ir.Stack) *ir.Value {
	for _, a := range s.f.Args {
		if a.Role == ir.RoleIndex && a.Value.Each == t {
			return a.Value
		}
	}
	g := s.groups[t]
	v := s.f.AddArg(ir.Scalar(ir.I32), ir.RoleIndex, s.list+"."+s.open(g, g.first), nil, diag.Pos{})
	v.Each = t
	return v
}

// run makes the first instance's operations stand for all.
func (s *sequence) run(w *way, g group, l *link, t *ir.Stack) {
	run := &ir.Run{Stack: t}
	ops, last := s.ops(w, g, 0), s.ops(w, g, g.count-1)
	module := s.list + "." + s.open(g, g.first)
	boundary := func(name string, at diag.Pos, args ...*ir.Value) *ir.Op {
		o := s.f.NewOp(name, args, nil, args[len(args)-1].Type.Clone())
		o.Run, o.Scope, o.Pos = run, module, at
		return o
	}
	var enters []*ir.Op
	for _, c := range l.carries {
		enters = append(enters, boundary(op.Enter, ops[0].Pos, c.init))
	}
	for k, o := range ops {
		o.Run, o.Scope = run, s.openPath(t, o.Scope)
		if n := l.sites[k]; n != 0 {
			o.Args, o.Attrs = append(o.Args, s.index(t)), o.Attrs.With(ir.AttrEach, ir.Int(n))
		}
		for a := range o.Args {
			if c, ok := l.of[[2]int{k, a}]; ok {
				o.Args[a] = enters[c].Result()
			}
		}
	}
	for _, o := range w.loose {
		s.gone.set(o, true)
	}
	s.front[ops[0]] = append(w.loose, enters...)
	w.loose = nil
	for k, c := range l.carries {
		leave := boundary(op.Leave, ops[c.op].Pos, enters[k].Result(), ops[c.op].Results[c.result])
		s.back[ops[len(ops)-1]] = append(s.back[ops[len(ops)-1]], leave)
		s.repl[last[c.op].Results[c.result]] = leave.Result()
	}
	for n := 1; n < g.count; n++ {
		for _, o := range s.ops(w, g, n) {
			s.gone.set(o, true)
			for _, r := range o.Results {
				s.dropped[r.ID] = true
			}
		}
	}
}

// openPath is a path or scope of the first instance of a stack, with the number of
// its module left open.
func (s *sequence) openPath(t *ir.Stack, path string) string {
	m, ok := s.module(path)
	g, mine := s.groups[t]
	if !ok || !mine {
		return path
	}
	return s.at(path, s.open(g, m))
}

// finish writes the function anew.
func (s *sequence) finish() {
	if len(s.f.Stacks) == 0 {
		return
	}
	var ops []*ir.Op
	for _, o := range s.f.Ops {
		if s.gone.get(o) {
			continue
		}
		ops = append(append(append(ops, s.front[o]...), o), s.back[o]...)
		if o.Name == op.Grad {
			s.shorten(o)
		}
	}
	s.f.Ops = ops
	args, results := s.f.Args[:0], s.f.Results[:0]
	for _, a := range s.f.Args {
		if s.dropped.get(a.Value) {
			continue
		}
		if a.Value.Each != nil {
			a.Path = s.openPath(a.Value.Each, a.Path)
			if of := a.Attrs.Text(ir.AttrCopyOf); of != "" {
				a.Attrs = a.Attrs.With(ir.AttrCopyOf, ir.Str(s.openPath(a.Value.Each, of)))
			}
		}
		args = append(args, a)
	}
	for _, r := range s.f.Results {
		if _, ok := s.module(r.Path); ok && s.dropped.get(r.Value) {
			continue
		}
		if in := r.Value.In(); in != nil {
			r.Path = s.openPath(in, r.Path)
		}
		results = append(results, r)
	}
	s.f.Args, s.f.Results = args, results
	s.f.Replace(s.repl)
}

// shorten leaves the operands and results of the first instances to a gradient.
func (s *sequence) shorten(o *ir.Op) {
	args, results := o.Args[:1], o.Results[:0]
	for k, r := range o.Results {
		if !s.dropped.get(r) {
			args, results = append(args, o.Args[k+1]), append(results, r)
		}
	}
	o.Args, o.Results = args, results
}
