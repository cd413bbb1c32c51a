package data

import (
	"math"
	"math/bits"

	"ptc/internal/philox"
)

// streamID keeps apart the uses of one seed.
type streamID uint32

const (
	streamTrain streamID = 1 + iota
	streamValid
	streamTeacher
	streamMix
	streamSplit
	streamNoise streamID = 1 << 8 // added to train or valid
)

// stream is the random numbers of one seed for one use, addressed by a row (any
// 64-bit number) and an index in it.
type stream struct {
	key [2]uint32
	id  uint32
}

func newStream(seed uint64, id streamID) stream {
	return stream{key: [2]uint32{uint32(seed), uint32(seed >> 32)}, id: uint32(id)}
}

func (s stream) at(row int64, i int) [4]uint32 {
	return philox.Block([4]uint32{uint32(row), uint32(uint64(row) >> 32), uint32(i), s.id}, s.key)
}

// below is uniform in [0, n), by the multiplication of a 64-bit draw.
func (s stream) below(row int64, i int, n uint64) uint64 {
	r := s.at(row, i)
	hi, _ := bits.Mul64(uint64(r[0])|uint64(r[1])<<32, n)
	return hi
}

// normal is standard normal by Box and Muller's transform (1958).
func (s stream) normal(row int64, i int) float64 {
	r := s.at(row, i)
	const ulp = 1.0 / (1 << 32)
	u := (float64(r[0]) + 0.5) * ulp // never 0
	v := (float64(r[1]) + 0.5) * ulp
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}
