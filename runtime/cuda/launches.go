package cuda

import (
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
