package order

import (
	"slices"

	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
	"ptc/passes/pass"
)

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

// ends reports whether o is at the end of a run or a tick, and no instruction.
func ends(o *ir.Op) bool {
	switch o.Name {
	case op.Enter, op.Leave, op.EnterTick, op.LeaveTick:
		return true
	}
	return false
}

// needed are the operations that wait. One that has to for an instance does for the
// later ones; the earlier ones wait without need then, and what is behind them has
// less to wait for. The first instruction of a task waits, so that nothing has to for
// what is in another tick.
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
		r, w := u.spots(o, k)
		first := o.Task != task
		if !o.TickAhead() { // what is received ahead is of another tick
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
		for o, k := range run.Order(ops) {
			visit(o, k)
		}
	})
	return must
}

// ofRun is what all instances of a run read and write, which is a call that none of them
// need wait for another one with.
func (u *use) ofRun(run *ir.Run, ops []*ir.Op) (reads, writes []excerpt.Spot, ok bool) {
	if len(ops) != 1 || ops[0].Callee == nil {
		return nil, nil, false
	}
	own := &use{x: u.x, at: u.at, touched: make([]touch, len(u.touched))}
	for _, k := range run.Order(ops) {
		r, w := own.spots(ops[0], k)
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
	reads, writes ranges.Map[bool]
	touched       []touch // frames
}

type touch struct{ read, written bool }

func (u *use) forget() {
	u.reads, u.writes = ranges.Map[bool]{}, ranges.Map[bool]{}
	clear(u.touched)
}

// clash reports whether an operation that reads and writes so has to wait.
func (u *use) clash(reads, writes []excerpt.Spot) bool {
	return slices.ContainsFunc(reads, func(s excerpt.Spot) bool { return u.meets(s, false) }) ||
		slices.ContainsFunc(writes, func(s excerpt.Spot) bool { return u.meets(s, true) })
}

// meets reports whether bytes that are written now were read or written, or bytes
// that are read were written.
func (u *use) meets(s excerpt.Spot, write bool) bool {
	before := func(s ranges.Span) bool { return u.writes.Any(s.Lo, s.Hi) || write && u.reads.Any(s.Lo, s.Hi) }
	for i, x := range u.x.Frames {
		if t := u.touched[i]; i+1 != s.Frame && x.Memory == ir.Device && s.Wide.Meets(x.Span) && (t.written || write && t.read) {
			return true
		}
	}
	return before(s.Span) || s.Frame > 0 && before(s.Wide)
}

func (u *use) add(reads, writes []excerpt.Spot) {
	for _, s := range reads {
		if u.reads.Set(s.Lo, s.Hi, true); s.Frame > 0 {
			u.touched[s.Frame-1].read = true
		}
	}
	for _, s := range writes {
		if u.writes.Set(s.Lo, s.Hi, true); s.Frame > 0 {
			u.touched[s.Frame-1].written = true
		}
	}
}

// spots lists the bytes that o reads and writes for instance k. What is in another
// memory only transfers touch, which wait in any case.
func (u *use) spots(o *ir.Op, k int) (reads, writes []excerpt.Spot) {
	list := func(values []*ir.Value) (out []excerpt.Spot) {
		for _, v := range values {
			if x := u.at.Of(v); x.Memory == ir.Device {
				lo := x.Place.Of(k, 0)
				out = append(out, u.x.Spot(ir.Device, lo, lo+x.Bytes()))
			}
		}
		return out
	}
	return list(o.Args), list(o.Results)
}
