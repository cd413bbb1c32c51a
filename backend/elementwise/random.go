package elementwise

import (
	"math"

	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
	"ptc/ir/tensor"
)

// Random appends the random numbers of elements number (i64) from seed, step and site
// (i32), uniform in [0, 1) or normal, as ir/tensor.Bits has them.
func Random(b *kernel.Builder, normal bool, number, seed, step, site *kernel.Value) *kernel.Value {
	lanes := number.Type.Lanes
	lo := b.Convert(number, kernel.I32)
	hi := b.Convert(b.LShr(number, b.ConstInt(number.Type, 32)), kernel.I32)
	words := b.Philox([4]*kernel.Value{lo, hi, site, step},
		[2]*kernel.Value{seed, b.ConstInt(kernel.Vec(kernel.I32, lanes), tensor.RandomKey)})
	if !normal {
		return b.Uniform(words[0])
	}
	// Box and Muller's transform (Ann. Math. Stat. 29, 1958), as tensor.Normal has it:
	// u1 in (0, 1], u2 in [0, 1).
	u1 := b.Add(b.Uniform(words[0]), b.F32(1.0/(1<<24), lanes))
	u2 := b.Uniform(words[1])
	r := b.Sqrt(b.Mul(b.Like(u1, -2), b.Call(vmath.Log, u1)))
	return b.Mul(r, b.Call(vmath.Cos, b.Mul(b.Like(u2, 2*math.Pi), u2)))
}
