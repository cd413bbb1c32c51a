package emit

import (
	"fmt"

	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// bfloat is LLVM's type of bf16, which llir does not have.
type bfloat struct{ types.FloatType }

func (*bfloat) String() string            { return "bfloat" }
func (*bfloat) LLString() string          { return "bfloat" }
func (t *bfloat) Equal(u types.Type) bool { _, same := u.(*bfloat); return same }

// lowerDotBF16 emits the instruction, or where the target has none of its width the
// two multiply-adds that it is.
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

// upper is the f32 whose upper half is that of x moved up by bits.
func (fn *function) upper(x value.Value, bits int64) value.Value {
	moved := fn.b.NewShl(x, intOf(x.Type(), bits))
	half := fn.b.NewAnd(moved, intOf(x.Type(), ^0xffff))
	return fn.b.NewBitCast(half, like(x.Type(), types.Float))
}
