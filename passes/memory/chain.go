package memory

import (
	"ptc/ir"
	"ptc/ir/op"
)

// chain is what goes from instance to instance of a run: link n is what enters the
// n-th instance of the run, link n+1 what it leaves. Numbered as the stack counts, x of
// instance k is link k and y link k+1; where the run goes down, the other way about.
//
//	up:    v0 = x(0)   y(0) = x(1)   y(1) = x(2)   …   y(N-1) = w
//	down:  w = y(0)   x(0) = y(1)   x(1) = y(2)   …   x(N-1) = v0
type chain struct {
	enter, leave *ir.Op
	run          *ir.Run
	x, y, v0, w  *ir.Value
}

// same reports whether all instances leave what entered: every link is v0.
func (c chain) same() bool { return c.x == c.y }

// chains are those of f, in the order in which they leave.
func chains(f *ir.Func) []chain {
	var out []chain
	for _, o := range f.Ops {
		if o.Name == op.Leave {
			x := o.Args[0]
			out = append(out, chain{x.Def, o, o.Run, x, o.Args[1], x.Def.Args[0], o.Result()})
		}
	}
	return out
}

// slots are the places of x and y of instance 0, and those of v0 and w.
func (c chain) slots() (x, y, v0, w int) {
	if n := c.run.Stack.Count; c.run.Down {
		return 1, 0, n, 0
	} else {
		return 0, 1, 0, n
	}
}

// kind says how the links of a chain lie: in one place, if all that reads a link is
// done when the next one is written; in two, in turns; each in its own, if they are
// read outside of the run or live longer.
func (l *layout) kind(c chain) kind {
	if c.same() {
		return single
	}
	bx, by := l.of[c.x], l.of[c.y]
	sx, sy, _, _ := c.slots()
	x, y := l.time.shiftedLife(bx.life, sx), l.time.shiftedLife(by.life, sy)
	seg := l.time.first[l.time.at(c.leave)]
	if x.from.seg != seg || x.to.seg != seg || y.from.seg != seg || y.to.seg != seg {
		return framed
	}
	to, next := later(x.to, y.to), y.from
	next.iteration++
	places := to.iteration - y.from.iteration
	if next.pos < to.pos || next.pos == to.pos && !(places == 1 && l.over(c, next)) {
		places++
	}
	switch {
	case places <= 1:
		return single
	case places == 2:
		return ringed
	}
	return framed
}

// over reports whether the operation that writes y reads x last, and may write over it.
func (l *layout) over(c chain, at moment) bool {
	o, sx := l.f.Ops[at.pos], 0
	if sx, _, _, _ = c.slots(); l.time.shifted(l.of[c.x].read, sx) != at {
		return false
	}
	for j, v := range o.Results {
		for n, a := range o.Args {
			if l.of[v] == l.of[c.y] && l.of[a] == l.of[c.x] && (a != c.x || usedTwice(o, a) || !l.p.mayOverwrite(o, n, j)) {
				return false
			}
		}
	}
	return true
}

// link puts what a chain has where it goes.
func (l *layout) link(c chain) {
	kind := l.kind(c)
	x, y, v0, w := c.slots()
	if kind == single { // one place for all
		x, y, v0, w = 0, 0, 0, 0
	}
	if c.same() { // who reads it for an instance reads what all have
		b := l.of[c.x]
		if b.to = l.time.whole(b.to.pos); b.read != never {
			b.read = l.time.whole(b.read.pos)
		}
	}
	l.move(c.x, x)
	l.move(c.v0, v0)
	l.joinAt(c.y, c.x, 0, y)
	l.joinAt(c.w, c.x, 0, w)
	l.joinAt(c.v0, c.x, 0, v0)
	b := l.of[c.x]
	b.chain = kind
}

// move says in which slot v is, and all that is there with it.
func (l *layout) move(v *ir.Value, slot int) {
	b, by := l.of[v], slot-l.slot[v]
	for _, u := range b.values {
		l.slot[u] += by
	}
	b.life = l.time.shiftedLife(b.life, by)
}

// carried makes chains such that what is one can be in one row of places: what enters
// is a value of its own, that nothing reads any more when its place is written
// again; what leaves is made in the run. Where it is not, a copy is.
func (p *planner) carried(f *ir.Func) {
	all := chains(f)
	if len(all) == 0 {
		return
	}
	l := p.apart(f)
	l.accumulate()
	ins := &insertions{p: p, f: f, before: map[*ir.Op][]*ir.Op{}, behind: map[*ir.Op][]*ir.Op{}}
	left, firstLeave, changed := map[*ir.Value]bool{}, map[*ir.Run]*ir.Op{}, ins.joined()
	for _, o := range f.Ops {
		if o.Name == op.LeaveTick {
			left[o.Args[1]] = true
		}
	}
	for _, c := range all {
		if firstLeave[c.run] == nil {
			firstLeave[c.run] = c.leave
		}
		if c.same() {
			continue
		}
		if !l.plain(c.y) || c.y.Def == nil || c.y.Def.Run != c.run || c.y.Def == c.enter || ends(c.y.Def) || left[c.y] {
			p.c.Because(c.leave, "the value that leaves an instance is copied: it shares a place with others, or no operation of the run makes it")
			y := ins.copy(c.y, firstLeave[c.run], c.run)
			c.leave.Args[1], changed = y, true
		}
		left[c.y] = true
	}
	if changed {
		ins.apply()
		all, l = chains(f), p.apart(f)
		l.accumulate()
	}
	kinds, entered := map[*ir.Op]kind{}, map[*ir.Value]bool{}
	for _, c := range all {
		kinds[c.leave] = l.kind(c)
	}
	by := entering(all)
	for _, c := range all {
		if !l.free(c, by, kinds) || entered[c.v0] && !c.same() {
			p.c.Because(c.enter, "the value that enters the first instance is copied: it shares a place with others, or is read after that place is written again")
			c.enter.Args[0] = ins.copy(c.v0, f.Ops[l.time.first[l.time.at(c.enter)]], nil)
		}
		entered[c.v0] = true
		if !l.plain(c.w) || kinds[c.leave] != single && l.between(c.w) && !l.between(c.x) && !l.between(c.y) {
			p.c.Because(c.leave, "the value that leaves the last instance is copied: it is a part of another value, or is used between turns")
			ins.leaves(c, l)
		}
	}
	ins.apply()
}

