package data

import (
	"math"
	"math/bits"
)

// philox is the counter-based generator Philox4x32-10 of Salmon, Moraes, Dror
// and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011), section
// 3.3: a bijection of the 128-bit counter for each 64-bit key.
func philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	for range 10 {
		p0, p1 := uint64(m0)*uint64(ctr[0]), uint64(m1)*uint64(ctr[2])
		ctr = [4]uint32{
			uint32(p1>>32) ^ ctr[1] ^ key[0], uint32(p1),
			uint32(p0>>32) ^ ctr[3] ^ key[1], uint32(p0),
		}
		key[0] += w0
		key[1] += w1
	}
	return ctr
}

// streamID keeps apart the uses of one seed.
type streamID uint32

const (
	streamTrain streamID = 1 + iota
	streamValid
	streamTeacher
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
	return philox([4]uint32{uint32(row), uint32(uint64(row) >> 32), uint32(i), s.id}, s.key)
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
