package progress

// Kind says what a step does.
type Kind uint8

// The kinds of steps.
const (
	// Run takes time and waits for nobody.
	Run Kind = iota
	// Send puts a message into a channel and goes on; it waits while the channel
	// is full.
	Send
	// Receive takes the next message of a channel and waits for it.
	Receive
	// Meet is a collective: it waits until all members of the group have come to
	// it. The first collectives of the members are one, their second ones, and so
	// on.
	Meet
	// Start is Meet without waiting.
	Start
	// Wait waits for the collective that step Of of the same process started.
	Wait
	// Post is Receive without waiting: the message is taken later.
	Post
	// Take takes the message that step Of of the same process posted, and waits for it.
	// Messages of a channel are taken in the order in which they were posted, and
	// Receive comes behind what was posted before.
	Take
)

// Channel is messages from one process to another that keep their order.
type Channel struct{ From, To, Tag int }

// Group names the members of collectives: their first one and what tells apart
// groups that have it in common.
type Group struct {
	First int
	Over  string
}

// Step is one step of a process.
type Step struct {
	Kind    Kind
	Channel Channel // of Send, Receive, Post and Take
	Group   Group   // of Meet and Start
	Members int     // how many processes the group has
	Of      int     // of Wait and Take
	// What is sent, received or met in; a comparable value on which all ends must
	// agree.
	What any
	// Time is how long a Run takes, a message travels, or a collective takes from
	// the moment the last member comes to it.
	Time float64
}

// System is what runs.
type System struct {
	// Processes are the processes, by the numbers that channels have.
	Processes []int
	// Step is a process's step i, counted from 0; false behind its last one.
	Step func(process, i int) (Step, bool)
	// Room is how many messages a channel holds between Send and Receive, or Take.
	Room int
	// Posts is how many messages of a channel may be posted and not taken; 0: any number.
	Posts int
	// Members are the processes of a group. It is asked for after a deadlock
	// alone; nil where there are no collectives.
	Members func(Group) []int
	// Ran is told each Run, if it is not nil.
	Ran func(process, i int, start, end float64)
}

// state is one process: the step that comes and the time at which it may begin.
type state struct {
	at    int
	clock float64
	// open are the collectives that were begun and not waited for, by step.
	open map[int]*meeting
	// joined is how many collectives of each group the process has begun.
	joined map[Group]int
}

// channel is the messages that were sent; the first len(taken) of them are
// received.
type channel struct {
	sent             []message
	taken            []float64 // when
	posted           []int     // steps of the receiver whose messages are not taken
	sender, receiver int       // process that waits, or none
	// Most channels have one message: room for it.
	oneSent  [1]message
	oneTaken [1]float64
}

type message struct {
	what    any
	arrives float64
	from    At
}

const none = -1

// meeting is one collective of a group.
type meeting struct {
	what    any
	first   At
	missing int
	ends    float64
	waiting []int
	group   Group
	number  int
}

// room is where the members of a group meet: the meetings that not all have come
// to, and how many there were before.
type room struct {
	open []*meeting
	past int
}

type machine struct {
	System
	states   []state
	channels map[Channel]*channel
	rooms    map[Group]*room
	ready    []int // processes that may be able to go on
}

// Run runs the system until all processes are at their end or none can go on. It
// returns the time at which the last one ends, or a [*Fault].
func (s System) Run() (float64, error) {
	m := &machine{System: s, channels: map[Channel]*channel{}, rooms: map[Group]*room{}}
	n := 0
	for _, p := range s.Processes {
		n = max(n, p+1)
	}
	m.states = make([]state, n)
	m.ready = append(m.ready, s.Processes...)
	for len(m.ready) > 0 {
		p := m.ready[len(m.ready)-1]
		m.ready = m.ready[:len(m.ready)-1]
		if f := m.advance(p); f != nil {
			return 0, f
		}
	}
	if f := m.end(); f != nil {
		return 0, f
	}
	last := 0.0
	for _, p := range s.Processes {
		last = max(last, m.states[p].clock)
	}
	return last, nil
}

