package cuda

import (
	"fmt"
	"runtime"

	"ptc/internal/units"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// allocate makes the device's memories: its own on the GPU, that of the host pinned, so that
// copies run concurrently with kernels.
func (e *engine) allocate() error {
	d := e.r.Device
	if d.Disk > 0 {
		return fmt.Errorf("the plan offloads %s to disk, which a GPU does not do; offload to the host", units.Bytes(d.Disk))
	}
	// An arena of no bytes is one too; the driver allocates some, at a multiple of 256.
	if err := e.newArena(d.Arena); err != nil {
		return err
	}
	if d.Host == 0 {
		return nil
	}
	bytes, err := e.drv.allocHost(d.Host)
	if code(err) == outOfMemory {
		return &device.MemoryError{Msg: fmt.Sprintf("the %s of the host that the plan offloads to cannot be pinned", units.Bytes(d.Host)), Err: err}
	}
	if err != nil {
		return fmt.Errorf("memory of the host cannot be pinned: %w", err)
	}
	e.host = &pinned{Memory: device.NewHost(bytes, nil), e: e, bytes: bytes}
	return nil
}

// newArena allocates the arena: where the device exchanges what is in it with others, by the transport, which may
// have memory that needs no copies of its own.
func (e *engine) newArena(n int64) error {
	if a, ok := e.r.Exchanges.(device.Allocator); ok && e.communicates() {
		at, free, err := a.Allocate(max(n, 1))
		if err != nil {
			if left, _, e2 := e.drv.memInfo(); e2 == nil && left < n {
				return &device.MemoryError{Msg: fmt.Sprintf("an arena of %s does not fit in the %s that GPU %d (%s) has free", units.Bytes(n), units.Bytes(left), e.ordinal, e.gpu().name), Err: err}
			}
			return e.unusable(err)
		}
		if free != nil {
			e.arena = &arena{e: e, base: at, size: n, free: free}
			return e.roomBeside()
		}
	}
	at, err := e.drv.alloc(max(n, 1))
	if err != nil {
		return e.room("an arena", n, err)
	}
	e.arena = &arena{e: e, base: at, size: n}
	return nil
}

// roomBeside says where what is left in addition to the arena may not do for communicators. What these take nobody
// knows before.
func (e *engine) roomBeside() error {
	least, most := e.r.Device.Communicators(e.r.Plan.Mesh).Bytes()
	left, _, err := e.drv.memInfo()
	if err == nil && left < least {
		e.warn(fmt.Sprintf("outside its arena GPU %d (%s) has %s free, and communicators of NCCL are estimated to take %s to %s",
			e.ordinal, e.gpu().name, units.Bytes(left), units.Bytes(least), units.Bytes(most)))
	}
	return err
}

// communicates says whether the device exchanges anything with others.
func (e *engine) communicates() bool {
	for i := range e.r.Device.Progs {
		for j := range e.r.Device.Progs[i].Instrs {
			if isExchange(&e.r.Device.Progs[i].Instrs[j]) {
				return true
			}
		}
	}
	return false
}

func (e *engine) Memory(name string) device.Memory {
	switch {
	case name == "" && e.arena != nil:
		return e.arena
	case name == program.Host && e.host != nil:
		return e.host
	}
	return nil
}

// arena is the memory of the GPU.
type arena struct {
	e    *engine
	base uint64
	size int64
	free func() error // of who gave the memory; nil: the driver
}

func (m *arena) Size() int64               { return m.size }
func (m *arena) HostBytes() ([]byte, bool) { return nil, false }

// within says why bytes are not the memory's.
func (m *arena) within(at, n int64) error {
	switch {
	case m.base == 0:
		return fmt.Errorf("memory of the GPU is used after it was closed")
	case at < 0 || n < 0 || at > m.size-n:
		return fmt.Errorf("bytes [%d, %d) are not in the %d bytes of the GPU's memory", at, at+n, m.size)
	}
	return nil
}

func (m *arena) CopyIn(at int64, src []byte) error {
	if err := m.within(at, int64(len(src))); err != nil || len(src) == 0 {
		return err
	}
	return m.e.copied(func() error { return m.e.drv.toDevice(m.base+uint64(at), src, m.e.stream) })
}

func (m *arena) CopyOut(dst []byte, at int64) error {
	if err := m.within(at, int64(len(dst))); err != nil || len(dst) == 0 {
		return err
	}
	return m.e.copied(func() error { return m.e.drv.toHost(dst, m.base+uint64(at), m.e.stream) })
}

func (m *arena) Copy(at int64, src device.Range) error {
	if err := m.within(at, src.Bytes); err != nil || src.Bytes == 0 {
		return err
	}
	if from, ok := src.Memory.(*arena); ok && from.e == m.e {
		if err := from.within(src.Offset, src.Bytes); err != nil {
			return err
		}
		all := lines(m.end(at), from.end(src.Offset), src.Bytes)
		return m.e.copied(func() error { return m.e.begin(all) })
	}
	bytes, ok := src.HostBytes()
	if !ok {
		return fmt.Errorf("memory of another engine cannot be copied")
	}
	return m.CopyIn(at, bytes)
}

// end is the memory from a byte on as one side of a copy.
func (m *arena) end(at int64) copyEnd {
	return copyEnd{memory: typeDevice, device: m.base + uint64(at)}
}

// Close frees the memory, which the engine does.
func (m *arena) Close() {
	switch { // nothing could be done about an error
	case m.base == 0:
	case m.free != nil:
		_ = m.free()
	default:
		_ = m.e.drv.free(m.base)
	}
	m.base = 0
}

// pinned is the memory of the host.
type pinned struct {
	device.Memory
	e     *engine
	bytes []byte
}

func (m *pinned) Copy(at int64, src device.Range) error {
	if from, ok := src.Memory.(*arena); ok {
		return from.CopyOut(m.bytes[at:at+src.Bytes], src.Offset)
	}
	return m.Memory.Copy(at, src)
}

func (m *pinned) Close() {
	m.Memory.Close()
	if m.bytes != nil {
		_ = m.e.drv.freeHost(m.bytes)
	}
	m.bytes = nil
}

// copied does a copy and waits for it. Copies are on the stream of the programs: what is pageable
// would otherwise still be on its way to the GPU when a program begins.
func (e *engine) copied(copy func() error) error {
	err := e.enter()
	if err == nil {
		defer runtime.UnlockOSThread()
		err = copy()
	}
	if err == nil {
		err = e.drv.do(&e.sync)
	}
	if err != nil {
		return fmt.Errorf("memory of GPU %d (%s) cannot be copied: %w", e.ordinal, e.gpu().name, err)
	}
	return nil
}
