package fakecuda

// event is a mark in a stream: how often it was recorded, and up to which record streams have come.
type event struct{ recorded, reached int }

func eventCreate(d *Driver, _ *gpu, a []uintptr) int {
	if a[1] != 2 { // CU_EVENT_DISABLE_TIMING
		return InvalidValue
	}
	*pointer[uintptr](a[0]) = d.handle(&event{})
	return Success
}

func eventRecord(d *Driver, _ *gpu, a []uintptr) int {
	e, ok := get[*event](d, "event", a[0])
	s, ok2 := get[*stream](d, "stream", a[1])
	if !ok || !ok2 {
		return InvalidHandle
	}
	e.recorded++
	n := e.recorded
	return d.enqueue(s, func() int { e.reached = max(e.reached, n); return Success })
}

// streamWaitEvent waits for the record that is the last one now.
func streamWaitEvent(d *Driver, _ *gpu, a []uintptr) int {
	s, ok := get[*stream](d, "stream", a[0])
	e, ok2 := get[*event](d, "event", a[1])
	switch {
	case !ok || !ok2:
		return InvalidHandle
	case a[2] != 0:
		return InvalidValue
	}
	n := e.recorded
	return d.enqueueWhen(s, func() bool { return e.reached >= n }, func() int { return Success })
}

func eventQuery(d *Driver, g *gpu, a []uintptr) int {
	e, ok := get[*event](d, "event", a[0])
	if !ok {
		return InvalidHandle
	}
	if e.reached < e.recorded && d.rng != nil {
		d.flushAll(g) // as time passes
	}
	if e.reached < e.recorded {
		return NotReady
	}
	return Success
}

func eventDestroy(d *Driver, _ *gpu, a []uintptr) int {
	if _, ok := get[*event](d, "event", a[0]); !ok {
		return InvalidHandle
	}
	delete(d.objects, a[0])
	return Success
}

func memset(d *Driver, g *gpu, a []uintptr) int {
	s, ok := get[*stream](d, "stream", a[3])
	if !ok {
		return InvalidHandle
	}
	if _, err := g.Bytes(uint64(a[0]), int(a[2])); err != nil {
		d.problem("memory is set: %v", err)
		return InvalidValue
	}
	return d.enqueue(s, func() int {
		b, err := g.Bytes(uint64(a[0]), int(a[2]))
		if err != nil {
			return d.fault(g, err)
		}
		for i := range b {
			b[i] = byte(a[1])
		}
		return Success
	})
}
