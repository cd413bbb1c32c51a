package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// Matrix is a matrix of numbers of 16 or 8 bits in shared memory, as products of a warpgroup find it: a tile
// whose rows of 32, 64 or 128 bytes have their pieces of 16 exchanged ("PTX ISA", 9.7.15.5.1).
type Matrix struct {
	At     Shared // a multiple of 16 bytes, which is the same for all threads of the warpgroup
	Span   int    // bytes of a row of the tile
	Rows   bool   // rows go along the axis that is not summed
	Lead   int    // of such a matrix: bytes from one span of a row to the next
	Stride int    // bytes from 8 rows of the tile to the next 8
}

// swizzles are the numbers that descriptors have for spans.
var swizzles = map[int]int64{128: 1, 64: 2, 32: 3}

// descriptor is m in 64 bits.
func (b *Builder) descriptor(m Matrix) ptx.Operand {
	swizzle := swizzles[m.Span]
	if swizzle == 0 || m.At.plus%16 != 0 || m.Lead%16 != 0 || m.Stride%16 != 0 {
		b.fail(fmt.Errorf("a matrix in spans of %d bytes, %d and %d apart", m.Span, m.Lead, m.Stride))
		return ptx.Imm(0)
	}
	field := func(n int) int64 { return int64(n/16) & (1<<14 - 1) }
	bits := swizzle<<62 | field(m.Stride)<<32 | m.At.plus/16
	if m.Rows {
		bits |= field(m.Lead) << 16
	}
	at := b.pure(ptx.B32, "shr.u32", m.At.at, ptx.Imm(4))
	return b.pure(ptx.B64, "add.u64", b.pure(ptx.B64, "cvt.u64.u32", at), ptx.Imm(bits))
}

// Sums are registers of their own that hold vs, which products of a warpgroup may change.
func (b *Builder) Sums(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		to := ptx.R(b.reg(class(v.Type.Elem)))
		b.move(to, v)
		out[i] = b.value(v.Type.Elem, to)
	}
	return out
}

// MultiplyGroup starts the product of 64 rows, of which the 16 of the warp are in registers as
// [Builder.Multiply] has them, or all in shared memory where x is nil, and as many columns as there are
// sums, of 16 numbers of 16 bits along the axis that is summed, or 32 of 8, for which rows go along that axis: of the left matrix e, of the right one f. It is added to sums by itself: these are
// registers of [Builder.Sums] or of a loop, which nothing else touches until [Builder.AwaitProducts] says so.
func (b *Builder) MultiplyGroup(e, f kernel.Elem, x []*Value, rows, cols Matrix, sums []*Value) {
	n := 2 * len(sums)
	fp8 := e.DType().IsScaled()
	if !e.IsNarrow() || e != f && !b.mixed(e, f) || fp8 && (x != nil || rows.Rows || cols.Rows || !b.fp8) || n < 8 || n > 256 || n%8 != 0 || x != nil && len(x) != 4 {
		b.fail(fmt.Errorf("a product of a warpgroup of %s, of %d registers on top of %d", e, len(x), len(sums)))
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

// Pack is pairs of numbers e in 32 bits, which [Builder.MultiplyGroup] and [Builder.Multiply] take.
func (b *Builder) Pack(e kernel.Elem, low, high *Value) *Value {
	return b.value(kernel.I32, b.pack(e, ptx.B32, []*Value{low, high}))
}

// FenceProducts is before products of a warpgroup whose registers other instructions used.
func (b *Builder) FenceProducts() { b.op("wgmma.fence.sync.aligned") }

// CommitProducts closes a group: the products since the last one.
func (b *Builder) CommitProducts() { b.op("wgmma.commit_group.sync.aligned") }

// AwaitProducts waits until at most n groups of products are under way.
func (b *Builder) AwaitProducts(n int) {
	b.op("wgmma.wait_group.sync.aligned", ptx.Imm(int64(n)))
}

// FenceProxy has what runs by itself, behind a barrier, see what the thread wrote to shared memory.
func (b *Builder) FenceProxy() { b.op("fence.proxy.async.shared::cta") }

// Registers gives each thread of a warpgroup so many registers, a multiple of 8, of those that the block has: fewer than
// before, or, if more holds, more, for which it waits until others have given up theirs.
func (b *Builder) Registers(n int, more bool) {
	if n < 24 || n > 256 || n%8 != 0 {
		b.fail(fmt.Errorf("%d registers for a thread", n))
	}
	b.op(map[bool]string{true: "setmaxnreg.inc.sync.aligned.u32", false: "setmaxnreg.dec.sync.aligned.u32"}[more], ptx.Imm(int64(n)))
}
