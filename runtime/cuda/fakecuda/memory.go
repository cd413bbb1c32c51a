package fakecuda

import (
	"bytes"
	"unsafe"

	"ptc/runtime/cuda/fakelib"
)

func memInfo(d *Driver, g *gpu, a []uintptr) int {
	*fakelib.Pointer[uintptr](a[0]) = uintptr(d.o.Memory - g.used)
	*fakelib.Pointer[uintptr](a[1]) = uintptr(d.o.Memory)
	return Success
}

func totalMem(d *Driver, _ *gpu, a []uintptr) int {
	*fakelib.Pointer[uintptr](a[0]) = uintptr(d.o.Memory)
	return Success
}

func memAlloc(d *Driver, g *gpu, a []uintptr) int {
	n := int64(a[1])
	switch {
	case n <= 0:
		return InvalidValue
	case n > d.o.Memory-g.used:
		return OutOfMemory
	}
	*fakelib.Pointer[uint64](a[0]) = d.alloc(g, n)
	return Success
}

func (d *Driver) alloc(g *gpu, n int64) uint64 {
	at, data := g.Alloc(int(n))
	spoil(data)
	g.used += n
	g.allocs[at] = n
	return at
}

// spoil makes f32 and f64 that are no numbers.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

func memFree(d *Driver, g *gpu, a []uintptr) int {
	n, ok := g.allocs[uint64(a[0])]
	if !ok {
		d.Problem("memory %#x is freed that is none", a[0])
		return InvalidValue
	}
	r := d.flushAll(g)
	if err := g.Free(uint64(a[0])); err != nil {
		d.Problem("%v", err)
	}
	g.used -= n
	delete(g.allocs, uint64(a[0]))
	return r
}

func hostAlloc(d *Driver, _ *gpu, a []uintptr) int {
	n := int(a[1])
	if n <= 0 || a[2] != 0 {
		return InvalidValue
	}
	b := make([]byte, n+64)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
	b = b[skip : skip+n : skip+n]
	spoil(b)
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	d.pinned[at] = b
	*fakelib.Pointer[uintptr](a[0]) = at
	return Success
}

func hostFree(d *Driver, g *gpu, a []uintptr) int {
	b, ok := d.pinned[a[0]]
	if !ok {
		d.Problem("memory of the host %#x is freed that is none", a[0])
		return InvalidValue
	}
	r := d.flushAll(g)
	spoil(b)
	delete(d.pinned, a[0])
	return r
}

// pin is n bytes of the pinned memory from an address on; nil where they are not in it.
func (d *Driver) pin(at, n uintptr) []byte {
	for base, b := range d.pinned { // at most one of them has it
		if off := at - base; at >= base && off <= uintptr(len(b)) && n <= uintptr(len(b))-off {
			return b[off : off+n]
		}
	}
	return nil
}

// copyToDevice takes pageable memory at once, as a driver does, pinned memory when it runs.
func copyToDevice(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if _, err := g.Bytes(uint64(a[0]), int(a[2])); err != nil {
		d.Problem("a copy to the GPU: %v", err)
		return InvalidValue
	}
	src := d.pin(a[1], a[2])
	if src == nil {
		src = bytes.Clone(unsafe.Slice(fakelib.Pointer[byte](a[1]), a[2]))
	}
	return d.enqueue(s, func() int {
		dst, err := g.Bytes(uint64(a[0]), int(a[2]))
		if err != nil {
			return d.fault(g, err)
		}
		copy(dst, src)
		return Success
	})
}

// copyToHost has ended when it returns, where the memory is pageable.
func copyToHost(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if _, err := g.Bytes(uint64(a[1]), int(a[2])); err != nil {
		d.Problem("a copy from the GPU: %v", err)
		return InvalidValue
	}
	dst := d.pin(a[0], a[2])
	pageable := dst == nil
	if pageable {
		dst = unsafe.Slice(fakelib.Pointer[byte](a[0]), a[2])
	}
	r := d.enqueue(s, func() int {
		src, err := g.Bytes(uint64(a[1]), int(a[2]))
		if err != nil {
			return d.fault(g, err)
		}
		copy(dst, src)
		return Success
	})
	if pageable && r == Success {
		return d.flush(s)
	}
	return r
}
