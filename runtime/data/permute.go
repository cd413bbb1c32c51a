package data

import (
	"math/bits"

	"ptc/internal/philox"
)

// permutation is a pseudorandom permutation of [0, n) for each epoch that needs
// no memory: a Feistel network with Philox as its round function permutes the
// least power of two that holds n, and a value that lands outside of [0, n) is
// sent through again until it is inside (cycle walking; Black and Rogaway,
// "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section 3). The domain
// is less than 2n for n > 1, so fewer than two passes are expected.
type permutation struct {
	n      uint64
	lo, hi uint // bits of the two halves, lo the smaller
	stream stream
}

// feistelRounds is even, so that halves of unequal size return to their places.
const feistelRounds = 8

func newPermutation(n int64, s stream) permutation {
	w := uint(bits.Len64(uint64(max(n, 2)) - 1))
	return permutation{n: uint64(n), lo: w / 2, hi: w - w/2, stream: s}
}

// at gives the i-th element of the epoch's order, 0 <= i < n.
func (p *permutation) at(epoch, i int64) int64 {
	if p.n < 2 {
		return 0
	}
	x := uint64(i)
	for {
		if x = p.feistel(epoch, x); x < p.n {
			return int64(x)
		}
	}
}

// feistel permutes [0, 2^(lo+hi)). In every round the one half is masked by a
// function of the other, and they change places; both fit 32 bits.
func (p *permutation) feistel(epoch int64, x uint64) uint64 {
	lw, rw := p.hi, p.lo
	l, r := x>>rw, x&(1<<rw-1)
	for round := range feistelRounds {
		f := philox.Block([4]uint32{uint32(r), uint32(round)<<16 | p.stream.id,
			uint32(epoch), uint32(uint64(epoch) >> 32)}, p.stream.key)
		l, r = r, (l^uint64(f[0]))&(1<<lw-1)
		lw, rw = rw, lw
	}
	return l<<rw | r
}
