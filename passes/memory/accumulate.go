package memory

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// accumulated has what ticks add up be added in place: what leaves a tick is written
// over what entered it, by the operation that reads that last. Where that cannot be, a
// copy is.
func (p *planner) accumulated(f *ir.Func) {
	if len(f.Tasks) == 0 {
		return
	}
	l := p.apart(f)
	readers := map[*ir.Value][]*ir.Op{}
	for _, o := range f.Ops {
		for _, v := range o.Args {
			if !ends(o) && (len(readers[v]) == 0 || readers[v][len(readers[v])-1] != o) {
				readers[v] = append(readers[v], o)
			}
		}
	}
	elsewhere := l.time.elsewhere()
	ins := &insertions{p: p, f: f, before: map[*ir.Op][]*ir.Op{}, behind: map[*ir.Op][]*ir.Op{}}
	left := map[*ir.Value]bool{}
	moved := map[*ir.Op]bool{}
	for _, o := range f.Ops {
		if o.Name != op.LeaveTick {
			continue
		}
		x, y := o.Args[0], o.Args[1]
		if !left[y] && !elsewhere[y] && l.plain(y) && p.adds(o, readers[x]) {
			left[y] = true
			continue
		}
		p.c.Because(o, "the sum over turns is copied to its place: its operation cannot write it over the sum that entered")
		last := o // what leaves is written when nothing reads what entered any more
		for _, r := range readers[x] {
			if l.time.at(r) > l.time.at(last) {
				last = r
			}
		}
		c := ins.call(y, o)
		c.Run = o.Run
		for _, r := range append(slices.Clone(readers[x]), y.Def) {
			if r != nil && r.Run == c.Run {
				c.Ahead = min(c.Ahead, r.Ahead)
			}
		}
		o.Args[1] = c.Results[0]
		if last == o {
			ins.before[o] = append(ins.before[o], c)
			continue
		}
		ins.behind[last] = append(ins.behind[last], c, o)
		moved[o] = true
	}
	f.Ops = slices.DeleteFunc(f.Ops, func(o *ir.Op) bool { return moved[o] })
	ins.apply()
}

// adds reports whether what leaves a tick is written in place, over what entered it.
func (p *planner) adds(leave *ir.Op, readers []*ir.Op) bool {
	x, y := leave.Args[0], leave.Args[1]
	d := y.Def
	if d == nil || ends(d) || d.Task != leave.Task || d.Run != leave.Run || len(readers) > 1 {
		return false
	}
	if len(readers) == 0 {
		return true
	}
	n, j := slices.Index(d.Args, x), slices.Index(d.Results, y)
	return readers[0] == d && !usedTwice(d, x) && p.mayOverwrite(d, n, j)
}

// mayOverwrite reports whether o may write result j over operand n, in the first tick
// of its task as in the others. What enters a tick does not in the first one.
func (p *planner) mayOverwrite(o *ir.Op, n, j int) bool {
	if !mayOverwrite(o, p.kernel(o), n, j) {
		return false
	}
	entered := func(v *ir.Value) bool { return v.Def != nil && v.Def.Name == op.EnterTick }
	if o.First == nil || entered(o.Args[n]) {
		return true
	}
	at := n
	for _, v := range o.Args[:n] {
		if entered(v) {
			at--
		}
	}
	return p.kernels[o.First].InPlace(at, j)
}

// accumulate puts what enters a tick, what it adds up to, and what leaves it in one
// place, which all ticks have.
func (l *layout) accumulate() {
	for _, o := range l.f.Ops {
		if o.Name == op.LeaveTick {
			l.join(o.Args[1], o.Args[0], 0)
			l.join(o.Result(), o.Args[0], 0)
		}
	}
}
