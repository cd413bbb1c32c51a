package sim

import (
	"fmt"

	"ptc/foresight/machine"
	"ptc/internal/wide"
)

// How says how a job is run.
type How struct {
	Alone  bool    // exchanges do not slow one another down, nor kernels
	Jitter float64 // standard deviation of a kernel's time, as a share of it
	Seed   uint64
	Trace  func(Span) // receives each turn, exchange and wait of a class when it ends; may be nil
}

// Span is a stretch of time of a class: a turn of a task, an exchange, or a wait for one.
type Span struct {
	Class      int
	Task       int // of a turn, else −1
	Micro      int
	Cause      string // of an exchange or a wait
	Waits      bool   // the class does nothing else
	Begin, End machine.PS
}

// engine is the state of a run.
type engine struct {
	*Job
	How
	now     machine.PS
	queue   queue
	class   []runner
	meeting [][]*flow // by group of several classes: collectives that some of them have not come to
	passed  []int     // by group: how many collectives all of them have come to
	working int64     // devices that compute
	posts   map[channel]*post
}

// runner is a class as it runs.
type runner struct {
	*Class
	number  int32
	turn    int
	event   int
	events  []event
	counts  []int64 // how often each event has been, of the task's events
	began   machine.PS
	handles []*flow // of exchanges that are started in this turn
	posted  []*flow // and of receives for the next one
	worked  bool    // the work of the event is done

	left    machine.PS // of the work under way
	since   machine.PS
	begun   machine.PS
	rate    int64
	version uint32

	waits   *flow // that the class waits for
	waited  machine.PS
	streams [2][]*flow
	uses    []use
	rates   []int64
	busy    int64 // processors that exchanges occupy, in parts of full
	busyOf  int32 // cause of the last of them
	issued  []int // by group: how many collectives
	spent   []machine.PS
	tally   map[*event][]int64
	ended   bool
	end     machine.PS
}

// channel is a stream of messages from one class to another.
type channel struct {
	from, to int32
	tag      int
}

// post is what one end of a channel has issued and the other not.
type post struct{ sends, receives []*flow }

// Run runs a job until all classes have ended.
func Run(j *Job, how How) (*Result, error) {
	e := &engine{Job: j, How: how, posts: map[channel]*post{}}
	n := j.groups
	e.meeting, e.passed = make([][]*flow, n), make([]int, n)
	e.class = make([]runner, len(j.Classes))
	for i := range e.class {
		c := &e.class[i]
		*c = runner{Class: &j.Classes[i], number: int32(i), rate: full, issued: make([]int, n), spent: make([]machine.PS, len(j.Causes)), tally: map[*event][]int64{}}
	}
	for i := range e.class {
		if c := &e.class[i]; len(c.turns) > 0 {
			e.begin(c)
			e.proceed(c)
		} else {
			c.ended = true
		}
	}
	for {
		x, ok := e.queue.pop()
		if !ok {
			break
		}
		e.now = x.at
		switch {
		case x.flow == nil && e.class[x.class].version == x.version:
			e.done(&e.class[x.class])
		case x.flow != nil && x.flow.version == x.version:
			e.flowed(x.flow)
		}
	}
	for i := range e.class {
		if c := &e.class[i]; !c.ended {
			return nil, fmt.Errorf("device %d waits for ever in turn %d of its step", c.Rank, c.turn)
		}
	}
	return e.result(), nil
}

// Free is the time of a step without contention: no run is shorter.
func Free(j *Job) (machine.PS, error) {
	r, err := Run(j, How{Alone: true})
	if err != nil {
		return 0, err
	}
	return r.Step, nil
}

// begin begins a turn: receives that it posts are issued, and those of the next one.
func (e *engine) begin(c *runner) {
	t := &c.turns[c.turn]
	k := &c.tasks[t.task]
	c.events, c.event, c.began = k.rest, 0, e.now
	if t.first {
		c.events = k.first
	}
	key := &c.events[0]
	if c.tally[key] == nil {
		c.tally[key] = make([]int64, len(c.events))
	}
	c.counts = c.tally[key]
	if c.handles, c.posted = c.posted, nil; c.handles == nil {
		c.handles = make([]*flow, k.handles)
	}
	if t.own {
		e.post(c, k, int(t.micro), c.handles)
	}
	if t.next {
		n := &c.turns[c.turn+1]
		c.posted = make([]*flow, c.tasks[n.task].handles)
		e.post(c, &c.tasks[n.task], int(n.micro), c.posted)
	}
}

// post issues the receives that a task posts.
func (e *engine) post(c *runner, k *task, micro int, handles []*flow) {
	for i := range k.posted {
		x := &k.posted[i]
		handles[x.handle] = e.issue(c, x.what, micro)
	}
}

