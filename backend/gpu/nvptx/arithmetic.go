package nvptx

import (
	"math"

	"ptc/backend/gpu/ptx"
)

// arithmetic is that of backend/kernel, on scalars, whose statements become instructions as they are made.
type arithmetic struct {
	*entry
	near bool // exponentials are the hardware's
	fp8  bool // conversions and products of floats of eight bits are the hardware's
}

func (b *arithmetic) Near(near bool, body func()) {
	before := b.near
	b.near = near || before
	body()
	b.near = before
}

// nearExp is e to the power of x, as one of 2. It is off by 2 units in the last place at most ("PTX ISA", 9.7.3, ex2), 2⁻²²
// of it, and by |x| · 2⁻²³ of it for what is rounded before; where x is below -88, it is 0.
func (b *arithmetic) nearExp(x ptx.Operand) ptx.Operand {
	log2e := ptx.Operand{Kind: ptx.IsF32, Imm: int64(math.Float32bits(math.Log2E))}
	return b.pure(ptx.B32, "ex2.approx.ftz.f32", b.pure(ptx.B32, "mul.rn.f32", x, log2e))
}
