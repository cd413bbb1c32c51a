package fuse

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// done is a function that was fused, of which others may be copies: most stages of a deep
// pipeline are the same but for names and messages.
type done struct {
	given   *ir.Func // as it came
	f       *ir.Func // fused
	before  int      // how many operations it had as it was grouped
	times   int64    // how often these run in a step
	remarks []pass.Remark
	told    map[string][]int // places in given of what tells where it is, by text
}

// repeats are the functions of a module that were fused, of which the next may be a copy.
type repeats []*done

// note remembers d.
func (r *repeats) note(d *done) {
	d.told = map[string][]int{}
	for i, o := range d.given.Ops {
		if tells(o) {
			text := toldText(o)
			d.told[text] = append(d.told[text], i)
		}
	}
	*r = append(*r, d)
}

// tells reports whether attributes of o say where it is: a message where it goes, and what moves
// a parameter its path.
func tells(o *ir.Op) bool { return op.Has(o, op.Message) || o.Attrs.Has("why") }

func toldText(o *ir.Op) string { return o.Name + " " + o.Attrs.String() }

// attrs are those in f of what tells o in d's function, and whether they are known: all that
// tell the same there tell the same in f.
func (d *done) attrs(o *ir.Op, f *ir.Func) (ir.Attrs, bool) {
	places := d.told[toldText(o)]
	if len(places) == 0 {
		return nil, false
	}
	first := f.Ops[places[0]]
	if slices.ContainsFunc(places[1:], func(at int) bool { return !sameAttrs(f.Ops[at].Attrs, first.Attrs) }) {
		return nil, false
	}
	return first.Attrs, true
}

// find is a fused function of which f, once it is fused, is a copy, and by which names f
// calls the parts of scopes there; nil where there is none.
func (r repeats) find(f *ir.Func) (*done, *naming) {
	for _, d := range slices.Backward(r) {
		if names := matched(d.given, f); names != nil {
			return d, names
		}
	}
	return nil, nil
}

// copyTo makes f what d's function became, under the names and with the messages of f.
// It reports whether that is possible.
func (d *done) copyTo(f *ir.Func, names *naming) bool {
	c := d.f.Clone() // with the device's coordinates behind its arguments, where a kernel reads them
	if len(c.Args) < len(f.Args) || len(c.Results) != len(f.Results) {
		return false
	}
	for i, o := range c.Ops {
		known := true
		if o.Scope, known = names.scope(o.Scope); !known {
			return false
		}
		if !tells(o) {
			continue
		}
		if o.Attrs, known = d.attrs(d.f.Ops[i], f); !known {
			return false
		}
	}
	for i, a := range f.Args {
		v := c.Args[i].Value
		*c.Args[i] = *a
		c.Args[i].Value = v
	}
	for i, r := range f.Results {
		r.Value = c.Results[i].Value
		c.Results[i] = r
	}
	for i, s := range f.Stacks {
		c.Stacks[i].Name = s.Name
	}
	task := map[*ir.Task]*ir.Task{}
	for i, t := range f.Tasks {
		task[t], c.Tasks[i].Name = c.Tasks[i], t.Name
	}
	c.Ticks = slices.Clone(f.Ticks)
	for i := range c.Ticks {
		c.Ticks[i].Task = task[c.Ticks[i].Task]
	}
	c.Name, c.Of, c.Stage, c.Attrs = f.Name, f.Of, f.Stage, f.Attrs
	*f = *c
	return true
}

// retold are d's remarks as they would be of a copy with these names.
func (d *done) retold(names *naming) ([]pass.Remark, bool) {
	out := slices.Clone(d.remarks)
	for i := range out {
		known := true
		if out[i].Scope, known = names.scope(out[i].Scope); !known {
			return nil, false
		}
	}
	return out, true
}

// naming says what the parts of one function's scopes, `blocks` and `{i+4}` of
// `blocks.{i+4}`, are in another, each in one way, so that what is made of parts of scopes
// is made in the same way of the parts there.
type naming struct {
	to, from map[string]string
	whole    map[string]string // scopes that were translated
}

// pair notes that scope a is b there. It reports whether that goes with what is known.
func (n *naming) pair(a, b string) bool {
	if known, ok := n.whole[a]; ok {
		return known == b
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		to, known := n.to[x[i]]
		from, taken := n.from[y[i]]
		if known != taken || known && (to != y[i] || from != x[i]) {
			return false
		}
		n.to[x[i]], n.from[y[i]] = y[i], x[i]
	}
	n.whole[a] = b
	return true
}

