package cuda

import (
	"unsafe"

	"ptc/runtime/device"
)

// hostEnd is bytes of the host, which must be pinned, as one side of a copy.
func hostEnd(b []byte) copyEnd {
	return copyEnd{memory: typeHost, host: uintptr(unsafe.Pointer(unsafe.SliceData(b)))}
}

// longest is how many bytes of a row are copied at once: a row may have no more than maxPitch.
const longest = 1 << 30

// lines are copies of n bytes that lie next to each other.
func lines(dst, src copyEnd, n int64) (out []transfer) {
	for n > 0 {
		w := min(n, longest)
		src.pitch, dst.pitch = uintptr(w), uintptr(w)
		out = append(out, transfer{src: src, dst: dst, width: uintptr(w), height: 1, depth: 1})
		src.skip(w)
		dst.skip(w)
		n -= w
	}
	return out
}

// maxPitch is how far apart rows of one copy may be (CU_DEVICE_ATTRIBUTE_MAX_PITCH, which is the
// same for all GPUs).
const maxPitch = 1<<31 - 1

// rows are the copies that move rows, one at a time where they are too far apart for one.
func rows(dst, src copyEnd, r device.Rows) (out []transfer) {
	switch {
	case r.Width == 0 || r.Height == 0:
		return nil
	case r.Height == 1 || r.DstEvery == r.Width && r.SrcEvery == r.Width:
		return lines(dst, src, r.Width*r.Height)
	case r.DstEvery <= maxPitch && r.SrcEvery <= maxPitch:
		src.pitch, dst.pitch = uintptr(r.SrcEvery), uintptr(r.DstEvery)
		return []transfer{{src: src, dst: dst, width: uintptr(r.Width), height: uintptr(r.Height), depth: 1}}
	}
	for range r.Height {
		out = append(out, lines(dst, src, r.Width)...)
		src.skip(r.SrcEvery)
		dst.skip(r.DstEvery)
	}
	return out
}

// skip moves one side of a copy on.
func (c *copyEnd) skip(n int64) {
	if c.memory == typeHost {
		c.host += uintptr(n)
	} else {
		c.device += uint64(n)
	}
}
