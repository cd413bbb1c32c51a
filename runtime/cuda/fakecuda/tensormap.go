package fakecuda

import (
	"unsafe"

	"ptc/backend/gpu/emu"
	"ptc/runtime/cuda/fakelib"
)

// encodeTiled is cuTensorMapEncodeTiled: a map as package emu has it.
func encodeTiled(d *Driver, _ *gpu, a []uintptr) int {
	const align, interleaved, fill = 64, 8, 11
	if a[0] == 0 || a[0]%align != 0 || a[2] < 1 || a[2] > 5 || a[interleaved] != 0 || a[fill] != 0 {
		d.Problem("a tensor map that is not aligned, of %d dimensions or interleaved", a[2])
		return InvalidValue
	}
	m := emu.TensorMap{Type: emu.TensorType(a[1]), Rank: int(a[2]), Address: uint64(a[3]), Swizzle: emu.Swizzle(a[9])}
	copy(m.Sizes[:], unsafe.Slice(fakelib.Pointer[uint64](a[4]), m.Rank))
	copy(m.Strides[:], unsafe.Slice(fakelib.Pointer[uint64](a[5]), m.Rank-1))
	copy(m.Box[:], unsafe.Slice(fakelib.Pointer[uint32](a[6]), m.Rank))
	copy(m.Steps[:], unsafe.Slice(fakelib.Pointer[uint32](a[7]), m.Rank))
	b, err := m.Encode()
	if err != nil {
		d.Problem("%v", err)
		return InvalidValue
	}
	copy(unsafe.Slice(fakelib.Pointer[byte](a[0]), len(b)), b)
	return Success
}