// advance lets a process go on until it has to wait or is at its end.
func (m *machine) advance(p int) *Fault {
	st := &m.states[p]
	for {
		x, more := m.Step(p, st.at)
		if !more {
			return nil
		}
		goes, fault := true, (*Fault)(nil)
		switch x.Kind {
		case Run:
			start := st.clock
			st.clock += x.Time
			if m.Ran != nil {
				m.Ran(p, st.at, start, st.clock)
			}
		case Send:
			goes = m.send(p, st, x)
		case Receive, Take:
			goes, fault = m.receive(p, st, x)
		case Post:
			fault = m.post(p, st, x)
		case Start:
			fault = m.join(p, st, x)
		case Meet:
			if st.open[st.at] == nil {
				fault = m.join(p, st, x)
			}
			goes = fault == nil && m.leave(p, st, st.at)
		case Wait:
			goes = m.leave(p, st, x.Of)
		}
		if fault != nil || !goes {
			return fault
		}
		st.at++
	}
}

func (m *machine) channel(c Channel) *channel {
	ch := m.channels[c]
	if ch == nil {
		ch = &channel{sender: none, receiver: none}
		ch.sent, ch.taken = ch.oneSent[:0], ch.oneTaken[:0]
		m.channels[c] = ch
	}
	return ch
}

func (m *machine) wake(p *int) {
	if *p != none {
		m.ready = append(m.ready, *p)
		*p = none
	}
}

func (m *machine) send(p int, st *state, x Step) bool {
	ch := m.channel(x.Channel)
	n := len(ch.sent)
	if n-len(ch.taken) >= m.Room {
		ch.sender = p
		return false
	}
	if n >= m.Room { // since this message was received there is room
		st.clock = max(st.clock, ch.taken[n-m.Room])
	}
	ch.sent = append(ch.sent, message{x.What, st.clock + x.Time, At{p, st.at}})
	m.wake(&ch.receiver)
	return true
}

func (m *machine) receive(p int, st *state, x Step) (bool, *Fault) {
	ch := m.channel(x.Channel)
	if len(ch.posted) > 0 && (x.Kind == Receive || ch.posted[0] != x.Of) {
		return false, &Fault{Kind: Order, At: []At{{p, ch.posted[0]}, {p, st.at}}}
	}
	n := len(ch.taken)
	if n == len(ch.sent) {
		ch.receiver = p
		return false, nil
	}
	if sent := ch.sent[n]; sent.what != x.What {
		return false, &Fault{Kind: Mismatch, At: []At{sent.from, {p, st.at}}}
	}
	st.clock = max(st.clock, ch.sent[n].arrives)
	if ch.taken = append(ch.taken, st.clock); x.Kind == Take && len(ch.posted) > 0 {
		ch.posted = ch.posted[1:]
	}
	m.wake(&ch.sender)
	return true, nil
}

func (m *machine) post(p int, st *state, x Step) *Fault {
	ch := m.channel(x.Channel)
	if ch.posted = append(ch.posted, st.at); m.Posts > 0 && len(ch.posted) > m.Posts {
		return &Fault{Kind: Crowded, At: []At{{p, st.at}}}
	}
	return nil
}

// join enters a process's step into the next meeting of its group.
func (m *machine) join(p int, st *state, x Step) *Fault {
	if st.open == nil {
		st.open, st.joined = map[int]*meeting{}, map[Group]int{}
	}
	r := m.rooms[x.Group]
	if r == nil {
		r = &room{}
		m.rooms[x.Group] = r
	}
	i := st.joined[x.Group] - r.past
	st.joined[x.Group]++
	here := At{p, st.at}
	if i == len(r.open) {
		r.open = append(r.open, &meeting{what: x.What, first: here, missing: x.Members, group: x.Group, number: r.past + i})
	}
	t := r.open[i]
	if t.what != x.What {
		return &Fault{Kind: Mismatch, At: []At{t.first, here}}
	}
	st.open[st.at] = t
	t.ends = max(t.ends, st.clock+x.Time)
	if t.missing--; t.missing > 0 {
		return nil
	}
	m.ready = append(m.ready, t.waiting...)
	for len(r.open) > 0 && r.open[0].missing == 0 {
		r.open, r.past = r.open[1:], r.past+1
	}
	return nil
}

// leave lets a process go on from the collective of its step i, or wait there; a
// process that is woken comes here again.
func (m *machine) leave(p int, st *state, i int) bool {
	t := st.open[i]
	if t == nil {
		return true // nothing was started there: for the program's own check
	}
	if t.missing > 0 {
		t.waiting = append(t.waiting, p)
		return false
	}
	st.clock = max(st.clock, t.ends)
	delete(st.open, i)
	return true
}
