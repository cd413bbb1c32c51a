package program

import (
	"fmt"
	"strings"
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
// receive until there is a message, and at a send until there is room. Nothing else decides who goes
// on, and a device that can go on stays so until it does; so whether all reach
// their end does not depend on the order in which they go, and one run proves
// it for all. Nor do devices differ that run the same and stand alike to all others:
// one of them goes for all, see [rehearsal.symmetric].
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

// rehearsal is the state of a run of one program on all devices.
type rehearsal struct {
	plan   *Plan
	prog   int
	ranks  []int     // that are run
	whole  []bool    // by mesh axis: all along it are run as one
	device []*Device // by rank
	at     []int     // by rank: the instruction that comes
	rooms  map[group]*room
	issued []map[int]*meeting // by rank: what each has issued and not left, by instruction
	stream map[stream]*queue
	ready  []int // ranks that may be able to go on
}

// group is the devices that have this first rank and this set of mesh axes.
type group struct {
	first int
	axes  string
}

// room is where the members of a group meet. Their first collectives are one,
// their second ones, and so on, whenever each of them is done.
type room struct {
	open []*meeting  // not everybody has issued them
	past int         // how many there were before
	next map[int]int // by rank: how many it has issued
}

// meeting is one collective of a group.
type meeting struct {
	what    string
	first   int   // rank that issued it first
	missing int   // members that have not
	waiting []int // ranks that wait for them
}

type stream struct{ from, to, tag int }

// queue is the messages of a stream: what they hold.
type queue struct {
	sent             []string
	sender, receiver int // rank that waits, or -1
}

func (p *Plan) rehearse(prog int) error {
	r := &rehearsal{plan: p, prog: prog, device: make([]*Device, p.Ranks()), at: make([]int, p.Ranks()),
		rooms: map[group]*room{}, issued: make([]map[int]*meeting, p.Ranks()), stream: map[stream]*queue{}}
	for i := range p.Devices {
		for _, rank := range p.Devices[i].Ranks {
			r.device[rank] = &p.Devices[i]
		}
	}
	r.symmetric()
	for _, rank := range r.ranks {
		r.ready = append(r.ready, rank)
		r.issued[rank] = map[int]*meeting{}
	}
	for len(r.ready) > 0 {
		rank := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		if err := r.advance(rank); err != nil {
			return err
		}
	}
	return r.end()
}

// next is the communication that a rank comes to, nil at its end.
func (r *rehearsal) next(rank int) *Instr {
	instrs := r.device[rank].Progs[r.prog].Instrs
	for ; r.at[rank] < len(instrs); r.at[rank]++ {
		if c := instrs[r.at[rank]].Comm; c != nil && c.Kind != ShardSlice && !c.Moves() && (c.Kind != Done || !instrs[c.Of].Comm.Moves()) {
			return &instrs[r.at[rank]]
		}
	}
	return nil
}

// advance lets a rank go on until it has to wait.
func (r *rehearsal) advance(rank int) error {
	for in := r.next(rank); in != nil; in = r.next(rank) {
		var stops bool
		var err error
		switch in.Comm.Kind {
		case Send, Recv:
			stops, err = r.message(rank, in.Comm)
		case Done:
			stops = r.leave(rank, in.Comm.Of)
		default:
			stops, err = r.meet(rank, in)
		}
		if err != nil || stops {
			return err
		}
		r.at[rank]++
	}
	return nil
}

// meet brings a rank to a collective, which it need not wait for if that is only
// started.
func (r *rehearsal) meet(rank int, in *Instr) (stops bool, err error) {
	i := r.at[rank]
	if r.issued[rank][i] == nil {
		if err := r.issue(rank, i, in); err != nil {
			return false, err
		}
	}
	if in.Comm.Start {
		return false, nil
	}
	return r.leave(rank, i), nil
}

// issue enters instruction i of a rank into the next meeting of its group.
func (r *rehearsal) issue(rank, i int, in *Instr) error {
	g, what := r.groupOf(rank, in.Comm), signature(in)
	x := r.rooms[g]
	if x == nil {
		x = &room{next: map[int]int{}}
		r.rooms[g] = x
	}
	n := x.next[rank] - x.past
	x.next[rank]++
	if n == len(x.open) {
		x.open = append(x.open, &meeting{what: what, first: rank, missing: r.parts(in.Comm.Over)})
	}
	m := x.open[n]
	if m.what != what {
		return fmt.Errorf("rank %d issues %s where rank %d issues %s", rank, what, m.first, m.what)
	}
	r.issued[rank][i] = m
	if m.missing--; m.missing > 0 {
		return nil
	}
	r.ready = append(r.ready, m.waiting...)
	for len(x.open) > 0 && x.open[0].missing == 0 {
		x.open, x.past = x.open[1:], x.past+1
	}
	return nil
}

// leave lets a rank go on from the collective of instruction i, or wait there.
// A rank that is woken comes here again.
func (r *rehearsal) leave(rank, i int) (stops bool) {
	m := r.issued[rank][i]
	if m == nil {
		return false // done of nothing: the device's own check has refused it
	}
	if m.missing > 0 {
		m.waiting = append(m.waiting, rank)
		return true
	}
	delete(r.issued[rank], i)
	return false
}

// groupOf identifies the group of a rank; the order of the axes does not matter.
func (r *rehearsal) groupOf(rank int, c *Comm) group {
	var axes strings.Builder
	for _, a := range r.plan.Mesh {
		for _, name := range c.Over {
			if name == a.Name && a.Size > 1 {
				axes.WriteString(name + ",")
			}
		}
	}
	return group{r.plan.Member(rank, c.Over, 0), axes.String()}
}

// message lets a rank send or receive.
func (r *rehearsal) message(rank int, c *Comm) (stops bool, err error) {
	peer := r.plan.PeerOf(rank, c)
	key := stream{rank, peer, c.Tag}
	if c.Kind == Recv {
		key = stream{peer, rank, c.Tag}
	}
	q := r.stream[key]
	if q == nil {
		q = &queue{sender: -1, receiver: -1}
		r.stream[key] = q
	}
	what := fmt.Sprintf("%d of %s", c.Outer*c.Inner, c.DType)
	if c.Kind == Send {
		if len(q.sent) == InFlight {
			q.sender = rank
			return true, nil
		}
		q.sent = append(q.sent, what)
		r.wake(&q.receiver)
		return false, nil
	}
	if len(q.sent) == 0 {
		q.receiver = rank
		return true, nil
	}
	if q.sent[0] != what {
		return false, fmt.Errorf("rank %d receives %s from rank %d, which sends %s", rank, what, peer, q.sent[0])
	}
	q.sent = q.sent[1:]
	r.wake(&q.sender)
	return false, nil
}

func (r *rehearsal) wake(rank *int) {
	if *rank >= 0 {
		r.ready = append(r.ready, *rank)
		*rank = -1
	}
}

// end says who waits for ever, or which messages nobody receives.
func (r *rehearsal) end() error {
	var waits []string
	for _, rank := range r.ranks {
		if in := r.next(rank); in != nil && len(waits) < 4 {
			at := r.at[rank]
			if in.Comm.Kind == Done {
				at = in.Comm.Of
				in = &r.device[rank].Progs[r.prog].Instrs[at]
			}
			waits = append(waits, fmt.Sprintf("rank %d waits in %s (instruction %d)", rank, signature(in), at))
		}
	}
	if waits != nil {
		return fmt.Errorf("deadlock: %s", strings.Join(waits, ", "))
	}
	for _, rank := range r.ranks { // in an order that is not the map's
		for i := range r.device[rank].Progs[r.prog].Instrs {
			c := r.device[rank].Progs[r.prog].Instrs[i].Comm
			if c == nil || c.Kind != Send {
				continue
			}
			if q := r.stream[stream{rank, r.plan.PeerOf(rank, c), c.Tag}]; q != nil && len(q.sent) > 0 {
				return fmt.Errorf("rank %d does not receive a message of rank %d", r.plan.PeerOf(rank, c), rank)
			}
		}
	}
	return nil
}

// signature is what members of a group must agree on, in words.
func signature(in *Instr) string {
	c := in.Comm
	var b strings.Builder
	b.WriteString(c.Kind)
	if c.Reduce != "" {
		fmt.Fprintf(&b, " (%s)", c.Reduce)
	}
	fmt.Fprintf(&b, " of %s[%d, %d]", c.DType, c.Outer, c.Inner)
	for _, v := range c.Rest {
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
		b.WriteString(" " + in.Scope)
	}
	fmt.Fprintf(&b, " over %s", strings.Join(c.Over, ", "))
	return b.String()
}
