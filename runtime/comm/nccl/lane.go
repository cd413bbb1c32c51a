package nccl

import (
	"slices"
	"strings"

	"ptc/runtime/comm"
)

// lane is a communicator with a stream of its own: of the operations over a list of mesh axes, or of
// a stream of messages from one device to another.
type lane struct {
	party
	d        *end
	comm     communicator
	stream   uintptr
	captured bool      // a graph has operations of it
	handles  []*handle // of what is registered

	room       room
	own        *block   // of the library, for the room; nil: its memory is the device's
	signatures []string // of what was prepared, in order
	queue      queue
}

// laneOf finds or makes the lane of an operation.
func (d *end) laneOf(op *comm.Op) (*lane, error) {
	l := &lane{d: d, party: partyOf(d.Device, op, d.o.Streams)}
	l.comm.lib = d.lib
	if known := d.lanes[l.key]; known != nil {
		return known, nil
	}
	if l.group == nil {
		l.room.reserve(1) // for the first message, of a byte
		l.room.slotBytes = 1
	}
	var err error
	if l.stream, err = d.streams.NewStream(); err != nil {
		return nil, err
	}
	if l.sends {
		l.room.slots = make([]slot, d.o.InFlight)
		for i := range l.room.slots {
			s := &l.room.slots[i]
			if s.copied, err = d.streams.NewEvent(); err != nil {
				return nil, err
			}
			if s.free, err = d.streams.NewEvent(); err != nil {
				return nil, err
			}
		}
	}
	d.lanes[l.key] = l
	at, _ := slices.BinarySearchFunc(d.order, l, func(a, b *lane) int { return strings.Compare(a.key, b.key) })
	d.order = slices.Insert(d.order, at, l)
	return l, nil
}

// alloc gives memory of the kind that the device's buffers have: NCCL wants both ends of an operation
// registered, or neither.
func (l *lane) alloc(n int64) (uint64, error) {
	if len(l.d.blocks) == 0 || l.alone() {
		return l.d.streams.Alloc(n)
	}
	b, err := l.d.newBlock(n)
	if err != nil {
		return 0, l.fault("has no memory to communicate", err)
	}
	l.own = b
	return b.at, nil
}

// grouped has the library do calls at once, and returns when it has issued them.
func (l *lane) grouped(calls func() error) error {
	lib := l.d.lib
	if err := lib.call("ncclGroupStart", lib.groupStart); err != nil {
		return err
	}
	// The end is due after an error, too.
	err := calls()
	if e := lib.call("ncclGroupEnd", lib.groupEnd); err == nil {
		err = e
	}
	return l.completed(err)
}

// slot is a place from which a message travels.
type slot struct {
	at           int64
	copied, free uintptr // events: it has a message, the message has left
}

// room is the memory of a lane.
type room struct {
	scratch, scratchBytes int64
	slots                 []slot // of a sender
	slotBytes             int64
}

// reserve makes room in what all operations of the lane have, one after the other.
func (r *room) reserve(n int64) { r.scratchBytes = max(r.scratchBytes, n) }

// alignment of what is in a lane's memory.
const alignment = 256

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// allocate makes the lane's memory, once all is prepared.
func (r *room) allocate(alloc func(n int64) (uint64, error)) error {
	every := aligned(r.slotBytes)
	total := aligned(r.scratchBytes) + every*int64(len(r.slots))
	if total == 0 {
		return nil
	}
	at, err := alloc(total)
	if err != nil {
		return err
	}
	r.scratch = int64(at)
	for i := range r.slots {
		r.slots[i].at = r.scratch + aligned(r.scratchBytes) + every*int64(i)
	}
	return nil
}

// slot is the place of message number i.
func (r *room) slot(i uint64) *slot { return &r.slots[i%uint64(len(r.slots))] }
