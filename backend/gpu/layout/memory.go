package layout

import "math/bits"

// Memory is where the elements of a tile are in shared memory: an address, in elements, that is
// linear over the bits of positions, so that it is the exclusive or of what each bit brings.
type Memory struct {
	Sizes []int   // of the tile, powers of two
	Bits  [][]int // by dimension and bit of the position
	Elems int     // that there is room for
	// Span is how many bytes a row of it has, where it is as matrix instructions of warpgroups and copies of
	// tensors have tiles ([Spans]), or 0.
	Span int
}

// bankChunks is how many chunks of 16 bytes the banks of shared memory have side by side.
const bankChunks = 8

// Dense is a tile with dimension fast contiguous, and the others around it, the last one innermost.
// There is no room for the bits that it is without: what differs in them alone has one place.
func Dense(sizes []int, fast int, without ...Basis) *Memory {
	m := &Memory{Sizes: sizes, Bits: make([][]int, len(sizes)), Elems: 1}
	place := func(d int) {
		for s := 1; s < sizes[d]; s *= 2 {
			b := make(Basis, len(sizes))
			b[d] = s
			if Has(without, b) {
				m.Bits[d] = append(m.Bits[d], 0)
				continue
			}
			m.Bits[d] = append(m.Bits[d], m.Elems)
			m.Elems *= 2
		}
	}
	if fast < len(sizes) {
		place(fast)
	}
	for d := len(sizes) - 1; d >= 0; d-- {
		if d != fast {
			place(d)
		}
	}
	return m
}

// Spans is a tile of two dimensions, of elements of so many bytes, as matrix instructions of warpgroups
// read them and copies of tensors write them: rows of up to 128 bytes along dimension fast, one for each position of
// the other one, in which chunks of 16 bytes are exchanged by where a row is, and further such tiles behind
// it ("PTX ISA", 9.7.15.5). It begins at a multiple of 1024 bytes. Nil where rows are too short or too few.
func Spans(sizes []int, fast, bytes int) *Memory {
	const widest, chunk = 128, 16
	if len(sizes) != 2 || sizes[fast]*bytes < 2*chunk || sizes[1-fast] < bankChunks {
		return nil
	}
	m := &Memory{Sizes: sizes, Bits: make([][]int, 2), Elems: sizes[0] * sizes[1], Span: min(widest, sizes[fast]*bytes)}
	place := func(d, at int) {
		exchanged := m.Span/chunk - 1
		at ^= at * bytes / widest & exchanged * chunk / bytes
		m.Bits[d] = append(m.Bits[d], at)
	}
	span := m.Span / bytes
	for n := 1; n < sizes[fast]; n *= 2 {
		if n < span {
			place(fast, n)
		} else {
			place(fast, n*sizes[1-fast])
		}
	}
	for n := 1; n < sizes[1-fast]; n *= 2 {
		place(1-fast, n*span)
	}
	return m
}

// Swizzle exchanges chunks of 16 bytes, of so many elements, such that threads which differ in the
// bits of one of the groups meet no bank twice. A bit whose chunk has a bank that another bit
// of the group reaches changes one that is left as well. What is within the first 128 bytes stays.
func (m *Memory) Swizzle(chunk int, groups ...[]Basis) {
	for _, group := range groups {
		var span []int // of banks that the group reaches, each with a highest bit of its own
		var late []Basis
		for _, b := range group {
			if a := m.Of(b); a < chunk {
				continue // within a chunk, or nowhere else
			} else if !extend(&span, a/chunk%bankChunks) {
				late = append(late, b)
			}
		}
		for _, b := range late {
			a := m.bit(b)
			if a == nil || *a/chunk < bankChunks || *a&(*a-1) != 0 {
				continue
			}
			for bank := 1; bank < bankChunks; bank *= 2 {
				if extend(&span, bank) {
					*a ^= bank * chunk
					break
				}
			}
		}
	}
}

// extend adds v to a span of numbers under exclusive or, or reports that it is in it.
func extend(span *[]int, v int) bool {
	for _, x := range *span {
		v = min(v, v^x)
	}
	if v == 0 {
		return false
	}
	*span = append(*span, v)
	return true
}

// bit is what the bit of a position that b moves brings, to be changed.
func (m *Memory) bit(b Basis) *int {
	for d, n := range b {
		if n != 0 {
			return &m.Bits[d][bits.TrailingZeros(uint(n))]
		}
	}
	return nil
}

// Of is the address of a position.
func (m *Memory) Of(at []int) int {
	a := 0
	for d, n := range at {
		for i := 0; n>>i != 0; i++ {
			if n>>i&1 != 0 {
				a ^= m.Bits[d][i]
			}
		}
	}
	return a
}
