package device

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// Memory is one memory of a device. Its bytes are numbered from 0; copies to and
// from disjoint ranges may run concurrently.
//
// A copy returns when it is done. It must not meet what a program that was
// launched, or what is under way, reads or writes.
type Memory interface {
	// Size is the number of bytes.
	Size() int64

	// CopyIn copies the host's bytes to the memory, from a byte on.
	CopyIn(at int64, src []byte) error

	// CopyOut copies the memory's bytes from a byte on to the host's.
	CopyOut(dst []byte, at int64) error

	// Copy copies a range of a memory of the same engine, this or another, to
	// this one, from a byte on. The two do not overlap.
	Copy(at int64, src Range) error

	// HostBytes is the memory as bytes of this process, where it is that: they
	// are the memory, and stay where they are until it is closed. Only what runs
	// on the host's bytes asks for them: its kernels, and transports that serve
	// them.
	HostBytes() (bytes []byte, ok bool)

	// Close frees the memory. One of an engine is closed by the engine.
	Close()
}

// Range is bytes of a memory. The zero value is none.
type Range struct {
	Memory Memory
	Offset int64
	Bytes  int64
}

// Bytes is a range of the caller's own bytes, wherever they are; they must not be
// moved. Two such ranges of one slice are ranges of two memories that share bytes.
func Bytes(b []byte) Range {
	if b == nil {
		return Range{}
	}
	return Range{Memory: &hostMemory{bytes: b}, Bytes: int64(len(b))}
}

// Aligned is zeroed memory of Go's heap at a multiple of 64, for any elements.
func Aligned(n int64) []byte {
	const line = 64
	mem := make([]byte, n+line)
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (line - 1))
	return mem[skip : skip+n : skip+n]
}

// Slice is the bytes [from, to) of a range.
func (r Range) Slice(from, to int64) Range {
	return Range{Memory: r.Memory, Offset: r.Offset + from, Bytes: to - from}
}

// HostBytes is the range as bytes of this process, where it is that.
func (r Range) HostBytes() (bytes []byte, ok bool) {
	if r.Memory == nil {
		return nil, r.Bytes == 0
	}
	all, ok := r.Memory.HostBytes()
	if !ok {
		return nil, false
	}
	return all[r.Offset : r.Offset+r.Bytes : r.Offset+r.Bytes], true
}

// Place orders ranges by where they lie: two ranges with the same space share
// bytes exactly if those from at on do.
func (r Range) Place() (space Memory, at int64) {
	if b, ok := r.HostBytes(); ok {
		return nil, int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	}
	return r.Memory, r.Offset
}

// hostMemory is bytes of this process.
type hostMemory struct {
	bytes []byte
	file  bool // a page may be gone when it is touched
	free  func()
}

// NewHost is a memory of the host; free, if not nil, frees the bytes.
func NewHost(bytes []byte, free func()) Memory { return &hostMemory{bytes: bytes, free: free} }

// NewFile is a memory of the host that is a file, of which a page that cannot be
// read or written any more is an error of a copy, where it would be a fault of the
// process otherwise.
func NewFile(bytes []byte, free func()) Memory {
	return &hostMemory{bytes: bytes, file: true, free: free}
}

func (m *hostMemory) Size() int64               { return int64(len(m.bytes)) }
func (m *hostMemory) HostBytes() ([]byte, bool) { return m.bytes, true }

func (m *hostMemory) CopyIn(at int64, src []byte) error {
	if m.file {
		return careful(m.bytes[at:at+int64(len(src))], src)
	}
	copy(m.bytes[at:at+int64(len(src))], src)
	return nil
}

func (m *hostMemory) CopyOut(dst []byte, at int64) error {
	if m.file {
		return careful(dst, m.bytes[at:at+int64(len(dst))])
	}
	copy(dst, m.bytes[at:at+int64(len(dst))])
	return nil
}

func (m *hostMemory) Copy(at int64, src Range) error {
	b, ok := src.HostBytes()
	if !ok {
		return fmt.Errorf("memory of another engine cannot be copied")
	}
	if from, ok := src.Memory.(*hostMemory); ok && from.file {
		return careful(m.bytes[at:at+src.Bytes], b)
	}
	return m.CopyIn(at, b)
}

func (m *hostMemory) Close() {
	if m.free != nil {
		m.free()
	}
	m.bytes, m.free = nil, nil
}

// careful copies what may be gone.
func careful(dst, src []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("offloaded memory cannot be reached: %v", p)
		}
	}()
	copy(dst, src)
	return nil
}
