package program

import (
	"errors"
	"fmt"
	"strings"

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
// receive until there is a message, and at a send until there is room. One run
// proves it for all (package progress). Nor do devices differ that run the same and
// stand alike to all others: one of them goes for all, see [rehearsal.symmetric]. What
// is then left to wait for in a run is nothing, as a rule; else the run is gone through
// instance by instance.
func (p *Plan) validateMeetings() error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		if len(p.Devices) == 1 && !messages(&p.Devices[0].Progs[i]) {
			continue
		}
		if err := p.rehearse(i); err != nil {
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
	plan   *Plan
	prog   int
	ranks  []int             // that are run
	whole  []bool            // by mesh axis: all along it are run as one
	class  []*Device         // by coordinates on the axes [Plan.By]
	device map[int]*Device   // by rank
	events map[*Device]*part // that are run
	words  map[word]string
}

// part is what a program of a device does among devices. Instructions that wait for
// no other device are left out, so that a run of them costs nothing.
type part struct {
	events []issue
	at     map[issue]int // of what is started, its place in events
}

// word is an instruction for an instance, to be put into words.
type word struct {
	in       *Instr
	instance int
}

func (p *Plan) rehearse(prog int) error {
	r := &rehearsal{plan: p, prog: prog, class: make([]*Device, len(p.Devices)), events: map[*Device]*part{}, words: map[word]string{}}
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
	_, err := progress.System{Processes: r.ranks, Step: r.step, Room: InFlight, Members: r.members}.Run()
	var f *progress.Fault
	if errors.As(err, &f) {
		return r.explain(f)
	}
	return err
}

// prepare lists what d does among devices.
func (r *rehearsal) prepare(d *Device) error {
	prog, x := &d.Progs[r.prog], &part{at: map[issue]int{}}
	visit := func(i, k int) error {
		if !r.matters(prog, i) {
			return nil
		}
		if err := within(CountLimit, "%d communications of all instances to look at one by one", int64(len(x.events)), maxWalked); err != nil {
			return err
		}
		if prog.Instrs[i].Comm.Start {
			x.at[issue{i, k}] = len(x.events)
		}
		x.events = append(x.events, issue{i, k})
		return nil
	}
	r.events[d] = x
	return d.walk(prog, visit, func(run *Run) error {
		for i := run.From; i < run.To; i++ {
			if r.matters(prog, i) {
				return d.all(prog, run, visit)
			}
		}
		return nil
	})
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

// event is event i of a rank, nil behind the last one.
func (r *rehearsal) event(rank, i int) (*part, *Instr, issue) {
	d := r.device[rank]
	x := r.events[d]
	if i >= len(x.events) {
		return x, nil, issue{}
	}
	return x, &d.Progs[r.prog].Instrs[x.events[i].instr], x.events[i]
}

// step is what event i of a rank does among devices.
func (r *rehearsal) step(rank, i int) (progress.Step, bool) {
	own, in, at := r.event(rank, i)
	if in == nil {
		return progress.Step{}, false
	}
	switch c := in.Comm; c.Kind {
	case Done:
		return progress.Step{Kind: progress.Wait, Of: own.at[issue{c.Of, at.instance}]}, true
	case Send:
		return progress.Step{Kind: progress.Send, Channel: progress.Channel{From: rank, To: r.plan.PeerOf(rank, c), Tag: c.Tag}, What: content(c)}, true
	case Recv:
		return progress.Step{Kind: progress.Receive, Channel: progress.Channel{From: r.plan.PeerOf(rank, c), To: rank, Tag: c.Tag}, What: content(c)}, true
	}
	c := in.Comm
	x := progress.Step{Kind: progress.Meet, Group: r.groupOf(rank, c), Members: r.parts(c.Over), What: r.signature(r.device[rank], in, at.instance)}
	if c.Start {
		x.Kind = progress.Start
	}
	return x, true
}

// signature is [Device.signature], made once for all ranks that run the instruction.
func (r *rehearsal) signature(d *Device, in *Instr, k int) string {
	text, known := r.words[word{in, k}]
	if !known {
		text = d.signature(in, k)
		r.words[word{in, k}] = text
	}
	return text
}

// content is what a message holds.
func content(c *Comm) string { return fmt.Sprintf("%d of %s", c.Outer*c.Inner, c.DType) }

// groupOf identifies the group of a rank; the order of the axes does not matter.
func (r *rehearsal) groupOf(rank int, c *Comm) progress.Group {
	var axes strings.Builder
	for _, a := range r.plan.Mesh {
		for _, name := range c.Over {
			if name == a.Name && a.Size > 1 {
				axes.WriteString(name + ",")
			}
		}
	}
	return progress.Group{First: r.plan.Member(rank, c.Over, 0), Over: axes.String()}
}

// members are the ranks of a group that are run.
func (r *rehearsal) members(g progress.Group) (out []int) {
	over := strings.FieldsFunc(g.Over, func(c rune) bool { return c == ',' })
	for _, rank := range r.ranks {
		if r.plan.Member(rank, over, 0) == g.First {
			out = append(out, rank)
		}
	}
	return out
}

// explain says who waits for ever, or what does not meet.
func (r *rehearsal) explain(f *progress.Fault) error {
	at := f.At[0]
	switch x, _ := r.step(at.Process, at.Step); f.Kind {
	case progress.Lost:
		return fmt.Errorf("rank %d does not receive a message of rank %d", x.Channel.To, at.Process)
	case progress.Mismatch:
		y, _ := r.step(f.At[1].Process, f.At[1].Step)
		if x.Kind == progress.Send {
			return fmt.Errorf("rank %d receives %s from rank %d, which sends %s", f.At[1].Process, y.What, at.Process, x.What)
		}
		return fmt.Errorf("rank %d issues %s where rank %d issues %s", f.At[1].Process, y.What, at.Process, x.What)
	}
	var waits []string
	for _, at := range f.At {
		own, in, x := r.event(at.Process, at.Step)
		if in.Comm.Kind == Done {
			x.instr = in.Comm.Of
			_, in, x = r.event(at.Process, own.at[x])
		}
		waits = append(waits, fmt.Sprintf("rank %d waits in %s (%s)", at.Process, r.device[at.Process].signature(in, x.instance), x))
	}
	if f.Ended >= 0 {
		waits = append(waits, fmt.Sprintf("rank %d is at its end", f.Ended))
	}
	return fmt.Errorf("deadlock: %s", strings.Join(waits, ", "))
}

// signature is what members of a group must agree on, in words, for an instance.
func (d *Device) signature(in *Instr, k int) string {
	c := in.Comm
	views := c.Views()
	if sources, _ := in.Ends(); len(sources) == len(views) {
		own := views
		views = nil
		d.each(sources, k, func(i, _ int) { views = append(views, own[i]) })
	}
	var b strings.Builder
	b.WriteString(c.Kind)
	if c.Reduce != "" {
		fmt.Fprintf(&b, " (%s)", c.Reduce)
	}
	fmt.Fprintf(&b, " of %s[%d, %d]", c.DType, views[0].Outer, views[0].Inner)
	for _, v := range views[1:] {
		fmt.Fprintf(&b, ", [%d, %d]", v.Outer, v.Inner)
	}
	switch {
	case c.Kind == AllToAll:
		fmt.Fprintf(&b, " to [%d, %d]", c.DstOuter, c.DstInner)
	case c.Kind == Permute:
		fmt.Fprintf(&b, " from %v", c.From)
	case c.Kind == Send || c.Kind == Recv:
		fmt.Fprintf(&b, " with %d, tag %d", c.Peer, c.Tag)
	}
	if in.Scope != "" {
		b.WriteString(" " + of(in.Scope, k))
	}
	fmt.Fprintf(&b, " over %s", strings.Join(c.Over, ", "))
	return b.String()
}