// plain reports whether v has a place for itself, which can be moved.
func (l *layout) plain(v *ir.Value) bool {
	b := l.of[v]
	return b.arg == nil && l.at[v] == 0 && b.bytes == aligned(int64(max(1, v.Type.Bytes()))) && !(v.Def != nil && op.Has(v.Def, op.InPlace))
}

// entering are chains by what enters.
func entering(all []chain) map[*ir.Value][]chain {
	out := map[*ir.Value][]chain{}
	for _, c := range all {
		out[c.v0] = append(out[c.v0], c)
	}
	return out
}

// free reports whether what enters can be in the first place of the chain, of all by
// what enters.
func (l *layout) free(c chain, all map[*ir.Value][]chain, kinds map[*ir.Op]kind) bool {
	kind, b := kinds[c.leave], l.of[c.v0]
	on := l.between(c.x) || l.between(c.y) // to other ticks
	if on && c.v0.PerMicro() != c.x.PerMicro() {
		return false
	}
	if c.same() {
		d := c.v0.Def // an argument, but for one that a result is written over
		return (b.arg != nil && len(b.values) == 1 || l.plain(c.v0)) &&
			(d == nil || d.Name != op.Leave || kinds[d] == single)
	}
	if !l.plain(c.v0) || c.v0.Def == nil || b.memory != l.of[c.x].memory || !on && l.between(c.v0) && l.time.mixed(l.time.at(c.enter)) {
		return false
	}
	if d := c.v0.Def; d.Name == op.Leave && (kind != single || kinds[d] != single || d.Args[0] == d.Args[1]) {
		return false
	}
	for _, d := range all[c.v0] { // it is what enters and leaves elsewhere
		if d.same() {
			return false
		}
	}
	if kind == framed {
		return true
	}
	start := l.time.first[l.time.at(c.enter)]
	for _, d := range all[c.v0] {
		if l.time.first[l.time.at(d.enter)] > start { // it enters again
			return false
		}
	}
	return b.to.before(moment{seg: start, iteration: -through})
}

// insertions are operations that are to be before or behind others.
type insertions struct {
	p              *planner
	f              *ir.Func
	before, behind map[*ir.Op][]*ir.Op
}

// copy is a copy of v that is made before an operation.
func (s *insertions) copy(v *ir.Value, before *ir.Op, run *ir.Run) *ir.Value {
	o := s.call(v, before)
	o.Run = run
	s.before[before] = append(s.before[before], o)
	return o.Results[0]
}

func (s *insertions) call(v *ir.Value, near *ir.Op) *ir.Op {
	o := s.f.NewOp(op.Call, []*ir.Value{v}, nil, v.Type.Clone())
	o.Callee, o.Slot, o.Scope, o.Pos = s.p.copyKernel(v.Type), near.Slot, near.Scope, near.Pos
	o.Run, o.Ahead = nil, 0
	return o
}

// joined has what is held together with other values be a copy, where it entered.
func (s *insertions) joined() bool {
	for _, o := range s.f.Ops {
		for n, a := range o.Args {
			if op.Has(o, op.Joins) && a.Def != nil && a.Def.Name == op.Enter {
				o.Args[n] = s.copy(a, o, o.Run)
			}
		}
	}
	return len(s.before) > 0
}

// leaves has all that reads what leaves a run read a copy.
func (s *insertions) leaves(c chain, l *layout) {
	o := s.call(c.w, c.leave)
	last := s.f.Ops[l.time.last[l.time.at(c.leave)]]
	s.behind[last] = append(s.behind[last], o)
	for _, x := range s.f.Ops {
		for n, a := range x.Args {
			if a == c.w && x != o {
				x.Args[n] = o.Results[0]
			}
		}
	}
	for i := range s.f.Results {
		if s.f.Results[i].Value == c.w {
			s.f.Results[i].Value = o.Results[0]
		}
	}
}

func (s *insertions) apply() {
	var ops []*ir.Op
	for _, o := range s.f.Ops {
		ops = append(append(append(ops, s.before[o]...), o), s.behind[o]...)
	}
	s.f.Ops = ops
	clear(s.before)
	clear(s.behind)
}
