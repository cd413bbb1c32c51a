package nccl

import (
	"fmt"
	"time"

	"ptc/runtime/comm"
)

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
	s, q := l.d.streams, &l.queue
	x, err := q.settle(s)
	if err != nil {
		return err
	}
	if x == nil || l.sends && x.marks == nil && len(q.open) < len(l.room.slots) {
		return nil // nobody waits for a message that is sent while there is room, but for the end of a graph
	}
	if err := l.comm.ask(); err != nil && err != error(errInProgress) {
		return l.d.faultAt(x.op, x.seq, err)
	}
	begun, err := x.hasBegun(s)
	switch {
	case err != nil:
		return err
	case !begun:
	case q.waits.seq != x.seq:
		q.waits = patience{x.seq, time.Now()}
	case time.Since(q.waits.since) > l.d.o.Timeout:
		return l.late(x)
	}
	return nil
}

// late is the error of an operation that took too long. The library does not say whom it waits for.
func (l *lane) late(x *issue) error {
	others, what := l.others(), x.op.Describe(x.seq)
	if len(others) == 1 {
		return comm.Late(l.d.Rank(), what, l.d.o.Timeout, others, nil)
	}
	return &comm.Error{Reason: comm.ReasonTimeout, Rank: l.d.Rank(), Ranks: others, Op: what,
		Msg: fmt.Sprintf("at least one of %s did not reach %s or did not complete it: rank %d has waited for %v", comm.RankList(others), what, l.d.Rank(), l.d.o.Timeout)}
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
		for i := 0; ; i++ {
			x, err := l.queue.settle(d.streams)
			if err != nil {
				return err
			}
			if x == nil {
				break
			}
			if err := d.Device.Failed(); err != nil {
				return err
			}
			if time.Since(since) > d.o.Timeout {
				return l.late(x)
			}
			if i > looks {
				time.Sleep(nap)
			}
		}
	}
	return nil
}