// scope is scope a there, and whether all its parts are known.
func (n *naming) scope(a string) (string, bool) {
	if b, ok := n.whole[a]; ok || a == "" {
		return b, true
	}
	parts := strings.Split(a, ".")
	for i, x := range parts {
		y, known := n.to[x]
		if !known {
			return "", false
		}
		parts[i] = y
	}
	b := strings.Join(parts, ".")
	n.whole[a] = b
	return b, true
}

// matched reports that a and b are fused in the same way, by how parts of scopes are named in
// b; nil where they are not. They have the same operations on the same values. Not compared
// are names, where messages come from and go to, why something moves, and the ticks: nothing here
// depends on them.
func matched(a, b *ir.Func) *naming {
	if len(a.Ops) != len(b.Ops) || len(a.Args) != len(b.Args) || len(a.Results) != len(b.Results) ||
		len(a.Stacks) != len(b.Stacks) || len(a.Tasks) != len(b.Tasks) || a.Micro != b.Micro || a.NextID() != b.NextID() {
		return nil
	}
	l := &liker{value: make(map[*ir.Value]*ir.Value, len(a.Args)+len(a.Ops)), stack: map[*ir.Stack]*ir.Stack{nil: nil},
		run: map[*ir.Run]*ir.Run{nil: nil}, task: map[*ir.Task]*ir.Task{nil: nil},
		names: naming{map[string]string{}, map[string]string{}, map[string]string{}}}
	for i, s := range a.Stacks {
		if s.Count != b.Stacks[i].Count {
			return nil
		}
		l.stack[s] = b.Stacks[i]
	}
	for i, t := range a.Tasks {
		if t.Once != b.Tasks[i].Once {
			return nil
		}
		l.task[t] = b.Tasks[i]
	}
	for i, x := range a.Args {
		if y := b.Args[i]; x.Role != y.Role || x.Memory != y.Memory || !l.define(x.Value, y.Value) {
			return nil
		}
	}
	for i, o := range a.Ops {
		if !l.operation(o, b.Ops[i]) {
			return nil
		}
	}
	for i, r := range a.Results {
		if s := b.Results[i]; r.Role != s.Role || l.value[r.Value] != s.Value {
			return nil
		}
	}
	return &l.names
}

// liker goes through two functions at once.
type liker struct {
	value map[*ir.Value]*ir.Value
	stack map[*ir.Stack]*ir.Stack
	run   map[*ir.Run]*ir.Run
	task  map[*ir.Task]*ir.Task
	names naming
}

// define notes that value v is w there, and reports whether they are the same.
func (l *liker) define(v, w *ir.Value) bool {
	l.value[v] = w
	return v.ID == w.ID && v.Type.Pad == w.Type.Pad && v.Micro == w.Micro && l.stack[v.Each] == w.Each && v.Type.Equal(w.Type)
}

func (l *liker) operation(o, q *ir.Op) bool {
	if o.Name != q.Name || len(o.Args) != len(q.Args) || len(o.Results) != len(q.Results) || o.Callee != nil || q.Callee != nil ||
		o.Memory != q.Memory || o.Start != q.Start || o.Pos != q.Pos || !l.slot(o, q) || !l.names.pair(o.Scope, q.Scope) {
		return false
	}
	switch {
	case op.Has(o, op.Message):
	case tells(o) != tells(q), tells(o) && !sameAttrs(o.Attrs.With("why", nil), q.Attrs.With("why", nil)):
		return false
	case !tells(o) && !sameAttrs(o.Attrs, q.Attrs):
		return false
	}
	return slices.EqualFunc(o.Args, q.Args, func(v, w *ir.Value) bool { return l.value[v] == w }) && slices.EqualFunc(o.Results, q.Results, l.define)
}

func (l *liker) slot(o, q *ir.Op) bool {
	if _, known := l.run[o.Run]; !known {
		if q.Run == nil || l.stack[o.Run.Stack] != q.Run.Stack || o.Run.Down != q.Run.Down {
			return false
		}
		l.run[o.Run] = q.Run
	}
	return l.run[o.Run] == q.Run && l.task[o.Task] == q.Task && o.Slot.Micro == q.Slot.Micro && o.Phase == q.Phase && o.Remat == q.Remat && o.Ahead == q.Ahead
}

// sameAttrs compares texts; most copies share one list.
func sameAttrs(a, b ir.Attrs) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || a.String() == b.String())
}
