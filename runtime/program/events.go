package program

import (
	"slices"

	"ptc/internal/collective"
)

// part is what a program of a device does among devices. Instructions that wait for
// no other device are left out, so that a run of them costs nothing. What a task does is
// there once: an event's number says in which tick it is, and where in the tick.
type part struct {
	order *Order
	tasks [][]event // of one tick of each task
	begun []int     // how many of them, which come first, are posted
	first []int     // by tick, the number of its first event; behind the last, how many there are
	ahead []posts
}

// posts are the posted receives with which a tick begins: its own, and those of the next
// one.
type posts struct{ own, next int }

// event is an instruction for an instance; of a done, with the place in the tick of what
// it waits for.
type event struct{ instr, instance, of int }

// newPart lists what a program does among devices, of which some instructions matter.
func newPart(o *Order, matters func(prog *Program, i int) bool) (*part, error) {
	x := &part{order: o, first: []int{0}}
	for task := range o.Tasks {
		list, err := eventsOf(o, task, matters)
		if err != nil {
			return nil, err
		}
		x.tasks, x.begun = append(x.tasks, list), append(x.begun, len(o.PostedOf(task)))
	}
	for i, t := range o.Ticks {
		var a posts
		own, next := o.Heads(i)
		if own {
			a.own = x.begun[t.Task]
		}
		if next {
			a.next = x.begun[o.Ticks[i+1].Task]
		}
		x.ahead = append(x.ahead, a)
		n := x.first[i] + a.own + a.next + len(x.tasks[t.Task]) - x.begun[t.Task]
		if err := within(CountLimit, "%d communications of all instances to look at one by one", int64(n), maxWalked); err != nil {
			return nil, err
		}
		x.first = append(x.first, n)
	}
	return x, nil
}

// eventsOf lists what a program does among devices in a tick of a task.
func eventsOf(o *Order, task int, matters func(prog *Program, i int) bool) (events []event, err error) {
	started := map[event]int{}
	add := func(i, k int) {
		x := event{instr: i, instance: k}
		if c := o.prog.Instrs[i].Comm; c.Start {
			started[x] = len(events)
		} else if c.Kind == collective.Done {
			x.of = started[event{instr: c.Of, instance: k}]
		}
		events = append(events, x)
	}
	for i, run := range o.Parts(task) {
		if run == nil {
			if matters(o.prog, i) {
				add(i, once)
			}
			continue
		}
		some := make([]bool, run.To-run.From)
		for j := range some {
			some[j] = matters(o.prog, run.From+j)
		}
		if !slices.Contains(some, true) {
			continue
		}
		for i, k := range o.Program.Order(run) {
			if some[i-run.From] && len(events) <= maxWalked {
				add(i, k)
			}
		}
	}
	return events, within(CountLimit, "%d communications of all instances to look at one by one", int64(len(events)), maxWalked)
}

// event is event i, with the tick that it is of and the instruction, which is nil behind
// the last one.
func (x *part) event(i int) (tick int, at event, in *Instr) {
	if i >= x.first[len(x.first)-1] {
		return 0, event{}, nil
	}
	tick, k := x.in(i)
	at = x.tasks[x.order.Ticks[tick].Task][k]
	return tick, at, &x.order.prog.Instrs[at.instr]
}

// at is the number of an event of a tick, by its place in the task.
func (x *part) at(tick, k int) int {
	a, posted := x.ahead[tick], x.begun[x.order.Ticks[tick].Task]
	switch {
	case k >= posted:
		return x.first[tick] + a.own + a.next + k - posted
	case a.own == 0: // in the tick before
		return x.first[tick-1] + x.ahead[tick-1].own + k
	}
	return x.first[tick] + k
}

// in is which tick event i is of, and its place in the task.
func (x *part) in(i int) (tick, k int) {
	next, _ := slices.BinarySearch(x.first, i+1) // the first that begins behind i
	tick = next - 1
	a := x.ahead[tick]
	switch k = i - x.first[tick]; {
	case k < a.own:
		return tick, k
	case k < a.own+a.next:
		return tick + 1, k - a.own
	}
	return tick, k - a.own - a.next + x.begun[x.order.Ticks[tick].Task]
}
