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

// Types of memory in a copy (cuda.h of CUDA 12.4, CUmemorytype).
const (
	typeHost   = 1
	typeDevice = 2
)

// copyEnd is one of the two halves of CUDA_MEMCPY3D_v2 (cuda.h of CUDA 12.4), which have the same
// fields in the same order.
type copyEnd struct {
	x, y, z, lod uintptr
	memory       uint32 // CUmemorytype
	_            uint32
	host         uintptr
	device       uint64
	array        uintptr
	_            uintptr // reserved
	pitch        uintptr // bytes from one row to the next; 0 where there is one row
	height       uintptr
}

// transfer is CUDA_MEMCPY3D_v2 (cuda.h of CUDA 12.4): rows of width bytes.
type transfer struct {
	src, dst             copyEnd
	width, height, depth uintptr
}

// kernelNode is CUDA_KERNEL_NODE_PARAMS_v2 (cuda.h of CUDA 12.4). Its parameters are an array of
// pointers, each to the value of an argument.
type kernelNode struct {
	function uintptr
	grid     [3]uint32
	block    [3]uint32
	shared   uint32
	params   unsafe.Pointer
	extra    unsafe.Pointer
	kernel   uintptr
	context  uintptr
}

// Attributes (cuda.h of CUDA 12.4): CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and MINOR,
// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
const (
	attributeMajor         = 75
	attributeMinor         = 76
	attributeShared        = 97 // of a block that is allowed more
	attributeDynamicShared = 8
)

// streamNonBlocking is a stream that does not wait for the default one: CU_STREAM_NON_BLOCKING.
const streamNonBlocking = 1

// captureThread is a capture that forbids calls that are not safe beside it to the thread alone:
// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
const captureThread = 1

// mapBytes is the size of a CUtensorMap, and mapAlign what its address is a multiple of (cuda.h of CUDA 13; before, 64).
const (
	mapBytes = 128
	mapAlign = 128
)
