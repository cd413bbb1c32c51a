package mpi

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/comm"
)

// call is a prepared operation: phases of messages.
type call struct {
	d            *end
	op           comm.Op
	tensors      []comm.Host
	signature    string
	members      []int // ranks, by coordinate; of a Recv the peer alone
	me           int
	compare      phase
	phases       []phase
	header       []byte
	scratchBytes int

	// The state of an operation under way, guarded by end.mu.
	seq     uint64
	started bool
	done    bool
	at      int // phase; -1: compare
	posted  bool
	scratch []byte
	reqs    []uintptr // of the phase's transfers
	stats   []status
	stream  *stream // of a Send
}

func (c *call) describe() string { return c.op.Describe(c.seq) }

// Run is Start and Wait.
func (c *call) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Start posts the first messages.
func (c *call) Start() error {
	d := c.d
	if err := d.usable(); err != nil {
		return err
	}
	d.mu.Lock()
	if c.started {
		d.mu.Unlock()
		return d.fail(c.misuse("was started twice without a wait in between"))
	}
	err := c.begin()
	d.mu.Unlock()
	if err != nil {
		return d.fail(err)
	}
	d.kick()
	return nil
}

func (c *call) misuse(what string) *comm.Error {
	return &comm.Error{Reason: comm.ReasonInvalid, Rank: c.d.rank, Ranks: []int{c.d.rank},
		Op: c.describe(), Msg: c.describe() + " " + what}
}

// begin numbers the operation and lets it make its first progress. The device is
// locked.
func (c *call) begin() *comm.Error {
	d := c.d
	c.started, c.done, c.posted, c.at = true, false, false, 0
	if c.stream != nil {
		c.stream.started++
		c.seq = c.stream.started
	} else {
		counter := d.counter(&c.op)
		*counter++
		c.seq = *counter
		if c.op.Kind != collective.Recv && len(c.members) > 1 && c.seq <= uint64(max(0, d.opts.Compare)) {
			c.at = -1
		}
	}
	c.scratch = d.acquire(c.scratchBytes)
	d.active = append(d.active, c)
	return c.advance()
}

// phase is the one under way.
func (c *call) phase() *phase {
	if c.at < 0 {
		return &c.compare
	}
	return &c.phases[c.at]
}

// advance does what can be done without waiting. The device is locked.
func (c *call) advance() *comm.Error {
	if c.stream != nil {
		return c.advanceSend()
	}
	for ; c.at < len(c.phases); c.at++ {
		if err := c.post(); err != nil {
			return err
		}
		n := len(c.phase().transfers)
		done, code := c.d.lib.test(c.reqs[:n], c.stats[:n])
		if code != success {
			return c.failedMessages(code)
		}
		if !done {
			return nil
		}
		if err := c.arrived(); err != nil {
			return err
		}
		c.posted = false
	}
	c.finish()
	return nil
}

// finish takes the call off the device's list.
func (c *call) finish() {
	d := c.d
	c.done = true
	d.release(c.scratch)
	c.scratch = nil
	if i := slices.Index(d.active, c); i >= 0 {
		d.active = slices.Delete(d.active, i, i+1)
	}
}

// post starts the messages of the phase, receives first.
func (c *call) post() *comm.Error {
	if c.posted {
		return nil
	}
	c.posted = true
	p := c.phase()
	if p.before != nil {
		if err := p.before(); err != nil {
			return err.(*comm.Error)
		}
	}
	for _, sends := range [2]bool{false, true} {
		for i, t := range p.transfers {
			if t.send != sends {
				continue
			}
			fn := c.d.lib.irecv
			if t.send {
				fn = c.d.lib.isend
			}
			c.reqs[i] = c.d.lib.nullRequest
			if code := c.d.lib.start(fn, c.bytes(t.mem), t.peer, c.tag(), &c.reqs[i]); code != success {
				return c.fault(code)
			}
		}
	}
	return nil
}

