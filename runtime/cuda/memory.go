package cuda

import (
	"fmt"

	"ptc/internal/units"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// memories are those of a device: its own on the GPU, that of the host pinned, so that
// copies run concurrently with kernels.
type memories struct {
	*card
	r     *device.Request
	arena *arena
	host  *pinned // nil: the plan has none
}

// allocate makes the memories.
func (m *memories) allocate(s *streams) error {
	d := m.r.Device
	if d.Disk > 0 {
		return fmt.Errorf("the plan offloads %s to disk, which a GPU does not do; offload to the host", units.Bytes(d.Disk))
	}
	// An arena of no bytes is one too; the driver allocates some, at a multiple of 256.
	if err := m.newArena(d.Arena, s); err != nil {
		return err
	}
	if d.Host == 0 {
		return nil
	}
	bytes, err := m.drv.allocHost(d.Host)
	if code(err) == outOfMemory {
		return &device.MemoryError{Msg: fmt.Sprintf("the %s of the host that the plan offloads to cannot be pinned", units.Bytes(d.Host)), Err: err}
	}
	if err != nil {
		return fmt.Errorf("memory of the host cannot be pinned: %w", err)
	}
	m.host = &pinned{Memory: device.NewHost(bytes, nil), card: m.card, bytes: bytes}
	return nil
}

// newArena allocates the arena: where the device exchanges what is in it with others, by the transport, which may
// have memory that needs no copies of its own.
func (m *memories) newArena(n int64, s *streams) error {
	if a, ok := m.r.Exchanges.(device.Allocator); ok && communicates(m.r.Device) {
		at, free, err := a.Allocate(max(n, 1))
		if err != nil {
			if left, _, e2 := m.drv.memInfo(); e2 == nil && left < n {
				return &device.MemoryError{Msg: fmt.Sprintf("an arena of %s does not fit in the %s that GPU %d (%s) has free", units.Bytes(n), units.Bytes(left), m.ordinal, m.gpu.name), Err: err}
			}
			return m.unusable(err)
		}
		if free != nil {
			m.arena = &arena{card: m.card, streams: s, base: at, size: n, free: free}
			return m.roomBeside()
		}
	}
	at, err := m.drv.alloc(max(n, 1))
	if err != nil {
		return m.room("an arena", n, err)
	}
	m.arena = &arena{card: m.card, streams: s, base: at, size: n}
	return nil
}

// roomBeside says where what is left in addition to the arena may not do for communicators. What these take nobody
// knows before.
func (m *memories) roomBeside() error {
	least, most := m.r.Device.Communicators(m.r.Plan.Mesh).Bytes()
	left, _, err := m.drv.memInfo()
	if err == nil && left < least {
		m.warn(fmt.Sprintf("outside its arena GPU %d (%s) has %s free, and communicators of NCCL are estimated to take %s to %s",
			m.ordinal, m.gpu.name, units.Bytes(left), units.Bytes(least), units.Bytes(most)))
	}
	return err
}

// of is the memory of that name, nil where there is none.
func (m *memories) of(name string) device.Memory {
	switch {
	case name == "" && m.arena != nil:
		return m.arena
	case name == program.Host && m.host != nil:
		return m.host
	}
	return nil
}

// arena is the memory of the GPU.
type arena struct {
	card    *card
	streams *streams
	base    uint64
	size    int64
	free    func() error // of who gave the memory; nil: the driver
}

// Streams are those of the memory's GPU.
func (m *arena) Streams() device.Streams { return m.streams }

// Address is where byte 0 lies.
func (m *arena) Address() uint64 { return m.base }

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
	return m.card.copied(func() error { return m.card.drv.toDevice(m.base+uint64(at), src, m.card.stream) })
}

func (m *arena) CopyOut(dst []byte, at int64) error {
	if err := m.within(at, int64(len(dst))); err != nil || len(dst) == 0 {
		return err
	}
	return m.card.copied(func() error { return m.card.drv.toHost(dst, m.base+uint64(at), m.card.stream) })
}

func (m *arena) Copy(at int64, src device.Range) error {
	if err := m.within(at, src.Bytes); err != nil || src.Bytes == 0 {
		return err
	}
	if from, ok := src.Memory.(*arena); ok && from.card == m.card {
		if err := from.within(src.Offset, src.Bytes); err != nil {
			return err
		}
		all := lines(m.end(at), from.end(src.Offset), src.Bytes)
		return m.card.copied(func() error { return m.card.begin(all) })
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
		_ = m.card.drv.free(m.base)
	}
	m.base = 0
}

// pinned is the memory of the host.
type pinned struct {
	device.Memory
	card  *card
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
		_ = m.card.drv.freeHost(m.bytes)
	}
	m.bytes = nil
}

// close frees the memories.
func (m *memories) close() {
	if m.host != nil {
		m.host.Close()
	}
	if m.arena != nil {
		m.arena.Close()
	}
}
