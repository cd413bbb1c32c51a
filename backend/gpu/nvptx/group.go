package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

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
