package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// matrices are the matrix instructions of a warp.
type matrices struct{ *memory }

func (b *matrices) LoadMatrix(s thread.Shared, n int, trans bool) []*thread.Value {
	name := fmt.Sprintf("ldmatrix.sync.aligned.m8n8.x%d", n)
	if trans {
		name += ".trans"
	}
	regs := make([]ptx.Operand, n)
	out := make([]*thread.Value, n)
	for i := range regs {
		regs[i] = ptx.R(b.reg(ptx.B32))
		out[i] = b.value(kernel.I32, regs[i])
	}
	b.op(name+".shared.b16", ptx.Vec(regs...), b.local(s))
	return out
}

func (b *matrices) Multiply(e, f kernel.Elem, x, y, sums []*thread.Value) []*thread.Value {
	if !e.IsNarrow() && e != kernel.F32 || e != f && !b.mixed(e, f) || e.DType().IsScaled() && !b.fp8 || len(x) != 4 || len(y) != 2 || len(sums) != 4 {
		b.Fail(fmt.Errorf("a product of %s in %d and %d registers on top of %d", e, len(x), len(y), len(sums)))
		return sums
	}
	steps, kinds := "k16", halfName(e)+"."+halfName(f)
	switch {
	case e == kernel.F32:
		steps, kinds = "k8", "tf32.tf32"
	case e.DType().IsScaled():
		steps = "k32"
	}
	list := func(vs []*thread.Value) ptx.Operand {
		regs := make([]ptx.Operand, len(vs))
		for i, v := range vs {
			regs[i] = b.inReg(v)
		}
		return ptx.Vec(regs...)
	}
	to := make([]ptx.Operand, 4)
	out := make([]*thread.Value, 4)
	for i := range to {
		to[i] = ptx.R(b.reg(ptx.B32))
		out[i] = b.value(kernel.F32, to[i])
	}
	b.op("mma.sync.aligned.m16n8"+steps+".row.col.f32."+kinds+".f32", ptx.Vec(to...), list(x), list(y), list(sums))
	return out
}

// mixed reports whether matrix instructions multiply numbers e by numbers f, which are others.
func (b *matrices) mixed(e, f kernel.Elem) bool { return e.DType().IsScaled() && f.DType().IsScaled() }

func (b *matrices) Tensor32(x *thread.Value) *thread.Value {
	return b.value(kernel.I32, b.pure(ptx.B32, "cvt.rna.tf32.f32", b.inReg(x)))
}

func (b *matrices) Pack(e kernel.Elem, low, high *thread.Value) *thread.Value {
	return b.value(kernel.I32, b.pack(e, ptx.B32, []*thread.Value{low, high}))
}