// proceed goes on with a class until it works, waits or has ended.
func (e *engine) proceed(c *runner) {
	for {
		x := &c.events[c.event]
		if !c.worked && x.work > 0 {
			e.work(c, e.jittered(c, x.work))
			return
		}
		c.worked = false
		c.counts[c.event]++
		c.event++
		var f *flow
		switch x.kind {
		case nothing:
			e.traceTurn(c)
			if c.turn++; c.turn == len(c.turns) {
				c.ended, c.end = true, e.now
				return
			}
			e.begin(c)
			continue
		case started:
			f = e.issue(c, x.what, int(c.turns[c.turn].micro))
			if x.handle >= 0 {
				c.handles[x.handle] = f
			}
			continue
		case blocking:
			f = e.issue(c, x.what, int(c.turns[c.turn].micro))
		case done:
			f = c.handles[x.handle]
		}
		if f.state != ended {
			c.waits, c.waited = f, e.now
			return
		}
	}
}

// work begins work that takes t when the class has all its processors.
func (e *engine) work(c *runner, t machine.PS) {
	e.crowd(int64(c.Ranks))
	c.left, c.since, c.begun, c.rate = t, e.now, e.now, e.speed(c)
	c.version++
	e.queue.push(timed{at: e.now + stretched(t, c.rate), class: c.number, version: c.version})
}

// speed is how fast kernels run while exchanges occupy processors, and other devices compute on the same ones, in parts of full.
func (e *engine) speed(c *runner) int64 {
	if e.Alone {
		return full
	}
	capacity, wanted := e.sharing.Crowd(e.working)
	return max(1, wide.MulDiv(full-min(c.busy, full*9/10), capacity, wanted))
}

// crowd counts devices that begin to compute, or end. If all together want more processors than there are, others become slower,
// or faster.
func (e *engine) crowd(devices int64) {
	_, before := e.sharing.Crowd(e.working)
	e.working += devices
	if _, now := e.sharing.Crowd(e.working); now == before || e.Alone {
		return
	}
	for i := range e.class {
		e.retime(&e.class[i])
	}
}

// done ends the work of a class. What it took longer than alone is due to the exchange that occupied processors. On processors
// that devices share it is due to the work itself.
func (e *engine) done(c *runner) {
	x := &c.events[c.event]
	switch over := e.now - c.begun - x.work; {
	case over == 0:
	case e.sharing.Capacity > 0 && e.Jitter == 0:
		c.stretch(x, over)
	default:
		c.spent[e.overCause(c, over)] += over
	}
	e.traceFolded(c)
	c.left, c.worked = 0, true
	c.version++
	e.crowd(-int64(c.Ranks))
	e.proceed(c)
}

// stretch divides the time by which work took longer among its causes, as they divide the work.
func (c *runner) stretch(x *event, over machine.PS) {
	rest := over
	for _, p := range x.causes[1:] {
		t := machine.PS(wide.MulDiv(int64(over), int64(p.time), int64(x.work)))
		c.spent[p.cause] += t
		rest -= t
	}
	c.spent[x.causes[0].cause] += rest
}

// overCause is the cause of work that took longer, or shorter, than expected: jitter, or an exchange.
func (e *engine) overCause(c *runner, over machine.PS) int32 {
	if x := &c.events[c.event]; e.Jitter > 0 && len(x.causes) > 0 {
		return x.causes[0].cause
	}
	return c.busyOf
}

// occupy gives processors to an exchange, or takes them back.
func (e *engine) occupy(c *runner, f *flow, by int64) {
	if f.busy == 0 {
		return
	}
	c.busy += by
	c.busyOf = f.cause
	e.retime(c)
}

// retime has work under way go on at the speed that it has now.
func (e *engine) retime(c *runner) {
	if c.left == 0 || c.rate == e.speed(c) {
		return
	}
	c.left -= progress(e.now-c.since, c.rate)
	c.since, c.rate = e.now, e.speed(c)
	c.left = max(c.left, 1)
	c.version++
	e.queue.push(timed{at: e.now + stretched(c.left, c.rate), class: c.number, version: c.version})
}

// wake lets a class go on that waited for a flow.
func (e *engine) wake(c *runner) {
	f := c.waits
	c.waits = nil
	idle := max(0, min(f.joinedAt, e.now)-c.waited)
	cause := causeWait
	if f.stream == messages {
		cause = causeBubble
	}
	c.spent[cause] += idle
	c.spent[f.cause] += e.now - c.waited - idle
	e.traceWait(c, cause, c.waited, c.waited+idle)
	e.traceWait(c, f.cause, c.waited+idle, e.now)
	e.proceed(c)
}
