package kernel

// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC'11, section 3.3: a counter of four words and a key of
// two give four random words in ten rounds. Numbers depend on the counter
// alone, so a kernel draws the same ones however its tasks are laid out.
const (
	philoxRounds = 10
	philoxM0     = 0xD2511F53
	philoxM1     = 0xCD9E8D57
	philoxW0     = 0x9E3779B9 // golden ratio
	philoxW1     = 0xBB67AE85 // √3 - 1
)

// Philox appends Philox4x32-10 of a counter and a key, i32 values of one type,
// lane by lane.
func (b *Builder) Philox(counter [4]*Value, key [2]*Value) [4]*Value {
	t := counter[0].Type
	word := func(c uint32) *Value { return b.ConstInt(t, int64(c)) }
	m0, m1 := word(philoxM0), word(philoxM1)
	w0, w1 := word(philoxW0), word(philoxW1)
	c, k := counter, key
	for round := range philoxRounds {
		if round > 0 {
			k = [2]*Value{b.Add(k[0], w0), b.Add(k[1], w1)}
		}
		hi0, lo0 := b.MulHi(m0, c[0]), b.Mul(m0, c[0])
		hi1, lo1 := b.MulHi(m1, c[2]), b.Mul(m1, c[2])
		c = [4]*Value{
			b.Xor(b.Xor(hi1, c[1]), k[0]), lo1,
			b.Xor(b.Xor(hi0, c[3]), k[1]), lo0,
		}
	}
	return c
}

// Uniform maps random i32 words to f32 in [0, 1): the upper 24 bits times
// 2^-24, every value exact.
func (b *Builder) Uniform(word *Value) *Value {
	top := b.LShr(word, b.ConstInt(word.Type, 8))
	return b.Mul(b.Convert(top, F32), b.F32(1.0/(1<<24), word.Type.Lanes))
}
