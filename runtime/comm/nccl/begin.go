package nccl

// Begin connects the lanes, in an order that is the same on all devices, so that none waits in a circle.
func (d *end) Begin() error {
	if d.begun {
		return d.Failed()
	}
	d.begun = true
	for _, l := range d.order {
		if err := l.begin(); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

func (l *lane) begin() error {
	if err := l.room.allocate(l.alloc); err != nil {
		return err
	}
	if l.alone() {
		return nil
	}
	if err := l.compare(l.signatures); err != nil {
		return err
	}
	id, err := l.meet(l.d.lib)
	if err != nil {
		return err
	}
	if err := l.completed(l.comm.connect(len(l.members), id, l.me)); err != nil {
		return l.fault("cannot connect", err)
	}
	if err := l.register(); err != nil {
		return err
	}
	if l.group != nil {
		return nil
	}
	// The first message connects the two by waiting for both, which a later one must not.
	return l.first()
}

// first sends a byte.
func (l *lane) first() error {
	place := uintptr(l.room.scratch)
	if l.sends {
		place = uintptr(l.room.slots[0].at)
	}
	err := l.grouped(func() error {
		if l.sends {
			return l.send(place, 1, 1)
		}
		return l.recv(place, 1, 0)
	})
	if err != nil {
		return l.fault("cannot connect", err)
	}
	return nil
}
