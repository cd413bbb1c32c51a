package cuda

import (
	"testing"
	"unsafe"
)

// TestLayouts: what the C compiler says of the structs of cuda.h of CUDA 12.4 on a machine of 64 bits,
// by offsetof and sizeof.
func TestLayouts(t *testing.T) {
	var c transfer
	var k kernelNode
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"CUDA_MEMCPY3D", unsafe.Sizeof(c), 200},
		{"srcXInBytes", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.x), 0},
		{"srcMemoryType", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.memory), 32},
		{"srcHost", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.host), 40},
		{"srcDevice", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.device), 48},
		{"srcArray", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.array), 56},
		{"srcPitch", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.pitch), 72},
		{"srcHeight", unsafe.Offsetof(c.src) + unsafe.Offsetof(c.src.height), 80},
		{"dstXInBytes", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.x), 88},
		{"dstMemoryType", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.memory), 120},
		{"dstHost", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.host), 128},
		{"dstDevice", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.device), 136},
		{"dstPitch", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.pitch), 160},
		{"dstHeight", unsafe.Offsetof(c.dst) + unsafe.Offsetof(c.dst.height), 168},
		{"WidthInBytes", unsafe.Offsetof(c.width), 176},
		{"Height", unsafe.Offsetof(c.height), 184},
		{"Depth", unsafe.Offsetof(c.depth), 192},
		{"CUDA_KERNEL_NODE_PARAMS", unsafe.Sizeof(k), 72},
		{"func", unsafe.Offsetof(k.function), 0},
		{"gridDimX", unsafe.Offsetof(k.grid), 8},
		{"blockDimX", unsafe.Offsetof(k.block), 20},
		{"sharedMemBytes", unsafe.Offsetof(k.shared), 32},
		{"kernelParams", unsafe.Offsetof(k.params), 40},
		{"extra", unsafe.Offsetof(k.extra), 48},
		{"kern", unsafe.Offsetof(k.kernel), 56},
		{"ctx", unsafe.Offsetof(k.context), 64},
	} {
		if f.got != f.want {
			t.Errorf("%s: %d, want %d", f.name, f.got, f.want)
		}
	}
}
