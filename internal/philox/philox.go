// Package philox is the counter-based random number generator of ptc.
//
// In: a counter and a key. Out: 128 random bits. The invariant: a block depends
// on its counter and key alone, so that any element of a random tensor can be
// computed by anyone, in any order, on any device.
// Imports nothing.
package philox

// Block is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3" (SC 2011), section 3.3: for each key a bijection
// of the counter.
func Block(ctr [4]uint32, key [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57 // multipliers
		w0, w1 = 0x9E3779B9, 0xBB67AE85 // what the key grows by in each round
	)
	c0, c1, c2, c3 := ctr[0], ctr[1], ctr[2], ctr[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		p0, p1 := uint64(m0)*uint64(c0), uint64(m1)*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += w0
		k1 += w1
	}
	return [4]uint32{c0, c1, c2, c3}
}
