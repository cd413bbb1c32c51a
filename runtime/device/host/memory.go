package host

import (
	"fmt"
	"runtime"

	"ptc/internal/units"
	"ptc/runtime/device"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// allocate maps one of the device's memories, if the plan has it: outside Go's
// heap, or, on systems where ptc has no native code, in it; on disk in a file.
func (e *engine) allocate(name string) error {
	n := e.r.Device.Size(name)
	switch {
	case name == program.Disk && n > 0:
		mem, free, err := native.AllocFile(e.r.Dir, n)
		if err != nil {
			return &device.MemoryError{Msg: fmt.Sprintf("there is no room to offload %s to disk", units.Bytes(n)), Err: err}
		}
		e.memories[name] = device.NewFile(mem, free)
	case name == "" || n > 0:
		mem, free, err := native.Alloc(int(n))
		if err != nil && runtime.GOOS == "linux" {
			return &device.MemoryError{Msg: fmt.Sprintf("the arena of %s cannot be allocated", units.Bytes(n)), Err: err}
		}
		if err != nil {
			mem, free = device.Aligned(n), nil
		}
		e.memories[name] = device.NewHost(mem, free)
	}
	return nil
}
