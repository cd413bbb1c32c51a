package order

import (
	"slices"
	"sort"

	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
	"ptc/passes/pass"
)

type span struct{ lo, hi int64 }

// spanSet is bytes: spans that do not touch one another, by lo. Any number of calls
// may follow one another without a wait, so that finding one takes logarithmic
// time.
type spanSet []span

// after is the first span of x that ends behind at.
func (x spanSet) after(at int64) int {
	return sort.Search(len(x), func(i int) bool { return x[i].hi > at })
}

func (x spanSet) meets(s span) bool {
	i := x.after(s.lo)
	return i < len(x) && x[i].lo < s.hi
}

// add joins spans with those that they meet or touch.
func (x *spanSet) add(spans []span) {
	for _, s := range spans {
		if s.lo >= s.hi {
			continue
		}
		i := x.after(s.lo - 1)
		j := i
		for ; j < len(*x) && (*x)[j].lo <= s.hi; j++ {
			s.lo, s.hi = min(s.lo, (*x)[j].lo), max(s.hi, (*x)[j].hi)
		}
		*x = slices.Replace(*x, i, j, s)
	}
}

// Run sets wait on every call. An operation of a run waits if it has to for any
// instance, which an excerpt shows: few instances, whatever the number of layers.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		waits := 0
		x := excerpt.Of(f)
		must := needed(x)
		for i, o := range f.Ops {
			if ends(o) {
				continue
			}
			if o.Wait = must[x.F.Ops[i]]; o.Wait == ir.WaitUnset {
				o.Wait = ir.NoWait
			} else {
				waits++
			}
		}
		c.Remarkf(nil, "@%s: %d calls, %d waits", f.Name, len(f.Ops), waits)
	}
	return nil
}

// ends reports whether o is at the end of a run or a turn, and no instruction.
func ends(o *ir.Op) bool {
	switch o.Name {
	case op.Enter, op.Leave, op.EnterTurn, op.LeaveTurn:
		return true
	}
	return false
}

// needed are the operations that wait. One that has to for an instance does for the
// later ones; the earlier ones wait without need then, and what is behind them has
// less to wait for. The first instruction of a task waits, so that nothing has to for
// what is in another turn.
func needed(x excerpt.Excerpt) map[*ir.Op]ir.Wait {
	u := &use{x: x, at: ir.ByValueOf[excerpt.Placed](x.F), touched: make([]touch, len(x.Frames))}
	for _, v := range excerpt.Places(x.F) {
		u.at.Set(v.Value, v)
	}
	must := map[*ir.Op]ir.Wait{}
	var task *ir.Task // that has begun
	visit := func(o *ir.Op, k int) {
		if op.Has(o, op.InPlace) || ends(o) {
			return
		}
		r, w := u.spans(o, k)
		first := o.Task != task
		if !o.TurnAhead() { // what is received ahead is of another turn
			task = o.Task
		}
		if must[o] != ir.WaitUnset || first || op.Of(o).Class == op.Collective || u.clash(r, w) {
			must[o] = ir.WaitAll
			u.forget()
		}
		u.add(r, w)
	}
	x.F.Runs(func(run *ir.Run, ops []*ir.Op) {
		if run == nil {
			visit(ops[0], 0)
			return
		}
		if reads, writes, ok := u.ofRun(run, ops); ok {
			if first := ops[0].Task != task; first || u.clash(reads, writes) {
				must[ops[0]] = ir.WaitFirst
				u.forget()
			}
			task = ops[0].Task
			u.add(reads, writes)
			return
		}
		for o, k := range run.Turns(ops) {
			visit(o, k)
		}
	})
	return must
}

// ofRun is what all instances of a run read and write, which is a call that none of them
// need wait for another one with.
func (u *use) ofRun(run *ir.Run, ops []*ir.Op) (reads, writes []span, ok bool) {
	if len(ops) != 1 || ops[0].Callee == nil {
		return nil, nil, false
	}
	own := &use{x: u.x, at: u.at, touched: make([]touch, len(u.touched))}
	for _, k := range run.Turns(ops) {
		r, w := own.spans(ops[0], k)
		if own.clash(r, w) {
			return nil, nil, false
		}
		own.add(r, w)
		reads, writes = append(reads, r...), append(writes, w...)
	}
	return reads, writes, true
}

// use is the bytes that are in use since the last wait: those of frames, which have
// addresses of their own, and all others.
type use struct {
	x             excerpt.Excerpt
	at            ir.ByValue[excerpt.Placed]
	reads, writes spanSet
	touched       []touch // frames
}

type touch struct{ read, written bool }

func (u *use) forget() {
	u.reads, u.writes = u.reads[:0], u.writes[:0]
	clear(u.touched)
}

// frame is that in which s is, or -1.
func (u *use) frame(s span) int {
	n, _ := u.x.Frame(ir.Device, s.lo)
	return n
}

// clash reports whether an operation that reads and writes so has to wait.
func (u *use) clash(reads, writes []span) bool {
	return slices.ContainsFunc(reads, func(s span) bool { return u.meets(s, false) }) ||
		slices.ContainsFunc(writes, func(s span) bool { return u.meets(s, true) })
}

// meets reports whether bytes that are written now were read or written, or bytes
// that are read were written. To all that is not of the same frame, a span in it is as
// wide as the frame.
func (u *use) meets(s span, write bool) bool {
	mine, wide := u.frame(s), s
	before := func(s span) bool {
		return u.writes.meets(s) || write && u.reads.meets(s)
	}
	if mine >= 0 {
		wide = span{u.x.Frames[mine].Lo, u.x.Frames[mine].Hi}
		if before(wide) {
			return true
		}
	}
	for i, x := range u.x.Frames {
		if t := u.touched[i]; i != mine && x.Memory == ir.Device && wide.lo < x.Hi && x.Lo < wide.hi && (t.written || write && t.read) {
			return true
		}
	}
	return before(s)
}

func (u *use) add(reads, writes []span) {
	for _, s := range reads {
		if i := u.frame(s); i >= 0 {
			u.touched[i].read = true
		}
	}
	for _, s := range writes {
		if i := u.frame(s); i >= 0 {
			u.touched[i].written = true
		}
	}
	u.reads.add(reads)
	u.writes.add(writes)
}

// spans lists the bytes that o reads and writes for instance k. What is in another
// memory only transfers touch, which wait in any case.
func (u *use) spans(o *ir.Op, k int) (reads, writes []span) {
	list := func(values []*ir.Value) (out []span) {
		for _, v := range values {
			if x := u.at.Of(v); x.Memory == ir.Device {
				lo := x.Place.Of(k, 0)
				out = append(out, span{lo, lo + x.Bytes()})
			}
		}
		return out
	}
	return list(o.Args), list(o.Results)
}
