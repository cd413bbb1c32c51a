package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// LoadMatrix is registers of n matrices, 1, 2 or 4, of 8 rows of 16 bytes in shared memory: lane 8·i + r
// says where row r of matrix i is. A lane has the 32 bits of row lane/4 at place lane%4 of each, or,
// where trans holds, of the transposed matrix of numbers of 16 bits.
func (b *Builder) LoadMatrix(s Shared, n int, trans bool) []*Value {
	name := fmt.Sprintf("ldmatrix.sync.aligned.m8n8.x%d", n)
	if trans {
		name += ".trans"
	}
	regs := make([]ptx.Operand, n)
	out := make([]*Value, n)
	for i := range regs {
		regs[i] = ptx.R(b.reg(ptx.B32))
		out[i] = b.value(kernel.I32, regs[i])
	}
	b.op(name+".shared.b16", ptx.Vec(regs...), ptx.At(s.at.Reg, s.plus))
	return out
}

// Multiply is x·y + sums of 16×8 sums in f32, by the lanes of a warp: x has 16 rows, y 8 columns,
// and both 16 numbers of 16 bits along the axis that is summed, or 32 of 8 or 8 of f32, in fragments as
// [Builder.LoadMatrix] gives them: of x numbers e, of y numbers f, which differ at most if they have 8 bits. Those of
// f32 are rounded as [Builder.Tensor32] does.
func (b *Builder) Multiply(e, f kernel.Elem, x, y, sums []*Value) []*Value {
	if !e.IsNarrow() && e != kernel.F32 || e != f && !b.mixed(e, f) || e.DType().IsScaled() && !b.fp8 || len(x) != 4 || len(y) != 2 || len(sums) != 4 {
		b.fail(fmt.Errorf("a product of %s in %d and %d registers on top of %d", e, len(x), len(y), len(sums)))
		return sums
	}
	steps, kinds := "k16", halfName(e)+"."+halfName(f)
	switch {
	case e == kernel.F32:
		steps, kinds = "k8", "tf32.tf32"
	case e.DType().IsScaled():
		steps = "k32"
	}
	list := func(vs []*Value) ptx.Operand {
		regs := make([]ptx.Operand, len(vs))
		for i, v := range vs {
			regs[i] = b.inReg(v)
		}
		return ptx.Vec(regs...)
	}
	to := make([]ptx.Operand, 4)
	out := make([]*Value, 4)
	for i := range to {
		to[i] = ptx.R(b.reg(ptx.B32))
		out[i] = b.value(kernel.F32, to[i])
	}
	b.op("mma.sync.aligned.m16n8"+steps+".row.col.f32."+kinds+".f32", ptx.Vec(to...), list(x), list(y), list(sums))
	return out
}

// mixed reports whether matrix instructions multiply numbers e by numbers f, which are others.
func (b *Builder) mixed(e, f kernel.Elem) bool { return e.DType().IsScaled() && f.DType().IsScaled() }

// Tensor32 is the bits of an f32 rounded to the 10 of its significand that matrix instructions read.
func (b *Builder) Tensor32(x *Value) *Value {
	return b.value(kernel.I32, b.pure(ptx.B32, "cvt.rna.tf32.f32", b.inReg(x)))
}
