package nccl

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/runtime/comm"
)

// lane is a communicator with a stream of its own: of the operations over a list of mesh axes, or of
// a stream of messages from one device to another.
type lane struct {
	d       *end
	key     string // orders the lanes alike on all devices
	name    string // in errors
	group   *comm.Group
	members []int // ranks, by coordinate; of messages the sender and the receiver
	me      int   // which of them
	sends   bool  // it is the sender's end of messages

	comm     communicator
	stream   uintptr
	captured bool      // a graph has operations of it
	handles  []*handle // of what is registered

	own                   *block // of the library; nil: its memory is the device's
	scratch, scratchBytes int64
	slots                 []slot // of a sender
	slotBytes             int64

	signatures []string // of what was prepared, in order
	issued     uint64
	open       []issue // and not known to be complete, oldest first
	waits      patience
}

// slot is a place from which a message travels.
type slot struct {
	at           int64
	copied, free uintptr // events: it has a message, the message has left
}

// laneOf finds or makes the lane of an operation.
func (d *end) laneOf(op *comm.Op) (*lane, error) {
	l := &lane{d: d}
	l.comm.lib = d.lib
	switch op.Kind {
	case collective.Send, collective.Recv:
		l.members, l.sends = []int{d.Rank(), op.Peer}, op.Kind == collective.Send
		if !l.sends {
			l.me = 1
			slices.Reverse(l.members)
		}
		class := op.Tag % d.o.Streams
		l.key = fmt.Sprintf("1 %08d %08d %08d", l.members[0], l.members[1], class)
		l.name = fmt.Sprintf("messages from rank %d to rank %d, stream %d", l.members[0], l.members[1], class)
	default:
		l.group, l.members, l.me = op.Group, op.Group.Members(d.Rank()), op.Group.Coord(d.Rank())
		l.key, l.name = "0 "+op.Group.String(), op.Group.String()
	}
	if known := d.lanes[l.key]; known != nil {
		return known, nil
	}
	if l.group == nil {
		l.reserve(1) // for the first message, of a byte
		l.slotBytes = 1
	}
	var err error
	if l.stream, err = d.streams.NewStream(); err != nil {
		return nil, err
	}
	if l.sends {
		l.slots = make([]slot, d.o.InFlight)
		for i := range l.slots {
			s := &l.slots[i]
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

// alone says that there is nobody to exchange anything with.
func (l *lane) alone() bool { return len(l.members) == 1 }

// reserve makes room in what all operations of the lane have, one after the other.
func (l *lane) reserve(n int64) { l.scratchBytes = max(l.scratchBytes, n) }

// alignment of what is in a lane's memory.
const alignment = 256

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// allocate makes the lane's memory, once all is prepared.
func (l *lane) allocate() error {
	every := aligned(l.slotBytes)
	total := aligned(l.scratchBytes) + every*int64(len(l.slots))
	if total == 0 {
		return nil
	}
	at, err := l.alloc(total)
	if err != nil {
		return err
	}
	l.scratch = int64(at)
	for i := range l.slots {
		l.slots[i].at = l.scratch + aligned(l.scratchBytes) + every*int64(i)
	}
	return nil
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

// slot is the place of message number i.
func (l *lane) slot(i uint64) *slot { return &l.slots[i%uint64(len(l.slots))] }

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
