package program

import "fmt"

// maxWalked bounds the instructions that are gone through where the instances of a
// run, or the turns of a task, have to be looked at one by one.
const maxWalked = 1 << 24

// hazards proves of a program that no instruction uses bytes of another for which it
// does not wait, or which a communication under way uses.
//
// The first instruction of a turn waits for all before it, and nothing is under way
// then. So each task is looked at alone: for one microbatch, where those of its buffers
// that meet one another move in one way from microbatch to microbatch, and else for
// every microbatch until their places come again; and apart from that in its first turn,
// if that calls other kernels. What is posted for the next turn is under way in all of
// a turn: see [hazards.ahead].
//
// The turns in the middle of a run are alike: every instruction is issued in each,
// and where buffers that meet one another move from instance to instance in one way,
// what meets in a turn, in two that follow one another, or with a communication that
// is under way, meets in the next ones as well, as many further on as the rings of
// the run have in common. So the first turns and the last ones stand for all, whatever
// the number of instances: see [hazards.steady]. Where it is not so, every turn is
// gone through.
type hazards struct {
	plan   *Plan
	device *Device
	prog   *Program
	when   moment
	free   accesses // since the last wait, that instruction included
	under  flights
	walked int
	reads  []span
	writes []span
}

func (p *Plan) validateHazards(d *Device, prog *Program) error {
	return (&hazards{plan: p, device: d, prog: prog}).all()
}

func (h *hazards) all() error {
	pieces, micros := h.prog.Pieces(), h.prog.micros()
	for j := range pieces {
		t := &pieces[j]
		for _, h.when = range h.moments(t, micros[j]) {
			if err := h.turn(t); err != nil {
				if t.Name != "" {
					err = fmt.Errorf("task %s: %w", t.Name, err)
				}
				return err
			}
		}
	}
	return h.ahead(pieces)
}

// turn goes through a task for one microbatch.
func (h *hazards) turn(t *Task) error {
	if err := h.device.walk(h.prog, t, h.visit, h.run); err != nil {
		return err
	}
	if err := h.free.conflict(); err != nil {
		return err
	}
	h.free = h.free[:0]
	return h.under.end()
}

// moments are turns of a task that stand for all of them.
func (h *hazards) moments(t *Task, micros []int) (out []moment) {
	if t.Once {
		return []moment{{micro: once}}
	}
	differs := false // in the first turn
	for i := t.From; i < t.To; i++ {
		differs = differs || h.prog.Instrs[i].First != nil
	}
	if out = append(out, moment{micros[0], true}); differs {
		micros = micros[1:]
	}
	period := h.period(t)
	seen := make([]bool, min(period, h.prog.Micro))
	if !differs {
		seen[micros[0]%period] = true
	}
	for _, m := range micros {
		if !seen[m%period] {
			seen[m%period] = true
			out = append(out, moment{m, false})
		}
	}
	return out
}

// period is after how many microbatches the buffers of a task are as far from one
// another as before: after each, where those that meet move in one way.
func (h *hazards) period(t *Task) int {
	used := map[int]bool{}
	var list []hull
	period := 1
	for i := t.From; i < t.To; i++ {
		for _, n := range h.prog.Instrs[i].Bufs {
			if used[n] {
				continue
			}
			used[n] = true
			b := &h.device.Buffers[n]
			lo, hi := b.ends()
			list = append(list, hull{span{b.Memory, lo, hi + b.reach()}, b.MicroStep, b.MicroRing})
			period = common(period, max(b.MicroRing, 1), h.prog.Micro)
		}
	}
	if clusters(list, alike) {
		return 1
	}
	return period
}

// common is the least common multiple of a and b, or most if it is more than that.
func common(a, b, most int) int {
	g, _ := gcd(a, b)
	if a/g > most/b {
		return most
	}
	return min(a/g*b, most)
}

