package program

import (
	"errors"
	"fmt"
	"slices"

	"ptc/internal/progress"
)

// InFlight is how many messages of one stream (sender, receiver, tag) can be
// sent and not yet received; a send waits for room among them.
const InFlight = 4

// validateMeetings proves that the communications of every program meet: members
// of a group issue the same ones in the same order, every message that is sent
// is received, and no device waits for ever.
//
// Where one program runs on all devices and sends no message, there is nothing
// to prove. Otherwise the programs are run, without their kernels: a device
// stops where it waits for a collective until all members have issued it, at a
// receive until there is a message, and at a send until there is room. A message whose
// receive was started is taken where that is done, whatever room its sender has before.
// One run proves it for all (package progress). Nor do devices differ that run the same
// and stand alike to all others: one of them goes for all, see [rehearsal.symmetric].
// What is then left to wait for in a run is nothing, as a rule; else the run is gone
// through instance by instance.
func (p *Plan) validateMeetings() error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		if len(p.Devices) == 1 && !messages(&p.Devices[0].Progs[i]) {
			continue
		}
		if err := p.rehearse(i, 0); err != nil {
			return invalid("program %s: %v", p.Devices[0].Progs[i].Name, err)
		}
	}
	return nil
}

// messages says whether a program sends or receives any.
func messages(prog *Program) bool {
	for i := range prog.Instrs {
		if c := prog.Instrs[i].Comm; c != nil && (c.Kind == Send || c.Kind == Recv) {
			return true
		}
	}
	return false
}

// rehearsal is a run of one program on all devices.
type rehearsal struct {
	plan    *Plan
	prog    int
	ranks   []int             // that are run
	whole   []bool            // by mesh axis: all along it are run as one
	class   []*Device         // by coordinates on the axes [Plan.By]
	device  map[int]*Device   // by rank
	events  map[*Device]*part // that are run
	words   map[word]string
	streams int // of messages from one device to another; 0: one of each tag
	ends    map[end]progress.Step
}

// part is what a program of a device does among devices. Instructions that wait for
// no other device are left out, so that a run of them costs nothing. What a task does is
// there once: an event's number says in which turn it is, and where in the turn.
type part struct {
	order *Order
	tasks [][]event // of one turn of each task
	begun []int     // how many of them, which come first, are posted
	first []int     // by turn, the number of its first event; behind the last, how many there are
	ahead []posts
}

// posts are the posted receives with which a turn begins: its own, and those of the next
// one.
type posts struct{ own, next int }

// at is the number of an event of a turn, by its place in the task.
func (x *part) at(turn, k int) int {
	a, posted := x.ahead[turn], x.begun[x.order.Turns[turn].Task]
	switch {
	case k >= posted:
		return x.first[turn] + a.own + a.next + k - posted
	case a.own == 0: // in the turn before
		return x.first[turn-1] + x.ahead[turn-1].own + k
	}
	return x.first[turn] + k
}

// in is which turn event i is of, and its place in the task.
func (x *part) in(i int) (turn, k int) {
	next, _ := slices.BinarySearch(x.first, i+1) // the first that begins behind i
	turn = next - 1
	a := x.ahead[turn]
	switch k = i - x.first[turn]; {
	case k < a.own:
		return turn, k
	case k < a.own+a.next:
		return turn + 1, k - a.own
	}
	return turn, k - a.own - a.next + x.begun[x.order.Turns[turn].Task]
}

// event is an instruction for an instance; of a done, with the place in the turn of what
// it waits for.
type event struct{ instr, instance, of int }

// word is an instruction for an instance, to be put into words.
type word struct {
	in       *Instr
	instance int
}

// end is a communication as a rank issues it.
type end struct {
	rank int
	c    *Comm
}

// Streams is into how few streams of messages from one device to another a transport may put those
// of a valid plan that has no tags for them: message by message to stream number tag mod Streams. In each they
// are received in the order in which they are sent, and no device waits for ever where
// [InFlight] of a stream may be under way. 0: there is no such number.
func (p *Plan) Streams() int {
	classes := 1
	for i := range p.Devices {
		for j := range p.Devices[i].Progs {
			for _, in := range p.Devices[i].Progs[j].Instrs {
				if c := in.Comm; c != nil && (c.Kind == Send || c.Kind == Recv) {
					classes = max(classes, c.Each, c.Tag+1-c.Each)
				}
			}
		}
	}
	for _, n := range []int{1, classes} {
		if p.inOrder(n) == nil {
			return n
		}
	}
	return 0
}

// inOrder says why so many streams are not enough.
func (p *Plan) inOrder(streams int) error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		sends := false
		for j := range p.Devices {
			sends = sends || messages(&p.Devices[j].Progs[i])
		}
		if !sends {
			continue
		}
		if err := p.rehearse(i, streams); err != nil {
			return err
		}
	}
	return nil
}

// rehearse runs a program on all devices, with messages of a tag as a stream, or with so many streams
// of all tags.
func (p *Plan) rehearse(prog, streams int) error {
	r := &rehearsal{plan: p, prog: prog, streams: streams, class: make([]*Device, len(p.Devices)), events: map[*Device]*part{}, words: map[word]string{}, ends: map[end]progress.Step{}}
	for i := range p.Devices {
		n := 0
		for j, name := range p.By {
			n = n*p.Mesh[p.meshIndex(name)].Size + p.Devices[i].At[j]
		}
		r.class[n] = &p.Devices[i]
	}
	if err := r.symmetric(); err != nil {
		return err
	}
	r.device = make(map[int]*Device, len(r.ranks))
	for _, rank := range r.ranks {
		r.device[rank] = r.deviceOf(rank)
	}
	for _, d := range r.class {
		if err := r.prepare(d); err != nil {
			return err
		}
	}
	_, err := progress.System{Processes: r.ranks, Step: r.step, Room: InFlight, Posts: MaxOpen, Members: r.members}.Run()
	var f *progress.Fault
	if errors.As(err, &f) {
		return r.explain(f)
	}
	return err
}

