package sim

import (
	"fmt"
	"slices"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/rolled"
	"ptc/runtime/program"
)

// class adds the class whose representative is a rank.
func (b *builder) class(number, rank int) error {
	c := Class{Rank: rank, Ranks: b.who.count[number], Device: int(b.who.device[rank])}
	w := b.writer(number, rank)
	n := max(len(w.prog.Tasks), 1)
	for i := range n {
		c.tasks = append(c.tasks, w.task(i))
	}
	c.turns, c.Lines = w.turns(), w.lines()
	if c.total() > longest {
		return fmt.Errorf("a step of the plan takes more than %d days on device %d of this machine", longest/day, rank)
	}
	b.Classes = append(b.Classes, c)
	return nil
}

// longest bounds what a class does in a step, so that times do not overflow.
const (
	day     = 86400 * machine.PS(1e12)
	longest = 10 * day
)

// total is the time of all that a class does in a step, one after the other; above longest it may be any number above it.
func (c *Class) total() (sum machine.PS) {
	for _, t := range c.turns {
		for _, e := range c.tasks[t.task].rest {
			if sum += e.work; e.what != nil {
				sum += min(e.what.Time, longest)
			}
			if sum > longest {
				return sum
			}
		}
	}
	return sum
}

// slowness is by how much the kernels of a rank take longer, in parts of full.
func (b *builder) slowness(rank int) int64 {
	f, ok := b.options.Slow[rank]
	if !ok {
		if f, ok = b.options.Slow[-1]; !ok {
			return full
		}
	}
	return int64(float64(full * max(f, 0)))
}

// turns are the turns of the class's program; one, if it has no tasks.
func (w *writer) turns() []turn {
	if len(w.prog.Tasks) == 0 {
		return []turn{{first: true}}
	}
	seen := make([]bool, len(w.prog.Tasks))
	out := make([]turn, len(w.prog.Ticks))
	for i, t := range w.prog.Ticks {
		own, next := w.order.Heads(i)
		out[i] = turn{task: int32(t.Task), micro: int32(t.Micro), first: !seen[t.Task], own: own, next: next}
		seen[t.Task] = true
	}
	return out
}

// writer turns the tasks of a program into events.
type writer struct {
	*builder
	prog        *program.Program
	order       *program.Order
	class, rank int
	slow        int64
	exchanges   map[int]*exchange // by instruction
	last        int               // instruction behind the backward pass of blocks; 0 without one
	repeated    map[int][]int     // what again returned
	flat        map[string]int64  // payload of all gradients that are reduced over axes, by kind and axes
}

// writer is that of a class and its representative.
func (b *builder) writer(class, rank int) *writer {
	d := &b.plan.Devices[b.who.device[rank]]
	prog := stepOf(d)
	w := &writer{
		builder: b, prog: prog, order: d.Order(prog), class: class, rank: rank, slow: b.slowness(rank), exchanges: map[int]*exchange{},
		flat: map[string]int64{}, repeated: map[int][]int{},
	}
	for _, r := range prog.Runs {
		if r.Down {
			w.last = max(w.last, r.To)
		}
	}
	return w
}

// task is the events of one task.
func (w *writer) task(i int) task {
	var ops []rolled.Issue
	if len(w.prog.Tasks) == 0 {
		ops = slices.Collect(w.order.Issues())
	} else {
		for op, instance := range w.order.InTick(i) {
			ops = append(ops, rolled.Issue{Op: op, Instance: instance})
		}
	}
	t, handles := w.started(ops)
	differs := slices.ContainsFunc(ops, func(o rolled.Issue) bool { return w.prog.Instrs[o.Op].First != nil })
	t.rest, t.posted = w.events(ops, handles, false)
	t.first = t.rest
	if differs {
		t.first, _ = w.events(ops, handles, true)
	}
	return t
}

// started is a task without its events, with a handle for each exchange that is started in it.
func (w *writer) started(ops []rolled.Issue) (t task, handles map[rolled.Issue]int32) {
	handles = map[rolled.Issue]int32{}
	for _, o := range ops {
		if c := w.prog.Instrs[o.Op].Comm; c != nil && c.Start {
			handles[o] = int32(t.handles)
			t.handles++
		}
	}
	return t, handles
}

