package nccl

import (
	"fmt"

	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// oldestCaptured is the first version whose operations are captured. Graphs have them from 2.9 on, those that
// are captured and those that are not may be mixed from 2.13 on, a communicator that is ended waits for its graphs
// from 2.14.3 on, and 2.15.5 ended a hang where one graph after the other is captured (release notes of NCCL;
// "Using NCCL with CUDA Graphs" in its guide).
const oldestCaptured = 21505

// Captures says why operations are not captured, or nil.
func (d *end) Captures() error {
	if d.version < oldestCaptured {
		return fmt.Errorf("a process has %s, which cannot capture operations in graphs; install %s or newer", versionText(d.version), versionText(oldestCaptured))
	}
	return nil
}

// Does says whether NCCL has an operation, whatever its buffers are.
func (d *end) Does(op comm.Op) bool { return d.does(&op) }

// Capture makes a graph of each operation, lane by lane: members of a lane may wait for one another
// there, as NCCL does where it registers buffers of a graph, and the order of the lanes is the same on all devices,
// while that of the program is not.
func (d *end) Capture(ops []device.Enqueued) ([]device.Captured, error) {
	of := map[*lane][]int{}
	for i, q := range ops {
		c, ok := q.(*call)
		if !ok || c.d != d.port {
			return nil, fmt.Errorf("operation %d belongs to another transport", i)
		}
		of[c.l] = append(of[c.l], i)
	}
	out := make([]device.Captured, len(ops))
	for _, l := range d.order {
		for k, i := range of[l] {
			c := ops[i].(*call)
			out[i] = device.Captured{Behind: -1, Room: -1, Sends: l.sends}
			var err error
			if out[i].Graph, err = c.capture(k); err != nil {
				return out, d.fail(c.failed(err))
			}
		}
		l.link(out, of[l], ops)
	}
	return out, nil
}

// capture makes the graph of the operation, which comes as number k of its lane.
func (c *call) capture(k int) (uintptr, error) {
	if err := c.d.Failed(); err != nil {
		return 0, err
	}
	c.l.captured = true
	return c.d.streams.Capture(c.l.stream, func() error {
		if c.l.sends {
			return c.depart(c.l.room.slot(uint64(k)))
		}
		return c.exchange()
	})
}

// link says which operations of a lane are behind one another: all of them, and a message is not copied to a place
// before the one that had it has left.
func (l *lane) link(out []device.Captured, list []int, ops []device.Enqueued) {
	before := -1
	places := make([]int, len(l.room.slots)) // by slot, the message that has it
	for k := range places {
		places[k] = -1
	}
	for k, i := range list {
		out[i].Behind = before
		if out[i].Graph != 0 {
			before = i
		}
		if !l.sends {
			continue
		}
		x := &ops[i].(*call).tensors[0]
		if x.bytes == 0 {
			continue
		}
		has := &places[k%len(places)]
		out[i].Post = line(l.room.slot(uint64(k)).at, x.src, x.bytes)
		out[i].Room, *has = *has, i
	}
}

// Replay notes the operations of a graph that is about to be launched, behind all that was issued before.
func (d *end) Replay(stream uintptr, ops []device.Enqueued, marks []uint32) error {
	if err := d.Failed(); err != nil {
		return err
	}
	for _, l := range d.order {
		if err := l.queue.awaitIssued(d.streams, stream); err != nil {
			return d.fail(l.fault("captured operations in another order", err))
		}
	}
	for i, x := range ops {
		c := x.(*call)
		q := &c.l.queue
		q.issued++
		q.open = append(q.open, issue{op: &c.op, seq: q.issued, marks: marks[2*i : 2*i+2]})
	}
	return nil
}
