package emu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// Memory is the global memory of a device: allocations far apart, so that what reaches
// beyond one is found.
type Memory struct {
	blocks []block // by address
	next   uint64
}

type block struct {
	base uint64
	data []byte
}

// firstAddress is where allocations begin. Addresses of hosts and of shared memory are
// never in them.
const (
	firstAddress = 0x7e00_0000_0000
	apart        = 1 << 20
	alignment    = 256
)

// Alloc is n bytes at an address that is a multiple of 256.
func (m *Memory) Alloc(n int) (uint64, []byte) {
	data := make([]byte, n)
	return m.Map(data), data
}

// Map makes data accessible to kernels, and gives its address.
func (m *Memory) Map(data []byte) uint64 {
	if m.next == 0 {
		m.next = firstAddress
	}
	at := m.next
	m.blocks = append(m.blocks, block{at, data})
	m.next += (uint64(len(data)) + apart + alignment - 1) / alignment * alignment
	return at
}

// Free takes back what Alloc or Map gave.
func (m *Memory) Free(base uint64) error {
	i := slices.IndexFunc(m.blocks, func(b block) bool { return b.base == base })
	if i < 0 {
		return fmt.Errorf("emu: nothing was allocated at %#x", base)
	}
	m.blocks = slices.Delete(m.blocks, i, i+1)
	return nil
}

// Bytes is the memory of n bytes at an address; they lie in one allocation.
func (m *Memory) Bytes(at uint64, n int) ([]byte, error) {
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].base > at }) - 1
	if i >= 0 {
		b := &m.blocks[i]
		if off := at - b.base; off <= uint64(len(b.data)) && uint64(n) <= uint64(len(b.data))-off {
			return b.data[off : off+uint64(n) : off+uint64(n)], nil
		}
	}
	return nil, fmt.Errorf("%d bytes of global memory at %#x are in no allocation", n, at)
}

// load and store take the lowest bytes of a word.
func load(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func store(b []byte, v uint64) {
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