// arrived checks the lengths of what was received and ends the phase.
func (c *call) arrived() *comm.Error {
	p := c.phase()
	for i, t := range p.transfers {
		if !t.send && int(c.stats[i].count) != t.mem.n {
			return c.wrongLength(t, fmt.Sprintf("%d bytes", c.stats[i].count))
		}
	}
	if p.after != nil {
		if err := p.after(); err != nil {
			return err.(*comm.Error)
		}
	}
	return nil
}

// tag keeps apart the messages of two operations between two ranks: by the set of
// axes, the operation's number and the phase; or by the tag of a stream.
func (c *call) tag() int {
	if c.op.Kind == collective.Send || c.op.Kind == collective.Recv {
		return 1<<26 | c.op.Tag
	}
	return c.op.Group.Set()<<16 | int(c.seq&0x3fff)<<2 | (c.at + 1)
}

func (c *call) fault(code int32) *comm.Error {
	return &comm.Error{Reason: comm.ReasonFault, Rank: c.d.rank, Op: c.describe(),
		Msg: fmt.Sprintf("MPI failed in %s: %s", c.describe(), c.d.lib.describe(code))}
}

// failedMessages is the error of a phase of which a message failed.
func (c *call) failedMessages(code int32) *comm.Error {
	for i, t := range c.phase().transfers {
		switch e := c.stats[i].err; {
		case e == errTruncate && !t.send:
			return c.wrongLength(t, "more")
		case e != success && e != errPending:
			return c.fault(e)
		}
	}
	return c.fault(code)
}

func (c *call) wrongLength(t transfer, got string) *comm.Error {
	return &comm.Error{Reason: comm.ReasonMismatch, Rank: c.d.rank, Ranks: []int{c.d.rank, t.peer}, Op: c.describe(),
		Msg: fmt.Sprintf("rank %d expected %d bytes from rank %d in %s, but received %s", c.d.rank, t.mem.n, t.peer, c.describe(), got)}
}

// Wait polls until the operation is complete.
func (c *call) Wait() error {
	d := c.d
	if err := d.usable(); err != nil {
		return err
	}
	d.mu.Lock()
	if !c.started {
		d.mu.Unlock()
		return d.fail(c.misuse("was awaited before it was started"))
	}
	d.waiting = append(d.waiting, c)
	d.mu.Unlock()
	var since time.Time
	for i := 0; ; i++ {
		done, err := d.poll(c)
		if err != nil {
			return d.fail(err)
		}
		if done {
			return nil
		}
		if f := d.failed.Load(); f != nil {
			return comm.Aborted(d.rank, f.err)
		}
		// The clock is looked at when there is time for it.
		if i == spins {
			since = time.Now()
		}
		if i > spins+yields && time.Since(since) > d.opts.Timeout {
			if err := c.late(); err != nil {
				return d.fail(err)
			}
		}
		rest(i)
	}
}

// A wait polls this often at once, then so often between other goroutines and
// processes, then sleeps between polls.
const (
	spins  = 200
	yields = 100
	nap    = 50 * time.Microsecond
	sleep  = time.Millisecond
)

func rest(i int) {
	switch {
	case i < spins:
	case i < spins+yields:
		runtime.Gosched()
	case i < spins+yields+200:
		time.Sleep(nap)
	default:
		time.Sleep(sleep)
	}
}

// late is the error of a wait that took too long.
func (c *call) late() *comm.Error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.done {
		return nil // at the last moment, by another goroutine's poll
	}
	return comm.Late(c.d.rank, c.describe(), c.d.opts.Timeout, c.pending(), nil)
}

// pending are the ranks whose messages are missing, or where none is, those that
// have not taken one. The device is locked, and the call not complete.
func (c *call) pending() []int {
	if c.stream != nil {
		return []int{c.op.Peer}
	}
	var senders, takers []int
	for i, t := range c.phase().transfers {
		if c.d.lib.complete(c.reqs[i]) {
			continue
		}
		if t.send && !slices.Contains(takers, t.peer) {
			takers = append(takers, t.peer)
		} else if !t.send && !slices.Contains(senders, t.peer) {
			senders = append(senders, t.peer)
		}
	}
	if senders != nil {
		slices.Sort(senders)
		return senders
	}
	slices.Sort(takers)
	return takers
}
