package kerneltest

import (
	"encoding/binary"
	"fmt"
	"math"

	"ptc/backend/kernel"
)

// half is bf16 i of register bits, from the lower half of the first lane on.
func half(x []uint64, i int) float32 {
	return math.Float32frombits(uint32(x[i/2]>>(i%2*16)) << 16)
}

// matBF16 is [kernel.OpMatBF16], with the arithmetic of Arm's instruction (Arm,
// Architecture Reference Manual for A-profile, BFMatMulAdd and BFRound): no fused sums,
// rounding to odd but where numbers overflow, and subnormal ones flushed.
func matBF16(c, x, y, out []uint64) {
	for l := range out {
		first, row, column := l/4*4, l%4/2, l%2
		sum := f32(c[l])
		for k := 0; k < 4; k += 2 {
			i, j := 4*row+k, 4*column+k
			a, b := x[first:], y[first:]
			pair := addOdd(mulOdd(half(a, i), half(b, j)), mulOdd(half(a, i+1), half(b, j+1)))
			sum = addOdd(sum, pair)
		}
		out[l] = bits32(sum)
	}
}

const leastNormal = 0x1p-126

// flush is x, or zero of its sign for a subnormal one.
func flush(x float32) float32 {
	if math.Abs(float64(x)) < leastNormal {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// mulOdd is the product of two bf16, which has 16 bits: only its exponent may not fit.
func mulOdd(x, y float32) float32 {
	return toOdd(float64(flush(x))*float64(flush(y)), 0)
}

// addOdd is the sum of two f32. In float64 it has an error, which is a float64 as well
// (Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B).
func addOdd(x, y float32) float32 {
	a, b := float64(flush(x)), float64(flush(y))
	sum := a + b
	back := sum - a
	return toOdd(sum, (a-(sum-back))+(b-back))
}

// toOdd is x + rest as an f32: the one nearer to zero, or the one farther, whichever is
// odd, where there are two. rest is less than the last place of x.
func toOdd(x, rest float64) float32 {
	f := float32(x)
	switch {
	case math.IsNaN(x) || math.Abs(x) >= 0x1p128 || float64(f) == x && rest == 0:
		return flush(f)
	case math.IsInf(float64(f), 0): // rounding alone does not overflow
		f = float32(math.Copysign(math.MaxFloat32, x))
	}
	bits := math.Float32bits(f)
	far := math.Abs(float64(f)) - math.Abs(x) // exact: both have nearly the same exponent
	if far > 0 || far == 0 && math.Signbit(rest) != math.Signbit(x) {
		bits-- // towards zero
	}
	return flush(math.Float32frombits(bits | 1))
}

// tiles are the tile registers.
type tiles [kernel.Tiles][kernel.TileRows * kernel.TileBytes]byte

func (m *machine) tile(s *kernel.Stmt) error {
	t := &m.tiles[s.Lanes[0]]
	switch s.Op {
	case kernel.OpTileZero:
		clear(t[:])
	case kernel.OpTileDot:
		m.tileDot(t, &m.tiles[s.Lanes[1]], &m.tiles[s.Lanes[2]])
	default:
		return m.moveTile(s, t)
	}
	return nil
}

// moveTile copies the rows of t to or from memory.
func (m *machine) moveTile(s *kernel.Stmt, t *[kernel.TileRows * kernel.TileBytes]byte) error {
	size := int64(s.Ref.Buf.Elem.Bytes())
	at, row := m.index(s.Ref.Index), kernel.TileBytes/size
	for i := range int64(kernel.TileRows) {
		if at < 0 || at+row > s.Ref.Buf.Len {
			return fmt.Errorf("%s: row %d at element %d of %s[%d]", s.Op, i, at, s.Ref.Buf.Name, s.Ref.Buf.Len)
		}
		memory, register := m.mem[s.Ref.Buf][at*size:(at+row)*size], t[i*kernel.TileBytes:(i+1)*kernel.TileBytes]
		if s.Op != kernel.OpTileStore {
			copy(register, memory)
		} else {
			copy(memory, register)
		}
		at += s.Ref.Stride
	}
	return nil
}

// tileDot is [kernel.OpTileDot].
func (m *machine) tileDot(sum, left, right *[kernel.TileRows * kernel.TileBytes]byte) {
	word := func(t *[kernel.TileRows * kernel.TileBytes]byte, row, column int) []byte {
		return t[row*kernel.TileBytes+4*column:]
	}
	const upper = 0xffff0000
	for r := range kernel.TileRows {
		for c := range kernel.TileBytes / 4 {
			var even, odd float32
			for k := range kernel.TileBytes / 4 {
				x, y := binary.LittleEndian.Uint32(word(left, r, k)), binary.LittleEndian.Uint32(word(right, k, c))
				even = fma32(math.Float32frombits(x<<16), math.Float32frombits(y<<16), even)
				odd = fma32(math.Float32frombits(x&upper), math.Float32frombits(y&upper), odd)
			}
			to := word(sum, r, c)
			before := math.Float32frombits(binary.LittleEndian.Uint32(to))
			both := even + odd
			binary.LittleEndian.PutUint32(to, math.Float32bits(before+both))
		}
	}
}
