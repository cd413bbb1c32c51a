package nccl

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
