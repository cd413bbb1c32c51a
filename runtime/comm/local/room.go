package local

import (
	"sync"
	"sync/atomic"

	"ptc/runtime/comm"
)

// room is where the members of a group meet, operation by operation.
type room struct {
	members []int // ranks, ascending

	mu    sync.Mutex
	slots []slot // operation seq is in slots[seq % len]
	next  []uint64
	open  []int // by member: started and not waited for
}

// slot is one operation under way.
type slot struct {
	seq    uint64      // 0: free
	posted []*exchange // by coordinate in the operation's group
	count  int         // of posted
	left   int         // members that have seen it complete
	queue  []*exchange // of a later operation, which found the slot in use
	first  *exchange

	// Written before ready is set; units are taken after.
	units int64
	ready atomic.Bool
	taken atomic.Int64
	done  atomic.Int64
}

func newRoom(members []int, outstanding int) *room {
	n := len(members)
	r := &room{members: members, slots: make([]slot, outstanding), next: make([]uint64, n), open: make([]int, n)}
	for i := range r.slots {
		r.slots[i].posted = make([]*exchange, n)
		r.slots[i].queue = make([]*exchange, 0, n)
	}
	return r
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
	queued  bool // the slot is still in use
	posted  bool
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
	c.done, c.posted, c.queued = false, false, false
	tooMany := r.open[c.member] > len(r.slots)
	c.slot = &r.slots[seq%uint64(len(r.slots))]
	var other *exchange
	if !tooMany {
		other = r.post(c)
	}
	r.mu.Unlock()
	switch {
	case tooMany:
		return c.misuse("has too many operations of its group before it that were started and not waited for")
	case other != nil:
		return c.blame(comm.Differ(c.d.rank, c.describe(), c.signature, other.d.rank, other.signature, c.seq.Load()))
	case c.posted && c.slot.ready.Load():
		c.slot.wakeOthers(c)
	}
	return nil
}

// post enters a call in its slot, or in the queue of a slot in use. It returns a
// member's call that differs. The room is locked.
func (r *room) post(c *exchange) (differs *exchange) {
	s, seq := c.slot, c.seq.Load()
	if s.seq != 0 && s.seq != seq {
		if !c.queued {
			c.queued = true
			s.queue = append(s.queue, c)
		}
		return nil
	}
	if s.seq == 0 {
		s.seq, s.first = seq, c
	} else if s.first.signature != c.signature {
		return s.first
	}
	s.posted[c.coord] = c
	s.count++
	c.posted = true
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
	if c.queued {
		if done, err := c.retry(); !done {
			return false, err
		}
	}
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

// retry posts a queued call once its slot is free.
func (c *exchange) retry() (bool, error) {
	r := c.room
	r.mu.Lock()
	if s := c.slot; s.seq == 0 || s.seq == c.seq.Load() {
		c.queued = false
	}
	if c.queued {
		r.mu.Unlock()
		return false, nil
	}
	other := r.post(c)
	r.mu.Unlock()
	if other != nil {
		return false, c.blame(comm.Differ(c.d.rank, c.describe(), c.signature, other.d.rank, other.signature, c.seq.Load()))
	}
	if c.slot.ready.Load() {
		c.slot.wakeOthers(c)
	}
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
	for _, q := range s.queue {
		q.notify()
	}
	clear(s.queue)
	s.queue = s.queue[:0]
}

// missing are the ranks that have not posted, or, where the slot is still in use
// by an earlier operation or all have posted, that have not left it.
func (c *exchange) missing() []int {
	r, s := c.room, c.slot
	r.mu.Lock()
	defer r.mu.Unlock()
	here := map[int]bool{c.d.rank: true}
	for _, p := range s.posted {
		if p != nil && (p.done || !c.queued && s.count < len(r.members)) {
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
