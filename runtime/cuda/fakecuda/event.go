package fakecuda

import "ptc/runtime/cuda/fakelib"

// event is a mark in a stream: how often it was recorded, up to which record streams have come, and
// when.
type event struct {
	g                 *gpu
	untimed           bool
	recorded, reached int
	asked             int   // for the record that was not reached, in vain
	at                int64 // in instructions of warps that the GPU has executed
}

func eventCreate(d *Driver, g *gpu, a []uintptr) int {
	if a[1] != 0 && a[1] != 2 { // CU_EVENT_DISABLE_TIMING
		return InvalidValue
	}
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(&event{g: g, untimed: a[1] == 2})
	return Success
}

func eventRecord(d *Driver, g *gpu, a []uintptr) int {
	e, ok := get[*event](d, "event", a[0])
	s, ok2 := get[*stream](d, "stream", a[1])
	if !ok || !ok2 || e.g != s.g {
		return InvalidHandle
	}
	e.recorded++
	n := e.recorded
	return d.enqueue(s, func() int {
		e.at, e.reached = s.g.Counts.Instructions, max(e.reached, n)
		return Success
	})
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

// patience is how often an event is asked for in vain until time passes even where all is done as late
// as it may: who does nothing but ask comes to an end on a GPU, too.
const patience = 256

func eventQuery(d *Driver, g *gpu, e *event, a []uintptr) int {
	if e.reached < e.recorded {
		if e.asked++; d.clock.rng != nil || e.asked > patience {
			d.flushAll(g) // as time passes
		}
	}
	if e.reached < e.recorded {
		return NotReady
	}
	e.asked = 0
	return Success
}

// eventElapsed has a clock on which an instruction of a warp takes a nanosecond and a copy no time.
func eventElapsed(d *Driver, _ *gpu, a []uintptr) int {
	from, ok := get[*event](d, "event", a[1])
	to, ok2 := get[*event](d, "event", a[2])
	switch {
	case !ok || !ok2 || from.g != to.g:
		return InvalidHandle
	case from.untimed || to.untimed || from.recorded == 0 || to.recorded == 0 || from.reached < from.recorded || to.reached < to.recorded:
		d.Problem("the time of an event that was not reached")
		return NotReady
	}
	*fakelib.Pointer[float32](a[0]) = float32(to.at-from.at) / 1e6
	return Success
}

func eventDestroy(d *Driver, _ *gpu, a []uintptr) int {
	if _, ok := get[*event](d, "event", a[0]); !ok {
		return InvalidHandle
	}
	d.Drop(a[0])
	return Success
}

func memset(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if _, err := g.Bytes(uint64(a[0]), int(a[2])); err != nil {
		d.Problem("memory is set: %v", err)
		return InvalidValue
	}
	set := func() int {
		b, err := g.Bytes(uint64(a[0]), int(a[2]))
		if err != nil {
			return d.fault(g, err)
		}
		for i := range b {
			b[i] = byte(a[1])
		}
		return Success
	}
	if s.into != nil {
		return d.capture(s, &node{work: set})
	}
	return d.enqueue(s, set)
}
