package cuda

import (
	"math"
	"time"
	"unsafe"
)

// newEvent makes an event that takes the time at which the stream reaches it.
func (d *driver) newEvent() (x uintptr, err error) {
	err = d.call("cuEventCreate", d.eventCreate, uintptr(unsafe.Pointer(&x)), 0)
	return x, err
}

func (d *driver) freeEvent(x uintptr) error { return d.call("cuEventDestroy", d.eventDestroy, x) }

func (d *driver) record(x, stream uintptr) error {
	return d.call("cuEventRecord", d.eventRecord, x, stream)
}

// elapsed is the time between two events that the stream has reached.
func (d *driver) elapsed(from, to uintptr) (time.Duration, error) {
	var ms float32
	err := d.call("cuEventElapsedTime", d.eventElapsedTime, uintptr(unsafe.Pointer(&ms)), from, to)
	return time.Duration(math.Round(float64(ms) * float64(time.Millisecond))), err
}
