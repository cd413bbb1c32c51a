package tensor

import (
	"math"

	"ptc/internal/philox"
)

// Philox4x32 is the generator of internal/philox.
func Philox4x32(ctr [4]uint32, key [2]uint32) [4]uint32 { return philox.Block(ctr, key) }

// RandomKey is the second word of every key of the random operation; the
// first is the seed.
const RandomKey = 0x70746331

// Bits is the Philox block of one element of a random operation. Every code
// generator reproduces this mapping bit for bit:
//
//	e       the element's global row-major position in the axes of the op
//	counter (e mod 2^32, e div 2^32, site mod 2^32, step)
//	key     (seed, RandomKey)
//
// seed and step are the bits of the i32 operands. An element takes a block of
// its own, so that neither vector width nor sharding changes it.
func Bits(seed, step int32, site, e uint64) [4]uint32 {
	return Philox4x32(
		[4]uint32{uint32(e), uint32(e >> 32), uint32(site), uint32(step)},
		[2]uint32{uint32(seed), RandomKey})
}

// Uniform is the number in [0, 1) of a block: the upper 24 bits of word 0, in
// units of 2^-24, exact in f32.
func Uniform(b [4]uint32) float64 { return float64(b[0]>>8) * (1.0 / (1 << 24)) }

// Normal is the standard normal number of a block, by Box and Muller:
//
//	u1 = ((word 0 >> 8) + 1) 2^-24 in (0, 1],  u2 = (word 1 >> 8) 2^-24
//	sqrt(-2 ln u1) cos(2 pi u2)
func Normal(b [4]uint32) float64 {
	u1 := float64(b[0]>>8+1) * (1.0 / (1 << 24))
	u2 := float64(b[1]>>8) * (1.0 / (1 << 24))
	return math.Sqrt(-2*math.Log(u1)) * math.Cos(2*math.Pi*u2)
}
