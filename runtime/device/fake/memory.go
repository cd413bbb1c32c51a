package fake

import (
	"bytes"
	"fmt"

	"ptc/runtime/device"
	"ptc/runtime/program"
)

// memory is one that the host does not reach.
type memory struct {
	e      *engine
	name   string
	inner  device.Memory
	closed bool
	free   [][2]int64 // ranges that hold no tensor
}

// place is a range of a memory.
type place struct {
	m     *memory
	at, n int64
}

func (p place) meets(q place) bool { return p.m == q.m && p.at < q.at+q.n && q.at < p.at+p.n }

func newMemory(e *engine, name string, inner device.Memory) *memory {
	m := &memory{e: e, name: name, inner: inner}
	held := make([]bool, inner.Size()/program.Align+1) // by lines, which are not shared
	for _, t := range e.r.Device.Tensors {
		if b := &e.r.Device.Buffers[t.Buffer]; b.Memory == name {
			for at := b.Offset; at < b.Offset+b.Bytes; at += program.Align {
				held[at/program.Align] = true
			}
		}
	}
	for at := int64(0); at < inner.Size(); {
		end := at
		for end < inner.Size() && !held[end/program.Align] {
			end += program.Align
		}
		if end = min(end, inner.Size()); end > at {
			m.free = append(m.free, [2]int64{at, end})
		}
		for at = end; at < inner.Size() && held[at/program.Align]; at += program.Align {
		}
	}
	return m
}

func (m *memory) Size() int64               { return m.inner.Size() }
func (m *memory) HostBytes() ([]byte, bool) { return nil, false }
func (m *memory) Close()                    { m.closed = true }

func (m *memory) CopyIn(at int64, src []byte) error {
	if err := m.usable(at, int64(len(src)), true); err != nil {
		return err
	}
	return m.inner.CopyIn(at, src)
}

func (m *memory) CopyOut(dst []byte, at int64) error {
	if err := m.usable(at, int64(len(dst)), false); err != nil {
		return err
	}
	return m.inner.CopyOut(dst, at)
}

func (m *memory) Copy(at int64, src device.Range) error {
	from, ok := src.Memory.(*memory)
	if !ok || from.e != m.e {
		return fmt.Errorf("fake: the memory of another engine cannot be copied")
	}
	if err := from.usable(src.Offset, src.Bytes, false); err != nil {
		return err
	}
	if err := m.usable(at, src.Bytes, true); err != nil {
		return err
	}
	return place{m, at, src.Bytes}.copy(place{from, src.Offset, src.Bytes})
}

// usable says why the host may not copy from or to a range now.
func (m *memory) usable(at, n int64, write bool) error {
	what := "read"
	if write {
		what = "written"
	}
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	switch {
	case m.closed:
		return fmt.Errorf("fake: memory is %s that is closed", what)
	case at < 0 || at+n > m.Size():
		return fmt.Errorf("fake: bytes [%d, %d) of %d are %s", at, at+n, m.Size(), what)
	case m.e.launched:
		return fmt.Errorf("fake: memory is %s during a program that is launched", what)
	}
	p := place{m, at, n}
	for _, f := range m.e.flights {
		if f.uses(p, write) {
			return fmt.Errorf("fake: bytes from %d on are %s, which instruction %d, under way, uses", at, what, f.instr)
		}
	}
	return nil
}

// copy copies within the device.
func (p place) copy(from place) error {
	return p.m.inner.Copy(p.at, device.Range{Memory: from.m.inner, Offset: from.at, Bytes: from.n})
}

// spoilt is bytes that are no number.
var spoilt = bytes.Repeat([]byte{0xff}, 1<<16)

// spoil makes bytes undefined.
func (m *memory) spoil(at, end int64) {
	for at < end {
		n := min(end-at, int64(len(spoilt)))
		if err := m.inner.CopyIn(at, spoilt[:n]); err != nil {
			return // whoever reads there is told
		}
		at += n
	}
}
