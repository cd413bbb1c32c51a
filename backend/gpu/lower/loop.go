package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

func init() { effects[tile.For], effects[tile.If] = (*task).loop, (*task).branch }

// branch runs one of two blocks of code, for all threads of the task.
func (t *task) branch(o *tile.Op) {
	at := t.own(o.Results)
	arm := func(body *tile.Block) func() []*thread.Value {
		return func() (out []*thread.Value) {
			t.within(func() {
				t.block(body)
				out = t.all(body.Yield, at)
			})
			return out
		}
	}
	flat := t.If(t.scalar(o.Args[0]), arm(o.Then), arm(o.Else))
	t.spread(o.Results, at, flat)
}

// own are the layouts of values that are in layouts of their own.
func (s *values) own(vs []*tile.Value) []*layout.Layout {
	out := make([]*layout.Layout, len(vs))
	for i, v := range vs {
		out[i] = s.phase.Own(v)
	}
	return out
}

// loop visits the blocks of a range. Its bounds are the same for all threads.
func (t *task) loop(o *tile.Op) {
	x := t.phase.Loops[o]
	for _, v := range x.Shared {
		t.share(v.V, v.In)
	}
	from, to := t.bounds(o)
	var flat []*thread.Value
	t.Near(x.Approximate, func() {
		if t.shared != nil && t.shared.loop() == o {
			flat = t.shared.iterate(from, to, x.Carried)
		} else {
			flat = t.iterate(o, x, from, to)
		}
	})
	t.spread(o.Results, x.Carried, flat)
}

// bounds are the blocks that loop o begins with and ends before.
func (s *values) bounds(o *tile.Op) (from, to *thread.Value) {
	r := o.Range
	from, to = s.i32(0), s.i32(r.Blocks())
	if v := o.Loop.From; v != nil { // the block that position From is in
		x := s.Min(s.Max(s.scalar(v), s.i32(0)), s.i32(r.Extent))
		from = s.Select(s.Lt(x, s.i32(r.Extent)), s.Div(x, s.i32(r.Size)), to)
	}
	if v := o.Loop.To; v != nil {
		x := s.Min(s.Max(s.scalar(v), s.i32(0)), s.i32(r.Extent))
		to = s.Div(s.Add(x, s.i32(r.Size-1)), s.i32(r.Size))
	}
	return from, to
}

// iterate makes loop o for the blocks [from, to), and gives the registers that it carries.
func (t *task) iterate(o *tile.Op, x *assign.Loop, from, to *thread.Value) (flat []*thread.Value) {
	if x.Pipeline != nil {
		return pipelined(t, x.Pipeline).run(from, to, x.Carried)
	}
	one := func(i *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		t.within(func() {
			t.enter(o.Range, i)
			t.body(o, x.Carried, carry)
			next = t.all(o.Loop.Body.Yield, x.Carried)
		})
		return next
	}
	init := t.all(o.Args, x.Carried)
	t.Overlay(func() { flat = t.Loop(from, to, 1, init, one) }) // whoever writes to shared memory waits before
	delete(t.first, o.Range)
	return flat
}
