package local

import (
	"sync"
	"sync/atomic"

	"ptc/internal/dtype"
	"ptc/runtime/comm"
)

// stream is the messages from one device to another with one tag, in order.
//
// A message goes straight to a receiver that has posted its buffer, or else into
// one of the InFlight buffers of the stream, or waits for one.
type stream struct {
	mu        sync.Mutex
	buffered  fifo[parcel] // sent and not received; not empty only if receivers is
	free      [][]byte
	senders   fifo[*message] // started and without a buffer
	receivers fifo[*message] // posted
	sent      uint64
	received  uint64
}

// parcel is a message in a buffer of the stream.
type parcel struct {
	buf  []byte   // at least as long as the message
	from *message // for what it says of the message
}

// fifo is a queue of bounded length that does not allocate.
type fifo[T any] struct {
	ring    []T
	head, n int
}

func (q *fifo[T]) push(v T) {
	q.ring[(q.head+q.n)%len(q.ring)] = v
	q.n++
}

func (q *fifo[T]) pop() T {
	v := q.ring[q.head]
	q.ring[q.head] = *new(T)
	q.head, q.n = (q.head+1)%len(q.ring), q.n-1
	return v
}

// stream finds or makes a stream that can hold the operation's message. The world
// is locked.
func (w *world) stream(l link, op *comm.Op) *stream {
	s := w.streams[l]
	if s == nil {
		s = &stream{free: make([][]byte, 0, w.opts.InFlight)}
		s.buffered.ring = make([]parcel, w.opts.InFlight)
		s.senders.ring = make([]*message, w.opts.Outstanding)
		s.receivers.ring = make([]*message, w.opts.Outstanding)
		for range w.opts.InFlight {
			s.free = append(s.free, nil)
		}
		w.streams[l] = s
	}
	s.reserve(dtype.Bytes(op.DType, op.Elems()))
	return s
}

// reserve makes free buffers hold n bytes; those in use are exchanged when they
// come back.
func (s *stream) reserve(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.free {
		if len(s.free[i]) < n {
			s.free[i] = make([]byte, n)
		}
	}
}

// message is a prepared Send or Recv.
type message struct {
	waiter
	s    *stream
	recv bool
	buf  []byte // that is sent, or received into
	done atomic.Bool
}

func (c *message) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

func (c *message) Start() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.done.Store(false)
	c.s.mu.Lock()
	var other *message // the other end, where it differs
	var full bool
	if c.recv {
		other, full = c.s.receive(c)
	} else {
		other, full = c.s.send(c)
	}
	c.s.mu.Unlock()
	switch {
	case full:
		return c.misuse("has too many messages of its stream before it that were started and not waited for")
	case other != nil:
		return c.blame(comm.Differ(c.d.rank, c.describe(), c.signature, other.d.rank, other.signature, c.seq.Load()))
	}
	return nil
}

func (c *message) Wait() error { return c.wait(c) }

func (c *message) progress() (bool, error) { return c.done.Load(), nil }

func (c *message) missing() []int { return []int{c.op.Peer} }

// finish completes a call, whose device may wait.
func (c *message) finish() {
	c.done.Store(true)
	c.notify()
}

// differs compares the two ends of a message.
func (c *message) differs(other *message) bool {
	return c.op.DType != other.op.DType || c.op.Elems() != other.op.Elems()
}

// send delivers a message as far as it can. It returns the other end if the two
// differ, and whether the queue of senders is full. The stream is locked.
func (s *stream) send(c *message) (other *message, full bool) {
	s.sent++
	c.seq.Store(s.sent)
	switch {
	case s.receivers.n > 0:
		r := s.receivers.pop()
		if c.differs(r) {
			return r, false
		}
		copy(r.buf, c.buf)
		r.finish()
		c.finish()
	case len(s.free) > 0:
		s.buffer(c)
	case s.senders.n == len(s.senders.ring):
		return nil, true
	default:
		s.senders.push(c)
	}
	return nil, false
}

// buffer copies a message into a free buffer, which completes the Send.
func (s *stream) buffer(c *message) {
	last := len(s.free) - 1
	buf := s.free[last]
	s.free = s.free[:last]
	if len(buf) < len(c.buf) { // buffers in use are not enlarged by reserve
		buf = make([]byte, len(c.buf))
	}
	copy(buf, c.buf)
	s.buffered.push(parcel{buf, c})
	c.finish()
}

// receive takes the oldest message or posts the receiver. Its results are those
// of send. The stream is locked.
func (s *stream) receive(c *message) (other *message, full bool) {
	s.received++
	c.seq.Store(s.received)
	if s.buffered.n == 0 {
		if full = s.receivers.n == len(s.receivers.ring); !full {
			s.receivers.push(c)
		}
		return nil, full
	}
	p := s.buffered.pop()
	s.free = append(s.free, p.buf)
	if c.differs(p.from) {
		return p.from, false
	}
	copy(c.buf, p.buf)
	c.finish()
	if s.senders.n > 0 {
		s.buffer(s.senders.pop())
	}
	return nil, false
}
