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

// groups are the matrix instructions of warpgroups.
type groups struct{ *matrices }

// swizzles are the numbers that descriptors have for spans ("PTX ISA", 9.7.15.5.1).
var swizzles = map[int]int64{128: 1, 64: 2, 32: 3}

// descriptor is m in 64 bits.
func (b *groups) descriptor(m thread.Matrix) ptx.Operand {
	swizzle := swizzles[m.Span]
	if swizzle == 0 || m.At.Offset%16 != 0 || m.Lead%16 != 0 || m.Stride%16 != 0 {
		b.Fail(fmt.Errorf("a matrix in spans of %d bytes, %d and %d apart", m.Span, m.Lead, m.Stride))
		return ptx.Imm(0)
	}
	field := func(n int) int64 { return int64(n/16) & (1<<14 - 1) }
	bits := swizzle<<62 | field(m.Stride)<<32 | m.At.Offset/16
	if m.Rows {
		bits |= field(m.Lead) << 16
	}
	at := b.pure(ptx.B32, "shr.u32", b.operand(m.At.Base), ptx.Imm(4))
	return b.pure(ptx.B64, "add.u64", b.pure(ptx.B64, "cvt.u64.u32", at), ptx.Imm(bits))
}

func (b *groups) Sums(vs []*thread.Value) []*thread.Value {
	out := make([]*thread.Value, len(vs))
	for i, v := range vs {
		to := ptx.R(b.reg(class(v.Type.Elem)))
		b.move(to, v)
		out[i] = b.value(v.Type.Elem, to)
	}
	return out
}

func (b *groups) MultiplyGroup(e, f kernel.Elem, x []*thread.Value, rows, cols thread.Matrix, sums []*thread.Value) {
	n := 2 * len(sums)
	fp8 := e.DType().IsScaled()
	if !e.IsNarrow() || e != f && !b.mixed(e, f) || fp8 && (x != nil || rows.Rows || cols.Rows || !b.fp8) || n < 8 || n > 256 || n%8 != 0 || x != nil && len(x) != 4 {
		b.Fail(fmt.Errorf("a product of a warpgroup of %s, of %d registers on top of %d", e, len(x), len(sums)))
		return
	}
	number := func(rows bool) ptx.Operand {
		if rows {
			return ptx.Imm(1)
		}
		return ptx.Imm(0)
	}
	to := make([]ptx.Operand, len(sums))
	for i, v := range sums {
		to[i] = b.inReg(v)
	}
	zero := b.pure(ptx.B32, "mov.b32", ptx.Imm(0))
	add := b.pure(ptx.Pred, "setp.eq.u32", zero, ptx.Imm(0))
	args := []ptx.Operand{ptx.Vec(to...)}
	var signs []ptx.Operand
	if x != nil {
		regs := make([]ptx.Operand, len(x))
		for i, v := range x {
			regs[i] = b.inReg(v)
		}
		args = append(args, ptx.Vec(regs...))
	} else {
		args = append(args, b.descriptor(rows))
		signs = append(signs, number(rows.Rows))
	}
	args = append(args, b.descriptor(cols), add, ptx.Imm(1), ptx.Imm(1))
	steps := 32
	if !fp8 {
		steps = 16
		args = append(args, append(signs, number(cols.Rows))...)
	}
	b.op(fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s", n, steps, halfName(e), halfName(f)), args...)
}

func (b *groups) FenceProducts() { b.op("wgmma.fence.sync.aligned") }

func (b *groups) CommitProducts() { b.op("wgmma.commit_group.sync.aligned") }

func (b *groups) AwaitProducts(n int) {
	b.op("wgmma.wait_group.sync.aligned", ptx.Imm(int64(n)))
}

func (b *groups) FenceProxy() { b.op("fence.proxy.async.shared::cta") }

func (b *groups) Registers(n int, more bool) {
	if n < 24 || n > 256 || n%8 != 0 {
		b.Fail(fmt.Errorf("%d registers for a thread", n))
	}
	b.op(map[bool]string{true: "setmaxnreg.inc.sync.aligned.u32", false: "setmaxnreg.dec.sync.aligned.u32"}[more], ptx.Imm(int64(n)))
}