// events are those of the operations of a turn, in order; receives that are posted in the turn before are apart.
func (w *writer) events(ops []rolled.Issue, handles map[rolled.Issue]int32, first bool) (out, posted []event) {
	fold := w.foldable(ops)
	s := &segment{slow: w.slow}
	add := func(e event) {
		e.work, e.causes = s.take()
		out = append(out, e)
	}
	for _, o := range ops {
		in := &w.prog.Instrs[o.Op]
		key := rolled.Issue{Op: o.Op, Instance: o.Instance}
		c := in.Comm
		w.repeat(s, o)
		switch {
		case c == nil:
			w.kernel(s, o, in.In(first))
		case c.Kind == collective.Done:
			if w.exchange(c.Of) != nil {
				add(event{kind: done, handle: handles[rolled.Issue{Op: c.Of, Instance: o.Instance}]})
			}
		case c.Kind == collective.ShardSlice:
			s.add(causeCopy, w.model.Part(w.model.Sweep(2*c.Bytes), 1)+w.model.Launch(), false)
		case w.exchange(o.Op) == nil:
		case c.Start && w.order.Posted(o.Op):
			posted = append(posted, event{kind: started, what: w.exchange(o.Op), handle: handles[key]})
		case c.Start:
			add(event{kind: started, what: w.exchange(o.Op), handle: handles[key]})
		case w.exchange(o.Op).send:
			add(event{kind: started, what: w.exchange(o.Op), handle: -1})
			if w.options.Blocking { // while the message goes
				s.add(w.exchange(o.Op).cause, w.exchange(o.Op).Time, false)
			}
		case fold && w.exchange(o.Op).stream == collectives && len(w.exchange(o.Op).classes) == 1:
			s.issued(w.hostOf(o.Op))
			s.add(w.exchange(o.Op).cause, w.exchange(o.Op).Time, false)
			s.waited(w.exchange(o.Op).Time, w.options.Profiled)
		default:
			s.issued(w.hostOf(o.Op))
			add(event{kind: blocking, what: w.exchange(o.Op), handle: -1})
			s.device += w.exchange(o.Op).Time
			s.waited(w.exchange(o.Op).Time, w.options.Profiled)
		}
	}
	add(event{kind: nothing})
	return out, posted
}

// exchange is that of an instruction, made once.
func (w *writer) exchange(op int) *exchange {
	x, ok := w.exchanges[op]
	if !ok {
		x = w.exchangeOf(w.class, w.rank, &w.prog.Instrs[op], w.together(&w.prog.Instrs[op]))
		if r := w.options.MessageRate; r > 0 && x != nil && x.stream == messages && !w.atOnce(op) {
			x.Time = x.Latency + machine.Picoseconds(float64(w.prog.Instrs[op].Comm.Bytes)/r)
		}
		w.exchanges[op] = x
	}
	return x
}

// foldable reports whether collectives among one class are part of its work: nothing that goes on at the same time uses
// a resource of theirs, as nothing but messages does, which use other levels. Devices that share processors compute on those that an
// exchange leaves them.
func (w *writer) foldable(ops []rolled.Issue) bool {
	if w.sharing.Capacity > 0 {
		return false
	}
	used := make([]int64, 2*len(w.Cluster.Levels)+2)
	for i := range w.prog.Instrs {
		if c := w.prog.Instrs[i].Comm; c != nil && collective.Of(c.Kind).Message {
			if x := w.exchange(i); x != nil {
				for r := range used {
					used[r] += x.demand[0][r] + x.demand[1][r]
				}
			}
		}
	}
	for _, o := range ops {
		c := w.prog.Instrs[o.Op].Comm
		if c == nil || c.Kind == collective.Done || c.Kind == collective.ShardSlice || collective.Of(c.Kind).Message {
			continue
		}
		if c.Start {
			return false
		}
		x := w.exchange(o.Op)
		for r := range used {
			if x != nil && x.demand[0][r] > 0 && used[r] > 0 {
				return false
			}
		}
	}
	return true
}

// kernel adds a launch.
func (w *writer) kernel(s *segment, o rolled.Issue, in *program.Instr) {
	k := &w.kernels[in.Kernel]
	if k.none {
		return
	}
	t, once := k.time, w.atOnce(o.Op)
	if once {
		t = w.model.AtOnce(t)
	}
	if w.order.Launches(o.Op, w.order.Instances(o.Op)) > 0 && !w.joins(o) {
		s.issued(w.hostOf(o.Op))
		s.add(k.cause, w.model.Launch(), true)
	}
	s.add(k.cause, t, true)
}

// joins reports whether an instance is launched together with the one before it.
func (w *writer) joins(o rolled.Issue) bool {
	r := w.order.RunOf(o.Op)
	return r >= 0 && w.prog.Runs[r].Together && o.Instance != w.order.Runs[r].Number(0)
}
