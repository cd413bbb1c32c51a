package local

import (
	"sync"
	"sync/atomic"

	"ptc/runtime/comm"
)

// room is where the members of a group meet, operation by operation.
type room struct {
	members []int // ranks, ascending

	mu          sync.Mutex
	slots       []*slot // of operations under way, and free ones
	outstanding int     // operations that a member may have started and not waited for
	next        []uint64
	open        []int // by member: started and not waited for
}

// slot is one operation under way.
type slot struct {
	seq    uint64      // 0: free
	posted []*exchange // by coordinate in the operation's group
	count  int         // of posted
	left   int         // members that have seen it complete
	first  *exchange

	// Written before ready is set; units are taken after.
	units int64
	ready atomic.Bool
	taken atomic.Int64
	done  atomic.Int64
}

func newRoom(members []int, outstanding int) *room {
	n := len(members)
	r := &room{members: members, outstanding: outstanding, next: make([]uint64, n), open: make([]int, n)}
	for range min(outstanding, fewSlots) {
		r.slots = append(r.slots, &slot{posted: make([]*exchange, n)})
	}
	return r
}

// fewSlots is how many slots a room has before more operations than that are under way.
const fewSlots = 8

// slot is that of an operation, or else a free one. One that is waited for late keeps its slot, however many
// come after it.
func (r *room) slot(seq uint64) *slot {
	var free *slot
	for _, s := range r.slots {
		switch s.seq {
		case seq:
			return s
		case 0:
			free = s
		}
	}
	if free == nil {
		free = &slot{posted: make([]*exchange, len(r.members))}
		r.slots = append(r.slots, free)
	}
	return free
}

func (s *slot) complete() bool { return s.ready.Load() && s.done.Load() == s.units }

// exchange is a prepared operation of one member.
type exchange struct {
	waiter
	room    *room
	member  int // in room.members
	coord   int // in the operation's group
	tensors []comm.Host
	work    works
	slot    *slot
	done    bool
}

func (c *exchange) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Start posts the member's buffers.
func (c *exchange) Start() error {
	if err := c.begin(); err != nil {
		return err
	}
	r := c.room
	r.mu.Lock()
	r.next[c.member]++
	r.open[c.member]++
	seq := r.next[c.member]
	c.seq.Store(seq)
	c.done = false
	tooMany := r.open[c.member] > r.outstanding
	var other *exchange
	if !tooMany {
		c.slot = r.slot(seq)
		other = r.post(c)
	}
	r.mu.Unlock()
	switch {
	case tooMany:
		return c.misuse("has too many operations of its group before it that were started and not waited for")
	case other != nil:
		return c.blame(comm.Differ(c.d.rank, c.describe(), c.signature, other.d.rank, other.signature, c.seq.Load()))
	case c.slot.ready.Load():
		c.slot.wakeOthers(c)
	}
	return nil
}

// post enters a call in its slot. It returns a member's call that differs. The room is locked.
func (r *room) post(c *exchange) (differs *exchange) {
	s := c.slot
	if s.seq == 0 {
		s.seq, s.first = c.seq.Load(), c
	} else if s.first.signature != c.signature {
		return s.first
	}
	s.posted[c.coord] = c
	s.count++
	if s.count == len(r.members) {
		s.units = c.work.units
		s.ready.Store(true)
	}
	return nil
}

// wakeOthers lets the members that wait see a change of the slot.
func (s *slot) wakeOthers(me *exchange) {
	for _, c := range s.posted {
		if c != me {
			c.notify()
		}
	}
}

func (c *exchange) Wait() error { return c.wait(c) }

// progress takes units of work and leaves once all are done.
func (c *exchange) progress() (bool, error) {
	if c.done {
		return true, nil
	}
	s := c.slot
	if !s.ready.Load() {
		return false, nil
	}
	for {
		u := s.taken.Add(1) - 1
		if u >= s.units {
			break
		}
		c.work.run(s.posted, u)
		if s.done.Add(1) == s.units {
			s.wakeOthers(c)
		}
	}
	if !s.complete() {
		return false, nil
	}
	c.leave()
	return true, nil
}

// leave frees the slot after the last member.
func (c *exchange) leave() {
	r, s := c.room, c.slot
	r.mu.Lock()
	defer r.mu.Unlock()
	c.done = true
	r.open[c.member]--
	if s.left++; s.left < len(r.members) {
		return
	}
	clear(s.posted)
	s.seq, s.count, s.left, s.first, s.units = 0, 0, 0, nil, 0
	s.ready.Store(false)
	s.taken.Store(0)
	s.done.Store(0)
}

// missing are the ranks that have not posted, or, where all have, that have not left.
func (c *exchange) missing() []int {
	r, s := c.room, c.slot
	r.mu.Lock()
	defer r.mu.Unlock()
	here := map[int]bool{c.d.rank: true}
	for _, p := range s.posted {
		if p != nil && (p.done || s.count < len(r.members)) {
			here[p.d.rank] = true
		}
	}
	var out []int
	for _, m := range r.members {
		if !here[m] {
			out = append(out, m)
		}
	}
	return out
}
