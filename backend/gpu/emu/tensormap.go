package emu

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// TensorMap says how tiles of a tensor in global memory are copied: what cuTensorMapEncodeTiled
// of the CUDA driver takes, with its numbers. Dimension 0 is the one whose elements lie next to each other.
type TensorMap struct {
	Type    TensorType
	Rank    int
	Address uint64
	Sizes   [5]uint64 // elements
	Strides [4]uint64 // bytes from one to the next of dimension 1, 2, …
	Box     [5]uint32 // elements of a tile
	Steps   [5]uint32 // elements from one that is copied to the next; that of dimension 0 has no effect
	Swizzle Swizzle
}

// TensorType is what elements are, as CUtensorMapDataType.
type TensorType uint32

// The types of elements. Those that change what is copied are not emulated.
const (
	Uint8 TensorType = iota
	Uint16
	Uint32
	Int32
	Uint64
	Int64
	Float16
	Float32
	Float64
	BFloat16
)

var tensorBytes = [...]int{Uint8: 1, Uint16: 2, Uint32: 4, Int32: 4, Uint64: 8, Int64: 8, Float16: 2, Float32: 4, Float64: 8, BFloat16: 2}

// Swizzle is how the 16 bytes of a tile are permuted in shared memory, as CUtensorMapSwizzle.
type Swizzle uint32

// The swizzles, by the bytes that they permute.
const (
	NoSwizzle Swizzle = iota
	Swizzle32
	Swizzle64
	Swizzle128
)

// span is how many bytes next to each other are permuted.
func (s Swizzle) span() int { return 16 << s }

// at is where the byte at an address of shared memory lies: bits 4 and up are exchanged with
// those from 7 on, as many as the span has units of 16 bytes.
func (s Swizzle) at(address int) int {
	return address ^ (address>>7&(1<<s-1))<<4
}

// check is the error of a map that cuTensorMapEncodeTiled does not take ("CUDA driver API",
// 6.29; that strides be multiples of one another is written there, and no driver asks for it).
func (m *TensorMap) check() error {
	if int(m.Type) >= len(tensorBytes) {
		return fmt.Errorf("elements of type %d are not emulated", m.Type)
	}
	if m.Rank < 1 || m.Rank > 5 {
		return fmt.Errorf("%d dimensions; expected 1 to 5", m.Rank)
	}
	if m.Address == 0 || m.Address%16 != 0 {
		return fmt.Errorf("address %#x; expected a multiple of 16", m.Address)
	}
	for i := range m.Rank {
		switch {
		case m.Sizes[i] < 1 || m.Sizes[i] > 1<<32:
			return fmt.Errorf("dimension %d has %d elements; expected 1 to 2^32", i, m.Sizes[i])
		case m.Box[i] < 1 || m.Box[i] > 256:
			return fmt.Errorf("a tile has %d elements of dimension %d; expected 1 to 256", m.Box[i], i)
		case m.Steps[i] < 1 || m.Steps[i] > 8:
			return fmt.Errorf("steps of %d elements of dimension %d; expected 1 to 8", m.Steps[i], i)
		case i > 0 && (m.Strides[i-1]%16 != 0 || m.Strides[i-1] >= 1<<40):
			return fmt.Errorf("%d bytes from one to the next of dimension %d; expected a multiple of 16 below 2^40", m.Strides[i-1], i)
		}
	}
	if m.Swizzle > Swizzle128 {
		return fmt.Errorf("swizzle %d is not emulated", m.Swizzle)
	}
	inner := m.inner()
	if inner%16 != 0 {
		return fmt.Errorf("a tile has %d bytes next to each other; expected a multiple of 16", inner)
	}
	if m.Swizzle != NoSwizzle && inner > m.Swizzle.span() {
		return fmt.Errorf("a tile has %d bytes next to each other; %d are swizzled", inner, m.Swizzle.span())
	}
	return nil
}

// inner is how many bytes of a tile lie next to each other.
func (m *TensorMap) inner() int { return int(m.Box[0]) * tensorBytes[m.Type] }

// count is how many elements of dimension i are copied.
func (m *TensorMap) count(i int) int {
	if i == 0 {
		return int(m.Box[0])
	}
	return int((m.Box[i] + m.Steps[i] - 1) / m.Steps[i])
}