func (h *hazards) visit(i, k int) error {
	if h.walked++; h.walked > maxWalked {
		return within(CountLimit, "%d instructions to look at one by one", int64(h.walked), maxWalked)
	}
	in, at := h.prog.Instrs[i].In(h.when.first), issue{i, k, h.when.micro}
	h.reads, h.writes = h.plan.spans(h.device, in, at, h.reads[:0], h.writes[:0])
	if in.Comm != nil {
		if err := in.Comm.apart(h.reads, h.writes); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if !in.NoWait && !h.device.with(h.prog, i, k) {
		if err := h.free.conflict(); err != nil {
			return err
		}
		h.free = h.free[:0]
	}
	h.free.add(h.walked, at, h.reads, false)
	h.free.add(h.walked, at, h.writes, true)
	return h.under.pass(at, in, h.reads, h.writes)
}

// run goes through the turns of a run, or through those that stand for all.
func (h *hazards) run(r *Run) error {
	count := h.device.Count(r.Stack)
	first, last := h.prog.turns(r, count)
	head, tail, ok := h.steady(r, count)
	if !ok {
		return h.device.all(h.prog, r, h.visit)
	}
	for t := first; t <= head; t++ {
		if err := h.prog.turn(r, count, t, h.visit); err != nil {
			return err
		}
	}
	if err := h.free.conflict(); err != nil {
		return err
	}
	h.free = h.free[:0]
	h.skip(r, count, tail-head-1)
	for t := tail; t <= last; t++ {
		if err := h.prog.turn(r, count, t, h.visit); err != nil {
			return err
		}
	}
	return nil
}

// steady says which turns of a run stand for all: those up to head, and those from
// tail on; not ok where all have to be gone through.
//
// In the turns from -least to count-1-most everything is issued. A window without a
// wait reaches from such a turn at most into the next one, if anything in the run
// waits. What is under way there was started in the run, by as many turns ahead as
// its done is behind, or before the run: that stays where it is, and is a hull of its
// own.
func (h *hazards) steady(r *Run, count int) (head, tail int, ok bool) {
	least, most := h.prog.aheads(r)
	period, waits := 1, false
	used := map[int]bool{}
	var list []hull
	starts := map[int]bool{}
	for i := r.From; i < r.To; i++ {
		in := &h.prog.Instrs[i]
		waits = waits || !in.NoWait && !r.Together
		if c := in.Comm; c != nil && c.Start {
			starts[i] = true
		} else if c != nil && c.Kind == Done {
			if c.Of < r.From || c.Of >= r.To {
				return 0, 0, false
			}
			delete(starts, c.Of)
		}
		for _, n := range in.Bufs {
			if !used[n] {
				used[n] = true
				b := &h.device.Buffers[n]
				list = append(list, h.device.hull(b, h.when.micro))
				if b.Ring == 0 || b.Ring == count {
					continue
				}
				g, _ := gcd(period, b.Ring)
				if period/g > count/b.Ring { // more than there are turns
					return 0, 0, false
				}
				period = period / g * b.Ring
			}
		}
	}
	head, tail = period-least, count-1-most
	if !waits || len(starts) > 0 || tail <= head+1 {
		return 0, 0, false
	}
	for _, x := range h.under.open {
		for _, s := range x.sends {
			list = append(list, hull{span: s})
		}
		for _, s := range x.into {
			list = append(list, hull{span: s})
		}
	}
	return head, tail, clusters(list, alike)
}

// skip goes on by so many turns: what is under way is then of instances as much
// further on.
func (h *hazards) skip(r *Run, count, turns int) {
	for n := range h.under.open {
		x := &h.under.open[n]
		if x.at.instr < r.From || x.at.instr >= r.To {
			continue
		}
		h.under.count(*x, -1)
		x.at.instance = r.number(r.number(x.at.instance, count)+turns, count)
		x.sends, x.into = h.plan.spans(h.device, &h.prog.Instrs[x.at.instr], x.at, nil, nil)
		h.under.count(*x, 1)
	}
}

func (x issue) String() string {
	s := fmt.Sprintf("instruction %d", x.instr)
	if x.instance != once {
		s += fmt.Sprintf(" of instance %d", x.instance)
	}
	if x.micro != once {
		s += fmt.Sprintf(" for microbatch %d", x.micro)
	}
	return s
}
