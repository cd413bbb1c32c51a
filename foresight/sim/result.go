package sim

import (
	"cmp"
	"slices"
	"strings"

	"ptc/foresight/machine"
)

// Result is how a step goes.
type Result struct {
	Step    machine.PS
	Last    int     // the class that ends last
	ByCause []Cause // of that class; they add up to Step
	Classes []Spent
}

// Cause is the time that a class spends on something: compute.CLASS of kernels, comm.AXIS of exchanges that nothing hides, copy,
// bubble of waiting for a message that is not sent yet, wait for the other members of a group, host.
type Cause struct {
	Name string
	Time machine.PS
}

// Spent is the time of one class: its own end, and its times by the numbers of Job.Causes, which add up to the step.
type Spent struct {
	End     machine.PS
	ByCause []machine.PS
}

// result sums up a run.
func (e *engine) result() *Result {
	r := &Result{}
	for i := range e.class {
		if c := &e.class[i]; c.end > r.Step || i == 0 {
			r.Step, r.Last = c.end, i
		}
	}
	for i := range e.class {
		c := &e.class[i]
		for k := range c.tasks {
			c.count(c.tasks[k].rest)
			if &c.tasks[k].first[0] != &c.tasks[k].rest[0] {
				c.count(c.tasks[k].first)
			}
		}
		c.spent[c.idleCause()] += r.Step - c.end
		r.Classes = append(r.Classes, Spent{End: c.end, ByCause: c.spent})
	}
	for i, t := range r.Classes[r.Last].ByCause {
		if t != 0 {
			r.ByCause = append(r.ByCause, Cause{e.Causes[i], t})
		}
	}
	slices.SortStableFunc(r.ByCause, func(a, b Cause) int { return cmp.Compare(b.Time, a.Time) })
	return r
}

// count adds the work of events, as often as they were.
func (c *runner) count(events []event) {
	for i, n := range c.tally[&events[0]] {
		for _, p := range events[i].causes {
			c.spent[p.cause] += p.time * machine.PS(n)
		}
	}
}

// idleCause is what a class does that has ended before others: of a pipeline, it is idle.
func (c *runner) idleCause() int32 {
	if len(c.turns) > 1 {
		return causeBubble
	}
	return causeWait
}

func (e *engine) traceTurn(c *runner) {
	if e.Trace != nil {
		t := &c.turns[c.turn]
		e.Trace(Span{Class: int(c.number), Task: int(t.task), Micro: int(t.micro), Begin: c.began, End: e.now})
	}
}

// traceWait reports that a class waits; no time at all is no wait.
func (e *engine) traceWait(c *runner, cause int32, begin, end machine.PS) {
	if e.Trace != nil && end > begin {
		e.Trace(Span{Class: int(c.number), Task: -1, Cause: e.Causes[cause], Waits: true, Begin: begin, End: end})
	}
}

// traceFolded reports the exchanges that are part of the work that has ended. Work has no order, so they stand at its end.
func (e *engine) traceFolded(c *runner) {
	if e.Trace == nil {
		return
	}
	end := e.now
	for _, p := range c.events[c.event].causes {
		if strings.HasPrefix(e.Causes[p.cause], commPrefix) {
			begin := max(end-p.time, c.begun)
			e.traceWait(c, p.cause, begin, end)
			end = begin
		}
	}
}

func (e *engine) traceFlow(f *flow) {
	if e.Trace == nil {
		return
	}
	for at, i := range f.classes {
		if at == 0 || i != f.classes[0] {
			e.Trace(Span{Class: int(i), Task: -1, Cause: e.Causes[f.cause], Begin: f.since, End: e.now})
		}
	}
}

// jittered is work with a random part: a sum of twelve uniform numbers, which is nearly normal. The seed and the place of the
// work in the step determine it.
func (e *engine) jittered(c *runner, work machine.PS) machine.PS {
	if e.Jitter == 0 {
		return work
	}
	h := mix(e.Seed + mix(uint64(c.number)<<40+uint64(c.turn)<<16+uint64(c.event)))
	sum := int64(-6 * full)
	for range 12 {
		h = mix(h)
		sum += int64(h % full)
	}
	part := full + int64(float64(float64(sum)*e.Jitter))
	return machine.PS(scaled(int64(work), max(part, full/10)))
}
