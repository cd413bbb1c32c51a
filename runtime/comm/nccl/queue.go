package nccl

import (
	"sync/atomic"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// issue is an operation that was issued, or is of a graph that was launched.
type issue struct {
	op         *comm.Op
	seq        uint64
	begun, end uintptr  // events
	marks      []uint32 // of a graph, in their place
}

// patience is since when a lane waits for an operation.
type patience struct {
	seq   uint64 // 0: for none
	since time.Time
}

// queue is what was issued in a lane, in order.
type queue struct {
	issued uint64
	open   []issue // and not known to be complete, oldest first
	waits  patience
}

// opened notes an operation of the lane. Its events are those of the same operation a run before,
// of a message those of the one that had the slot: what is older is then no longer looked at.
func (q *queue) opened(x issue) {
	for i := range q.open {
		if q.open[i].marks == nil && q.open[i].end == x.end {
			q.open = append(q.open[:0], q.open[i+1:]...)
			break
		}
	}
	q.open = append(q.open, x)
}

// settle drops what has ended, and gives the oldest that has not; nil: all has.
func (q *queue) settle(s device.Streams) (*issue, error) {
	for len(q.open) > 0 {
		if done, err := q.open[0].hasEnded(s); !done || err != nil {
			return &q.open[0], err
		}
		q.open = append(q.open[:0], q.open[1:]...)
	}
	return nil, nil
}

// awaitIssued has a stream wait for what was issued by itself, of which messages may still be under way. What was
// replayed before has ended.
func (q *queue) awaitIssued(s device.Streams, stream uintptr) error {
	kept := q.open[:0]
	for _, x := range q.open {
		if x.marks == nil {
			kept = append(kept, x)
		}
	}
	q.open = kept
	for i := range q.open {
		if err := s.Await(stream, q.open[i].end); err != nil {
			return err
		}
	}
	return nil
}

// begun says whether the lane has come to the operation, and ended whether it is done.
func (x *issue) hasBegun(s device.Streams) (bool, error) {
	if x.marks != nil {
		return atomic.LoadUint32(&x.marks[0]) != 0, nil
	}
	return s.Reached(x.begun)
}

func (x *issue) hasEnded(s device.Streams) (bool, error) {
	if x.marks != nil {
		return atomic.LoadUint32(&x.marks[1]) != 0, nil
	}
	return s.Reached(x.end)
}