// prepare lists what d does among devices.
func (r *rehearsal) prepare(d *Device) error {
	x := &part{order: d.Order(&d.Progs[r.prog]), first: []int{0}}
	r.events[d] = x
	for task := range x.order.Tasks {
		list, err := r.task(x.order, task)
		if err != nil {
			return err
		}
		x.tasks, x.begun = append(x.tasks, list), append(x.begun, len(x.order.PostedOf(task)))
	}
	for i, t := range x.order.Turns {
		var a posts
		own, next := x.order.Heads(i)
		if own {
			a.own = x.begun[t.Task]
		}
		if next {
			a.next = x.begun[x.order.Turns[i+1].Task]
		}
		x.ahead = append(x.ahead, a)
		n := x.first[i] + a.own + a.next + len(x.tasks[t.Task]) - x.begun[t.Task]
		if err := within(CountLimit, "%d communications of all instances to look at one by one", int64(n), maxWalked); err != nil {
			return err
		}
		x.first = append(x.first, n)
	}
	return nil
}

// task lists what d does among devices in a turn of a task.
func (r *rehearsal) task(o *Order, task int) (events []event, err error) {
	started := map[event]int{}
	add := func(i, k int) {
		x := event{instr: i, instance: k}
		if c := o.prog.Instrs[i].Comm; c.Start {
			started[x] = len(events)
		} else if c.Kind == Done {
			x.of = started[event{instr: c.Of, instance: k}]
		}
		events = append(events, x)
	}
	for i, run := range o.Parts(task) {
		if run == nil {
			if r.matters(o.prog, i) {
				add(i, once)
			}
			continue
		}
		any := false
		for i := run.From; i < run.To && !any; i++ {
			any = r.matters(o.prog, i)
		}
		if !any {
			continue
		}
		for i, k := range o.Program.Order(run) {
			if r.matters(o.prog, i) && len(events) <= maxWalked {
				add(i, k)
			}
		}
	}
	return events, within(CountLimit, "%d communications of all instances to look at one by one", int64(len(events)), maxWalked)
}

// matters says whether an instruction may wait for another device that is run, or
// one of these for it.
func (r *rehearsal) matters(prog *Program, i int) bool {
	c := prog.Instrs[i].Comm
	switch {
	case c == nil || c.Kind == ShardSlice || c.Moves():
		return false
	case c.Kind == Done:
		return r.matters(prog, c.Of)
	case c.Kind == Send || c.Kind == Recv:
		return true
	}
	return r.parts(c.Over) > 1
}

// deviceOf is the program of a rank.
func (r *rehearsal) deviceOf(rank int) *Device {
	at, n := r.plan.Coordinates(rank), 0
	for _, name := range r.plan.By {
		j := r.plan.meshIndex(name)
		n = n*r.plan.Mesh[j].Size + at[j]
	}
	return r.class[n]
}

// event is event i of a rank, with the turn that it is of and the instruction, which is
// nil behind the last one.
func (r *rehearsal) event(rank, i int) (x *part, turn int, at event, in *Instr) {
	x = r.events[r.device[rank]]
	if i >= x.first[len(x.first)-1] {
		return x, 0, event{}, nil
	}
	turn, k := x.in(i)
	at = x.tasks[x.order.Turns[turn].Task][k]
	return x, turn, at, &x.order.prog.Instrs[at.instr]
}

// step is what event i of a rank does among devices.
func (r *rehearsal) step(rank, i int) (progress.Step, bool) {
	own, turn, at, in := r.event(rank, i)
	if in == nil {
		return progress.Step{}, false
	}
	c, of := in.Comm, 0
	if c.Kind == Done {
		of = own.at(turn, at.of)
		if c = own.order.prog.Instrs[c.Of].Comm; c.Kind != Recv {
			return progress.Step{Kind: progress.Wait, Of: of}, true
		}
	}
	x := r.end(rank, c)
	if x.Of = of; in.Comm.Kind == Done {
		x.Kind = progress.Take
	}
	if c.Kind == Send || c.Kind == Recv {
		tag := c.Tag + c.Each*own.order.Turns[turn].Micro
		if x.Channel.Tag = tag; r.streams > 0 {
			x.Channel.Tag, x.What = tag%r.streams, fmt.Sprintf("%s, tag %d", content(c), tag)
		}
	} else {
		x.What = r.signature(r.device[rank], in, at.instance)
	}
	return x, true
}

// end is what a rank does in a communication, for whatever instance and microbatch.
func (r *rehearsal) end(rank int, c *Comm) progress.Step {
	x, known := r.ends[end{rank, c}]
	if known {
		return x
	}
	switch c.Kind {
	case Send:
		x = progress.Step{Kind: progress.Send, Channel: progress.Channel{From: rank, To: r.plan.PeerOf(rank, c)}, What: content(c)}
	case Recv:
		x = progress.Step{Kind: progress.Receive, Channel: progress.Channel{From: r.plan.PeerOf(rank, c), To: rank}, What: content(c)}
		if c.Start {
			x.Kind = progress.Post
		}
	default:
		x = progress.Step{Kind: progress.Meet, Group: r.groupOf(rank, c), Members: r.parts(c.Over)}
		if c.Start {
			x.Kind = progress.Start
		}
	}
	r.ends[end{rank, c}] = x
	return x
}
