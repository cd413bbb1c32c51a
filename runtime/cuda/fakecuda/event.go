package fakecuda

// event is a place in a stream and when it was reached.
type event struct {
	g       *gpu
	at      int64 // in instructions of warps that the GPU has executed
	reached bool
}

func eventCreate(d *Driver, g *gpu, a []uintptr) int {
	if a[1] != 0 {
		return InvalidValue
	}
	*pointer[uintptr](a[0]) = d.handle(&event{g: g})
	return Success
}

func eventRecord(d *Driver, g *gpu, a []uintptr) int {
	e, ok := get[*event](d, "event", a[0])
	s, ok2 := get[*stream](d, "stream", a[1])
	if !ok || !ok2 || e.g != s.g {
		return InvalidHandle
	}
	e.reached = false
	return d.enqueue(s, func() int {
		e.at, e.reached = g.Counts.Instructions, true
		return Success
	})
}

// eventElapsed has a clock on which an instruction of a warp takes a nanosecond and a copy no time.
func eventElapsed(d *Driver, _ *gpu, a []uintptr) int {
	from, ok := get[*event](d, "event", a[1])
	to, ok2 := get[*event](d, "event", a[2])
	switch {
	case !ok || !ok2 || from.g != to.g:
		return InvalidHandle
	case !from.reached || !to.reached:
		d.problem("the time of an event that was not reached")
		return NotReady
	}
	*pointer[float32](a[0]) = float32(to.at-from.at) / 1e6
	return Success
}

func eventDestroy(d *Driver, _ *gpu, a []uintptr) int {
	if _, ok := get[*event](d, "event", a[0]); !ok {
		return InvalidHandle
	}
	delete(d.objects, a[0])
	return Success
}
