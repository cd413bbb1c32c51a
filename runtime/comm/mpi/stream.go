package mpi

import "ptc/runtime/comm"

// stream is the messages that this device sends to another with one tag. Each is
// copied into a slot, from which it travels while the program goes on.
type stream struct {
	slots   []slot
	started uint64
	posted  uint64 // messages given to MPI, in the order in which they were started
}

// slot is a message under way.
type slot struct {
	buf   []byte
	reqs  []uintptr
	stats []status
}

// link identifies a stream.
type link struct{ peer, tag int }

// advanceSend gives the message to MPI once its slot is free and all messages
// before it are under way.
func (c *call) advanceSend() *comm.Error {
	s := c.stream
	if s.posted+1 != c.seq {
		return nil
	}
	t := &s.slots[c.seq%uint64(len(s.slots))]
	free, code := c.d.lib.test(t.reqs, t.stats[:len(t.reqs)])
	if code != success {
		return c.fault(code)
	}
	if !free {
		return nil
	}
	if len(t.buf) < len(c.tensors[0].Src) {
		t.buf = make([]byte, len(c.tensors[0].Src))
	}
	n := copy(t.buf, c.tensors[0].Src)
	pieces := (n + maxMessage - 1) / maxMessage
	if cap(t.reqs) < pieces {
		t.reqs, t.stats = make([]uintptr, pieces), make([]status, pieces)
	}
	t.reqs, t.stats = t.reqs[:pieces], t.stats[:pieces]
	for i := range t.reqs {
		t.reqs[i] = c.d.lib.nullRequest
	}
	for i := range t.reqs {
		piece := t.buf[i*maxMessage : min((i+1)*maxMessage, n)]
		if code := c.d.lib.start(c.d.lib.isend, piece, c.op.Peer, c.tag(), &t.reqs[i]); code != success {
			return c.fault(code)
		}
	}
	s.posted++
	c.finish()
	return nil
}

// idle says whether all messages of the stream have left, and lets them progress.
func (s *stream) idle(lib *caller) (bool, int32) {
	all := true
	for i := range s.slots {
		t := &s.slots[i]
		done, code := lib.test(t.reqs, t.stats[:len(t.reqs)])
		if code != success {
			return false, code
		}
		if done {
			t.reqs = t.reqs[:0] // not to be tested again
		}
		all = all && done
	}
	return all, success
}
