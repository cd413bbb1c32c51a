package emit

import (
	"fmt"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// bfloat is LLVM's type of bf16, which llir does not have.
type bfloat struct{ types.FloatType }

func (*bfloat) String() string            { return "bfloat" }
func (*bfloat) LLString() string          { return "bfloat" }
func (t *bfloat) Equal(u types.Type) bool { _, same := u.(*bfloat); return same }

// lowerDotBF16 emits VDPBF16PS, or two equivalent multiply-adds if the target lacks this width.
func lowerDotBF16(fn *function, s *kernel.Stmt) value.Value {
	c, x, y := fn.vals[s.Args[0]], fn.vals[s.Args[1]], fn.vals[s.Args[2]]
	lanes := s.Result().Type.Lanes
	if !fn.m.t.HasDotBF16 || lanes != fn.m.t.Lanes(32) {
		sum := fn.fma(fn.upper(x, 0), fn.upper(y, 0), c)
		return fn.fma(fn.upper(x, 16), fn.upper(y, 16), sum)
	}
	pairs := vector(&bfloat{}, 2*lanes)
	f := fn.m.intrinsic(fmt.Sprintf("llvm.x86.avx512bf16.dpbf16ps.%d", 32*lanes), c.Type(), c.Type(), pairs, pairs)
	return fn.b.NewCall(f, c, fn.b.NewBitCast(x, pairs), fn.b.NewBitCast(y, pairs))
}

// lowerPackBF16 emits VCVTNE2PS2BF16, which rounds two vectors and concatenates them, or two narrowing
// conversions; OpZipBF16 then interleaves the halves. Operands that were loaded as bf16 are not converted.
func lowerPackBF16(fn *function, s *kernel.Stmt) value.Value {
	t := s.Result().Type
	halves := func(v value.Value) value.Value { return fn.b.NewBitCast(v, vector(types.I16, 2*t.Lanes)) }
	var all value.Value
	x, y := fn.halves[s.Args[0]], fn.halves[s.Args[1]]
	switch {
	case x != nil && y != nil:
		all = fn.b.NewShuffleVector(x, y, laneList(upTo(2*t.Lanes)))
	case fn.m.t.HasDotBF16 && t.Lanes == fn.m.t.Lanes(32):
		f32s := vector(types.Float, t.Lanes)
		f := fn.m.intrinsic(fmt.Sprintf("llvm.x86.avx512bf16.cvtne2ps2bf16.%d", 32*t.Lanes), vector(&bfloat{}, 2*t.Lanes), f32s, f32s)
		all = halves(fn.b.NewCall(f, fn.vals[unrounded(s.Args[1])], fn.vals[unrounded(s.Args[0])]))
	default:
		narrow := func(v *kernel.Value) value.Value { return fn.narrow(kernel.BF16, fn.vals[unrounded(v)]) }
		all = fn.b.NewShuffleVector(narrow(s.Args[0]), narrow(s.Args[1]), laneList(upTo(2*t.Lanes)))
	}
	if s.Op == kernel.OpZipBF16 {
		var lanes []int
		for l := range t.Lanes {
			lanes = append(lanes, l, t.Lanes+l)
		}
		all = fn.b.NewShuffleVector(all, constant.NewUndef(all.Type()), laneList(lanes))
	}
	return fn.b.NewBitCast(all, regType(t))
}

// unrounded is the operand of v if v rounds to bf16: rounding it once gives the same.
func unrounded(v *kernel.Value) *kernel.Value {
	if v.Def != nil && v.Def.Op == kernel.OpRound && v.Def.Elem == kernel.BF16 {
		return v.Def.Args[0]
	}
	return v
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// upper shifts x left by bits and returns its upper half as the upper half of an f32.
func (fn *function) upper(x value.Value, bits int64) value.Value {
	moved := fn.b.NewShl(x, intOf(x.Type(), bits))
	half := fn.b.NewAnd(moved, intOf(x.Type(), ^0xffff))
	return fn.b.NewBitCast(half, like(x.Type(), types.Float))
}
