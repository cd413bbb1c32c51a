package nccl

import (
	"fmt"
	"time"

	"ptc/runtime/comm"
)

// issue is an operation that was issued, or is of a graph that was launched.
type issue struct {
	call       *call
	seq        uint64
	begun, end uintptr  // events
	marks      []uint32 // of a graph, in their place
}

// opened notes an operation of the lane. Its events are those of the same operation a run before,
// of a message those of the one that had the slot: what is older is then no longer looked at.
func (l *lane) opened(x issue) {
	for i := range l.open {
		if l.open[i].marks == nil && l.open[i].end == x.end {
			l.open = append(l.open[:0], l.open[i+1:]...)
			break
		}
	}
	l.open = append(l.open, x)
}

// patience is since when a lane waits for an operation.
type patience struct {
	seq   uint64 // 0: for none
	since time.Time
}

// Watch looks at the oldest operation of each lane.
func (d *end) Watch() error {
	if err := d.Failed(); err != nil {
		_ = d.fail(err)
		return err
	}
	for _, l := range d.order {
		if l.comm.handle == 0 {
			continue
		}
		if err := l.watch(); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

func (l *lane) watch() error {
	s := l.d.streams
	for len(l.open) > 0 {
		done, err := l.open[0].hasEnded(s)
		if err != nil {
			return err
		}
		if !done {
			break
		}
		l.open = append(l.open[:0], l.open[1:]...)
	}
	if len(l.open) == 0 || l.sends && l.open[0].marks == nil && len(l.open) < len(l.slots) {
		return nil // nobody waits for a message that is sent while there is room, but for the end of a graph
	}
	if err := l.comm.ask(); err != nil && err != error(errInProgress) {
		return l.open[0].failed(err)
	}
	x := &l.open[0]
	begun, err := x.hasBegun(s)
	switch {
	case err != nil:
		return err
	case !begun:
	case l.waits.seq != x.seq:
		l.waits = patience{x.seq, time.Now()}
	case time.Since(l.waits.since) > l.d.o.Timeout:
		return l.late(x)
	}
	return nil
}

// failed is the error of an operation that the library has given up.
func (x *issue) failed(err error) error {
	e := x.call.d.fault(&x.call.op, err)
	e.Op = x.call.op.Describe(x.seq)
	return e
}

// late is the error of an operation that took too long. The library does not say whom it waits for.
func (l *lane) late(x *issue) error {
	others, what := l.others(), x.call.op.Describe(x.seq)
	if len(others) == 1 {
		return comm.Late(l.d.Rank(), what, l.d.o.Timeout, others, nil)
	}
	return &comm.Error{Reason: comm.ReasonTimeout, Rank: l.d.Rank(), Ranks: others, Op: what,
		Msg: fmt.Sprintf("one or more of %s did not reach %s, or did not end it: rank %d has waited for %v", comm.RankList(others), what, l.d.Rank(), l.d.o.Timeout)}
}

// fail ends the communication of the device, and gives the first error. What was issued lets go of
// the streams.
func (d *end) fail(err error) error {
	if d.err != nil {
		return err
	}
	d.err = err
	for _, l := range d.order {
		l.abort()
	}
	return err
}

// abort ends a communicator at once. That it fails changes nothing any more. Where graphs have what was captured of
// it, the library lets go of streams at once, too, but comes back when those are gone (init.cc of NCCL 2.30,
// commDestroySync): who waits for streams to end them is not to wait for it.
func (l *lane) abort() {
	if h := l.comm.handle; h != 0 && l.captured {
		d, s := l.d, l.d.streams
		d.aborts.Add(1)
		go func() {
			defer d.aborts.Done()
			_ = s.On(func() error { return d.lib.call("ncclCommAbort", d.lib.abort, h) })
		}()
	} else if h != 0 {
		_ = l.d.lib.call("ncclCommAbort", l.d.lib.abort, h)
	}
	l.comm.handle, l.open, l.handles = 0, nil, nil
}

// End waits until all messages have left, and ends the communicators. After a failure these were
// aborted. Graphs are gone by then.
func (d *end) End() error {
	d.aborts.Wait()
	if d.err == nil {
		if err := d.drain(); err != nil {
			return d.fail(err)
		}
		for _, l := range d.order {
			if err := l.close(); err != nil {
				return d.fail(err)
			}
		}
	}
	for _, l := range d.order {
		if l.own != nil {
			_ = d.freeBlock(l.own)
		}
	}
	d.order, d.lanes, d.streams, d.blocks = nil, nil, nil, nil
	return nil
}

// drain waits for what was issued.
func (d *end) drain() error {
	since := time.Now()
	for _, l := range d.order {
		for i := 0; len(l.open) > 0; i++ {
			switch done, err := l.open[0].hasEnded(d.streams); {
			case err != nil:
				return err
			case done:
				l.open = l.open[1:]
				continue
			}
			if err := d.Device.Failed(); err != nil {
				return err
			}
			if time.Since(since) > d.o.Timeout {
				return l.late(&l.open[0])
			}
			if i > looks {
				time.Sleep(nap)
			}
		}
	}
	return nil
}

// close ends a communicator together with the other members.
func (l *lane) close() error {
	if l.comm.handle == 0 {
		return nil
	}
	lib := l.d.lib
	if err := l.deregister(); err != nil {
		return err
	}
	if err := l.completed(lib.call("ncclCommFinalize", lib.finalize, l.comm.handle)); err != nil {
		return l.fault("cannot be ended", err)
	}
	err := lib.call("ncclCommDestroy", lib.destroy, l.comm.handle)
	l.comm.handle = 0
	if err != nil && err != error(errInProgress) {
		return l.fault("cannot be ended", err)
	}
	return nil
}
