package fakenccl

import "ptc/runtime/cuda/fakecuda"

// series is what members do in one order: the collectives of a clique, or the messages from one
// member to another.
type series struct {
	link  bool
	ends  int // members that take part in each
	ops   map[turn]*meeting
	order []turn // in which they are done, as who is first comes to them
}

// turn names one of a series: the n-th that a member issues, or a replay of the n-th that it captures.
type turn struct {
	captured  bool
	n, replay int // replay from 1; 0: it is captured
}

// meeting is one of them, with the calls of its members: by rank, or sender and receiver.
type meeting struct {
	calls []*issued // nil: not there yet
	stuck bool      // the members differ
	done  bool
}

// issued is a call of a member.
type issued struct {
	m        *member
	kind     string
	src, dst uintptr
	count    int
	element  uintptr
	by       uintptr // of a reduction
	peer     int     // of a message
	on       fakecuda.Stream
	arrived  bool
	series   *series
	end      int // which of the series' it is
	turn     turn
	at       *meeting
}

// whole says whether all members are there.
func (x *meeting) whole() bool {
	for _, c := range x.calls {
		if c == nil {
			return false
		}
	}
	return true
}

// find is the series of a call.
func (l *Library) find(c *issued) {
	m, q := c.m, c.m.of
	if c.kind != "ncclSend" && c.kind != "ncclRecv" {
		c.series, c.end = &q.collectives, m.rank
		return
	}
	key := [2]int{m.rank, c.peer}
	if c.kind == "ncclRecv" {
		key, c.end = [2]int{c.peer, m.rank}, 1
	}
	if q.links[key] == nil {
		q.links[key] = newSeries(true, 2)
	}
	if key[0] == key[1] {
		l.Problem("a message of member %d to itself", m.rank)
	}
	c.series = q.links[key]
}

func newSeries(link bool, ends int) *series {
	return &series{link: link, ends: ends, ops: map[turn]*meeting{}}
}

// join puts a call beside those of the others, and compares it with them.
func (l *Library) join(c *issued) {
	x := c.series.ops[c.turn]
	if x == nil {
		x = &meeting{calls: make([]*issued, c.series.ends)}
		c.series.ops[c.turn] = x
	}
	c.at, x.calls[c.end] = x, c
	for _, o := range x.calls {
		switch {
		case o == nil || o == c:
		case o.count != c.count || o.element != c.element || o.by != c.by || !c.series.link && o.kind != c.kind:
			what := "issues"
			if c.turn.captured {
				what = "captures"
			}
			l.Problem("member %d %s %s of %d, member %d %s of %d", c.m.rank, what, c.kind, c.count, o.m.rank, o.kind, o.count)
			x.stuck = true
		case !l.registered(c, o):
			l.Problem("%s of memory that is registered by one of members %d and %d", c.kind, c.m.rank, o.m.rank)
		}
	}
}

// come is when a call is reached on the member's GPU: all members come to what they share in one order.
func (l *Library) come(c *issued) {
	c.arrived = true
	s, m := c.series, c.m
	i := m.came[s]
	if m.came[s]++; i == len(s.order) {
		s.order = append(s.order, c.turn)
	}
	if first := s.order[i]; first != c.turn {
		l.Problem("member %d comes to %v where others come to %v", m.rank, c.turn, first)
		c.at.stuck = true
	}
}

func (t turn) String() string {
	if t.captured {
		return "a captured operation"
	}
	return "one that is not captured"
}

// waits says whether others have not come to what a call needs them for.
func (c *issued) waits() bool {
	if c.at.done {
		return false
	}
	for _, x := range c.at.calls {
		if x == nil || !x.arrived || x.m.aborted { // what one has given up nobody ends
			return true
		}
	}
	return c.at.stuck
}
