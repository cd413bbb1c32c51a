package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"ptc/runtime/device"
	"ptc/runtime/program"
)

// launches resolves the launches of kernels: their entries, and where their arguments lie.
type launches struct {
	*card
	r        *device.Request
	modules  *modules
	memories *memories
}

// maxGrid is the most blocks of a grid along x ("CUDA C++ Programming Guide", compute capabilities).
const maxGrid = 1<<31 - 1

// addresses are where the buffers of an instruction lie, by argument.
func (l *launches) addresses(in *program.Instr) []uint64 {
	out := make([]uint64, len(in.Bufs))
	for i, b := range in.Bufs {
		out[i] = l.memories.arena.base + uint64(l.r.Device.Buffers[b].Offset)
	}
	return out
}

// node is the launch of an instruction's kernel.
func (l *launches) node(in *program.Instr) (*kernelNode, error) {
	maps, err := l.memories.tensorMaps(in)
	if err != nil {
		return nil, err
	}
	k := &l.r.Plan.Kernels[in.Kernel]
	fn, err := l.modules.function(in.Kernel)
	switch {
	case err != nil:
		return nil, err
	case len(in.Bufs) != len(k.Args):
		return nil, fmt.Errorf("it has %d buffers, and the kernel %d arguments", len(in.Bufs), len(k.Args))
	case k.Tasks > maxGrid:
		return nil, fmt.Errorf("it has %d tasks, and a grid at most %d blocks", k.Tasks, maxGrid)
	}
	values := l.addresses(in)
	pointers := make([]unsafe.Pointer, 0, len(values)+len(maps)+1) // one more, so that there is an address
	for i := range values {
		pointers = append(pointers, unsafe.Pointer(&values[i]))
	}
	for i := range maps {
		pointers = append(pointers, unsafe.Pointer(&maps[i]))
	}
	return &kernelNode{function: fn, grid: [3]uint32{uint32(k.Tasks), 1, 1}, block: [3]uint32{uint32(k.Threads), 1, 1},
		shared: uint32(k.Shared), params: unsafe.Pointer(unsafe.SliceData(pointers))}, nil
}

// tensorMap is a CUtensorMap.
type tensorMap [mapBytes]byte

// mapTypes are numbers of CUtensorMapDataType, where floats of eight bits are bytes, mapSwizzles of CUtensorMapSwizzle.
var (
	mapTypes    = map[string]uintptr{"f16": 6, "f32": 7, "bf16": 9, "f8e4m3": 0, "f8e5m2": 0}
	mapSwizzles = map[int64]uintptr{32: 1, 64: 2, 128: 3}
)

// mapPromotion has what is read of memory fetched to the second cache in pieces of 256 bytes:
// CU_TENSOR_MAP_L2_PROMOTION_L2_256B.
const mapPromotion = 3

// newMaps is memory for n maps, aligned as the driver wants it.
func newMaps(n int) []tensorMap {
	if n == 0 {
		return nil
	}
	raw := make([]byte, n*mapBytes+mapAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % mapAlign
	return unsafe.Slice((*tensorMap)(unsafe.Pointer(&raw[skip])), n)
}

// tensorMaps are those of a launch, for the addresses of its buffers.
func (m *memories) tensorMaps(in *program.Instr) ([]tensorMap, error) {
	k := &m.r.Plan.Kernels[in.Kernel]
	if len(k.Maps) == 0 {
		return nil, nil
	}
	if m.drv.TensorMapEncodeTiled.At == 0 {
		return nil, errors.New("the driver of the GPU is too old: the plan has tensor maps, which drivers of CUDA 12.0 and later know; install a newer driver")
	}
	out := newMaps(len(k.Maps))
	for i := range k.Maps {
		x := &k.Maps[i]
		if x.Arg >= len(in.Bufs) {
			return nil, fmt.Errorf("tensor map %d is of argument %d, and there are %d", i, x.Arg, len(in.Bufs))
		}
		at := m.arena.base + uint64(m.r.Device.Buffers[in.Bufs[x.Arg]].Offset) + uint64(x.Offset)
		if err := m.drv.encode(&out[i], x, at); err != nil {
			return nil, fmt.Errorf("tensor map %d: %w", i, err)
		}
	}
	return out, nil
}

// encode makes the map m of what is at an address.
func (d *driver) encode(to *tensorMap, m *program.TensorMap, at uint64) error {
	typ, ok := mapTypes[m.DType]
	swizzle, ok2 := mapSwizzles[m.Swizzle]
	if !ok || !ok2 {
		return fmt.Errorf("tiles of %s in rows of %d bytes cannot be copied", clip(m.DType), m.Swizzle)
	}
	const dims = 5
	var sizes, strides [dims]uint64
	var box, steps [dims]uint32
	for i := range m.Sizes {
		sizes[i], box[i], steps[i] = uint64(m.Sizes[i]), uint32(m.Box[i]), 1
	}
	for i, s := range m.Strides {
		strides[i] = uint64(s)
	}
	return d.call(d.TensorMapEncodeTiled, uintptr(unsafe.Pointer(to)), typ, uintptr(len(m.Sizes)), uintptr(at),
		uintptr(unsafe.Pointer(&sizes)), uintptr(unsafe.Pointer(&strides)), uintptr(unsafe.Pointer(&box)), uintptr(unsafe.Pointer(&steps)),
		0, swizzle, mapPromotion, 0)
}
