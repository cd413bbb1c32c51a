package cuda

import "unsafe"

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
