package program

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/internal/rolled"
)

// hazards proves of a program that no instruction uses bytes of another for which it
// does not wait, or which a communication under way uses.
//
// The first instruction of a tick waits for all before it, and nothing is under way
// then. So each task is looked at alone: for one microbatch, where those of its buffers
// that meet one another move in one way from microbatch to microbatch, and else for
// every microbatch until their places come again; and apart from that in its first tick,
// if that calls other kernels. What is posted for the next tick is under way in all of
// a tick: see [early]. Of a run, few instances stand for all where the theorem of
// internal/rolled says so.
type hazards struct {
	kernels []Kernel
	device  *Device
	order   *Order
	when    rolled.Issue // the microbatch, and whether the tick is the first
	free    accesses     // since the last wait, that instruction included
	under   flights
	walked  int
	reads   []span
	writes  []span
}

func (h *hazards) all() error {
	if err := h.ticks(); err != nil {
		return err
	}
	return (&early{h.kernels, h.device, h.order, h.walked}).check()
}

// ticks goes through the tasks, each by itself.
func (h *hazards) ticks() error {
	micros := make([][]int, len(h.order.Tasks)) // in the order of ticks
	for _, t := range h.order.Ticks {
		micros[t.Task] = append(micros[t.Task], t.Micro)
	}
	for task := range h.order.Tasks {
		for _, h.when = range h.moments(task, micros[task]) {
			if err := h.tick(task); err != nil {
				if tasks := h.order.prog.Tasks; len(tasks) > 0 {
					err = fmt.Errorf("task %s: %w", tasks[task].Name, err)
				}
				return err
			}
		}
	}
	return nil
}

// tick goes through a task for one microbatch.
func (h *hazards) tick(task int) error {
	for i, r := range h.order.Parts(task) {
		err := error(nil)
		if r == nil {
			err = h.visit(i, once)
		} else {
			err = h.run(r)
		}
		if err != nil {
			return err
		}
	}
	h.free.forget()
	return h.under.end()
}

// moments are ticks of a task that stand for all of them.
func (h *hazards) moments(task int, micros []int) (out []rolled.Issue) {
	t := h.order.Tasks[task]
	if t.Once {
		return []rolled.Issue{{Micro: once}}
	}
	differs := false // in the first tick
	for i := t.From; i < t.To; i++ {
		differs = differs || h.order.prog.Instrs[i].First != nil
	}
	if out = append(out, rolled.Issue{Micro: micros[0], First: true}); differs {
		micros = micros[1:]
	}
	period := h.period(t)
	seen := make([]bool, min(period, h.order.Micro))
	if !differs {
		seen[micros[0]%period] = true
	}
	for _, m := range micros {
		if !seen[m%period] {
			seen[m%period] = true
			out = append(out, rolled.Issue{Micro: m})
		}
	}
	return out
}

// buffers are those that the instructions from one to another use, each once.
func (h *hazards) buffers(from, to int) (out []*Buffer) {
	used := map[int]bool{}
	for i := from; i < to; i++ {
		for _, n := range h.order.prog.Instrs[i].Bufs {
			if !used[n] {
				used[n] = true
				out = append(out, &h.device.Buffers[n])
			}
		}
	}
	return out
}

// period is after how many microbatches the buffers of a task are as far from one
// another as before: after each, where those that meet move in one way.
func (h *hazards) period(t rolled.Task) int {
	var hulls []rolled.Hull[string]
	period := 1
	for _, b := range h.buffers(t.From, t.To) {
		all := b.all()
		hulls = append(hulls, rolled.Hull[string]{Memory: b.Memory, Lo: all.Lo, Hi: all.Hi, Moves: b.Spread().Micro()})
		period = rolled.Common(period, max(b.MicroRing, 1), h.order.Micro)
	}
	if rolled.Alike(hulls) {
		return 1
	}
	return period
}

func (h *hazards) visit(i, k int) error {
	if h.walked++; h.walked > maxWalked {
		return within(CountLimit, "%d instructions to look at one by one", int64(h.walked), maxWalked)
	}
	at := h.when
	at.Op, at.Instance = i, k
	in := h.order.prog.Instrs[i].In(at.First)
	h.reads, h.writes = h.device.spans(h.kernels, in, at, h.reads[:0], h.writes[:0])
	if in.Comm != nil {
		if err := in.Comm.apart(h.reads, h.writes); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if !in.NoWait && !h.order.with(i, k) {
		h.free.forget()
	}
	if err := h.free.add(at, h.reads, h.writes); err != nil {
		return err
	}
	return h.under.pass(at, in, h.reads, h.writes)
}

// run goes through a run, or through as many of its instances as stand for all: the first
// ones and the last ones. Where they part, instances are left out, and what is under way
// is then of instances as much further on.
func (h *hazards) run(r *rolled.Run) error {
	few, part := h.few(r)
	ahead := func(i int) int { return h.order.Ahead(r.From + i) }
	left := 0
	for i, n := range (rolled.Way{Count: few}).Order(r.To-r.From, ahead) {
		if n-ahead(i) >= part && left < r.Count-few {
			h.free.forget()
			left = r.Count - few
			h.skip(r, left)
		}
		if err := h.visit(r.From+i, r.Number(n+left)); err != nil {
			return err
		}
	}
	return nil
}

// few is how many instances of a run stand for all, and the iteration in which they part.
//
// All that there are have to be gone through unless every iteration waits, so that what does
// not wait reaches at most into the next one; what is under way was started in
// the run, by as many iterations ahead as its done is behind, or before the run: that stays
// where it is; and the buffers that meet one another move in one way. The reach of rows
// is 0: two instances are in use at once only as far as operations are ahead.
func (h *hazards) few(r *rolled.Run) (few, part int) {
	least, most := h.order.Aheads(r)
	period, waits := 1, false
	starts := map[int]bool{}
	for i := r.From; i < r.To; i++ {
		in := &h.order.prog.Instrs[i]
		waits = waits || !in.NoWait && !h.order.prog.Runs[h.order.RunOf(i)].Together
		if c := in.Comm; c != nil && c.Start {
			starts[i] = true
		} else if c != nil && c.Kind == collective.Done {
			if c.Of < r.From || c.Of >= r.To {
				return r.Count, 0
			}
			delete(starts, c.Of)
		}
	}
	var hulls []rolled.Hull[string]
	for _, b := range h.buffers(r.From, r.To) {
		hulls = append(hulls, h.device.hull(b, h.when.Micro))
		if b.Ring > 0 && b.Ring < r.Count {
			period = rolled.Common(period, b.Ring, r.Count)
		}
	}
	few = rolled.Few(r.Count, period, most-least, 0)
	if !waits || len(starts) > 0 || few == r.Count {
		return r.Count, 0
	}
	for _, x := range h.under.open {
		for _, s := range slices.Concat(x.sends, x.into) {
			hulls = append(hulls, rolled.Hull[string]{Memory: s.memory, Lo: s.lo, Hi: s.hi})
		}
	}
	if !rolled.Alike(hulls) {
		return r.Count, 0
	}
	return few, period - least + 1
}

// skip goes on by so many instances in what is under way.
func (h *hazards) skip(r *rolled.Run, by int) {
	for n := range h.under.open {
		x := &h.under.open[n]
		if x.at.Op < r.From || x.at.Op >= r.To {
			continue
		}
		h.under.count(*x, -1)
		x.at.Instance = r.Number(r.Number(x.at.Instance) + by)
		x.sends, x.into = h.device.spans(h.kernels, &h.order.prog.Instrs[x.at.Op], x.at, nil, nil)
		h.under.count(*x, 1)
	}
}
