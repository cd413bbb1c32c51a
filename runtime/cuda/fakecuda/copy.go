package fakecuda

import "ptc/runtime/cuda/fakelib"

// copied is a copy of rows.
type copied struct {
	src, dst      end
	width, height uintptr
}

// end is one side of it.
type end struct {
	device bool
	at     uintptr
	pitch  uintptr
}

// maxPitch is how far apart rows may be.
const maxPitch = 1<<31 - 1

// readCopy reads CUDA_MEMCPY3D_v2 (cuda.h of CUDA 12.4) by the offsets of its fields. What of the
// host is not pinned is refused: a driver takes it, and then waits, or reads what has changed.
func (d *Driver) readCopy(g *gpu, p uintptr) (*copied, int) {
	word := func(at uintptr) uintptr { return *fakelib.Pointer[uintptr](p + at) }
	c := &copied{width: word(176), height: word(184)}
	if c.width == 0 || c.height == 0 || word(192) != 1 {
		d.Problem("a copy of [%d, %d, %d]", word(192), c.height, c.width)
		return nil, InvalidValue
	}
	for _, x := range []struct {
		e    *end
		base uintptr
	}{{&c.src, 0}, {&c.dst, 88}} {
		for _, zero := range []uintptr{0, 8, 16, 24, 56, 64} { // x, y, z, level, array, reserved
			if word(x.base+zero) != 0 {
				d.Problem("a copy with more than addresses")
				return nil, InvalidValue
			}
		}
		switch *fakelib.Pointer[uint32](p + x.base + 32) {
		case 1:
			x.e.at = word(x.base + 40)
		case 2:
			x.e.device, x.e.at = true, word(x.base+48)
		default:
			d.Problem("a copy of memory that is of no kind")
			return nil, InvalidValue
		}
		x.e.pitch = word(x.base + 72)
		if x.e.pitch < c.width || x.e.pitch > maxPitch {
			d.Problem("a copy of rows of %d bytes, %d apart", c.width, x.e.pitch)
			return nil, InvalidValue
		}
		if _, ok := d.bytes(g, *x.e, c); !ok {
			return nil, InvalidValue
		}
	}
	return c, Success
}

// bytes is the memory of one side of a copy.
func (d *Driver) bytes(g *gpu, e end, c *copied) ([]byte, bool) {
	n := c.width + (c.height-1)*e.pitch
	if e.device {
		b, err := g.Bytes(uint64(e.at), int(n))
		if err != nil {
			d.Problem("a copy of %v", err)
		}
		return b, err == nil
	}
	b := d.pin(e.at, n)
	if b == nil {
		d.Problem("a copy of %d bytes of the host that are not pinned", n)
	}
	return b, b != nil
}

// move does a copy.
func (d *Driver) move(g *gpu, c *copied) int {
	src, ok := d.bytes(g, c.src, c)
	dst, ok2 := d.bytes(g, c.dst, c)
	if !ok || !ok2 {
		return IllegalAddress
	}
	for i := range c.height {
		copy(dst[i*c.dst.pitch:][:c.width], src[i*c.src.pitch:][:c.width])
	}
	return Success
}

func copyAsync(d *Driver, g *gpu, s *stream, a []uintptr) int {
	c, r := d.readCopy(g, a[0])
	if r != Success {
		return r
	}
	if s.into != nil {
		return d.capture(s, &node{copy: c})
	}
	return d.enqueue(s, func() int { return d.move(g, c) })
}