// bytes is the size of a tile in shared memory, of what is outside of the tensor as well.
func (m *TensorMap) bytes() int {
	n := m.inner()
	for i := 1; i < m.Rank; i++ {
		n *= m.count(i)
	}
	return n
}

// The encoding is of this package alone: a word that says so, the fields, and their sum.
const (
	tensorMapBytes = 128
	tensorMapMagic = 0x50414d54_63747031
)

// Encode is m as the argument of a kernel.
func (m *TensorMap) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("emu: tensor map: %w", err)
	}
	le := binary.LittleEndian
	b := le.AppendUint64(nil, tensorMapMagic)
	b = append(b, byte(m.Type), byte(m.Rank), byte(m.Swizzle), 0)
	b = le.AppendUint64(b, m.Address)
	for i := range m.Sizes {
		b = le.AppendUint64(b, m.Sizes[i])
	}
	for i := range m.Strides {
		b = le.AppendUint64(b, m.Strides[i])
	}
	for i := range m.Box {
		b = le.AppendUint16(b, uint16(m.Box[i]))
		b = append(b, byte(m.Steps[i]))
	}
	b = append(b, make([]byte, tensorMapBytes-4-len(b))...)
	return le.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// decodeTensorMap reads what Encode wrote.
func decodeTensorMap(b []byte) (*TensorMap, error) {
	le := binary.LittleEndian
	if len(b) != tensorMapBytes || le.Uint64(b) != tensorMapMagic || crc32.ChecksumIEEE(b[:tensorMapBytes-4]) != le.Uint32(b[tensorMapBytes-4:]) {
		return nil, fmt.Errorf("found no tensor map")
	}
	m := &TensorMap{Type: TensorType(b[8]), Rank: int(b[9]), Swizzle: Swizzle(b[10]), Address: le.Uint64(b[12:])}
	b = b[20:]
	for i := range m.Sizes {
		m.Sizes[i] = le.Uint64(b[8*i:])
	}
	b = b[8*len(m.Sizes):]
	for i := range m.Strides {
		m.Strides[i] = le.Uint64(b[8*i:])
	}
	b = b[8*len(m.Strides):]
	for i := range m.Box {
		m.Box[i], m.Steps[i] = uint32(le.Uint16(b[3*i:])), uint32(b[3*i+2])
	}
	return m, m.check()
}

// piece is a part of a tile that lies next to each other in both memories: n bytes, or,
// outside of the tensor, of shared memory alone.
type piece struct {
	at     int // from the beginning of the tile in shared memory, before it is swizzled
	global uint64
	n      int
	inside bool
}

// pieces calls f for all parts of the tile at a position.
func (m *TensorMap) pieces(at []int32, f func(piece) error) error {
	size, inner := tensorBytes[m.Type], m.inner()
	// The elements of dimension 0 that are in the tensor.
	lo := max(0, -int64(at[0]))
	hi := min(int64(m.Box[0]), int64(m.Sizes[0])-int64(at[0]))
	var index [5]int
	for row := 0; ; row++ {
		inside := lo < hi
		address := m.Address + uint64(int64(at[0])*int64(size))
		for i := 1; i < m.Rank; i++ {
			x := int64(at[i]) + int64(index[i])*int64(m.Steps[i])
			inside = inside && x >= 0 && x < int64(m.Sizes[i])
			address += uint64(x) * m.Strides[i-1]
		}
		if !inside {
			if err := f(piece{at: row * inner, n: inner}); err != nil {
				return err
			}
		} else {
			first, last := int(lo)*size, int(hi)*size
			for _, p := range []piece{{at: 0, n: first}, {first, address + uint64(first), last - first, true}, {at: last, n: inner - last}} {
				p.at += row * inner
				if p.n == 0 {
					continue
				}
				if err := f(p); err != nil {
					return err
				}
			}
		}
		i := 1
		for ; i < m.Rank; i++ {
			if index[i]++; index[i] < m.count(i) {
				break
			}
			index[i] = 0
		}
		if i >= m.Rank {
			return nil
		}
	}
}
