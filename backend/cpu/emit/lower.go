package emit

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// lowering emits one statement and returns the value of its result, nil if it
// has none or has bound its results itself.
type lowering func(fn *function, s *kernel.Stmt) value.Value

// lowerings says for every op but the math calls, which are expanded before,
// how it is emitted.
var lowerings map[kernel.Op]lowering

func init() {
	lowerings = map[kernel.Op]lowering{
		kernel.OpConst: func(_ *function, s *kernel.Stmt) value.Value { return constantOf(s.Result().Type, s.Bits) },
		kernel.OpIota:  lowerIota,
		kernel.OpSplat: func(fn *function, s *kernel.Stmt) value.Value {
			return fn.splat(fn.vals[s.Args[0]], s.Result().Type.Lanes)
		},
		kernel.OpToValue:  func(fn *function, s *kernel.Stmt) value.Value { return fn.index(s.Index) },
		kernel.OpTailMask: lowerTailMask,
		kernel.OpExtract:  lowerExtract,
		kernel.OpShuffle:  lowerShuffle,

		kernel.OpSelect:  lowerSelect,
		kernel.OpConvert: lowerConvert,
		kernel.OpBitcast: lowerBitcast,
		kernel.OpRound:   lowerRound,
		kernel.OpDotBF16: lowerDotBF16,
		kernel.OpMatBF16: lowerMatBF16,

		kernel.OpPackBF16: lowerPackBF16,
		kernel.OpZipBF16:  lowerPackBF16,

		kernel.OpTileZero:   lowerTileZero,
		kernel.OpTileLoad:   lowerTileMove,
		kernel.OpTileStream: lowerTileMove,
		kernel.OpTileStore:  lowerTileMove,
		kernel.OpTileDot:    lowerTileDot,

		kernel.OpLoad:     lowerLoad,
		kernel.OpStore:    lowerStore,
		kernel.OpPrefetch: lowerPrefetch,
		kernel.OpFor:      lowerFor,
		kernel.OpIf:       lowerIf,
	}
	for op := range lanewise {
		lowerings[op] = lowerLanewise
	}
	for _, op := range kernel.Ops() {
		if op.Fold() != kernel.InvalidOp {
			lowerings[op] = lowerReduce
		}
	}
}

// lanewise emits the op on operands a, all of form element e.
var lanewise = map[kernel.Op]func(fn *function, e kernel.Elem, a []value.Value) value.Value{
	kernel.OpAdd: arithmetic((*ir.Block).NewFAdd, (*ir.Block).NewAdd),
	kernel.OpSub: arithmetic((*ir.Block).NewFSub, (*ir.Block).NewSub),
	kernel.OpMul: arithmetic((*ir.Block).NewFMul, (*ir.Block).NewMul),
	kernel.OpDiv: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		if e.IsFloat() {
			return fn.b.NewFDiv(a[0], a[1])
		}
		zero, safe := fn.divisor(e, a)
		return fn.b.NewSelect(zero, intOf(a[0].Type(), 0), fn.b.NewSDiv(a[0], safe))
	},
	kernel.OpRem: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		_, safe := fn.divisor(e, a)
		return fn.b.NewSRem(a[0], safe)
	},
	kernel.OpMin: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		return fn.extremum(enum.IPredSLT, "minimum", e, a)
	},
	kernel.OpMax: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		return fn.extremum(enum.IPredSGT, "maximum", e, a)
	},
	kernel.OpNeg: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		if e.IsFloat() {
			return fn.b.NewFNeg(a[0])
		}
		return fn.b.NewSub(intOf(a[0].Type(), 0), a[0])
	},
	kernel.OpAbs: func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		if e.IsFloat() {
			return fn.call("fabs", a[0].Type(), a[0])
		}
		zero := intOf(a[0].Type(), 0)
		return fn.b.NewSelect(fn.b.NewICmp(enum.IPredSLT, a[0], zero), fn.b.NewSub(zero, a[0]), a[0])
	},
	kernel.OpFMA: func(fn *function, _ kernel.Elem, a []value.Value) value.Value { return fn.fma(a[0], a[1], a[2]) },
	kernel.OpMulAdd: func(fn *function, _ kernel.Elem, a []value.Value) value.Value {
		if fn.m.t.HasFMA {
			return fn.fma(a[0], a[1], a[2])
		}
		return fn.b.NewFAdd(fn.b.NewFMul(a[0], a[1]), a[2])
	},
	kernel.OpSqrt:  unary("sqrt"),
	kernel.OpFloor: unary("floor"),
	kernel.OpMulHi: func(fn *function, _ kernel.Elem, a []value.Value) value.Value {
		wide := like(a[0].Type(), types.I64)
		product := fn.b.NewMul(fn.b.NewZExt(a[0], wide), fn.b.NewZExt(a[1], wide))
		return fn.b.NewTrunc(fn.b.NewLShr(product, intOf(wide, 32)), a[0].Type())
	},

	kernel.OpAnd: arithmetic((*ir.Block).NewAnd, (*ir.Block).NewAnd),
	kernel.OpOr:  arithmetic((*ir.Block).NewOr, (*ir.Block).NewOr),
	kernel.OpXor: arithmetic((*ir.Block).NewXor, (*ir.Block).NewXor),
	kernel.OpNot: func(fn *function, _ kernel.Elem, a []value.Value) value.Value {
		t := a[0].Type()
		if e, _ := lanesOf(t); e.Equal(types.I1) {
			return fn.b.NewXor(a[0], splatOf(t, constant.NewBool(true)))
		}
		return fn.b.NewXor(a[0], intOf(t, -1))
	},
	kernel.OpShl:  shift((*ir.Block).NewShl),
	kernel.OpLShr: shift((*ir.Block).NewLShr),
	kernel.OpAShr: shift((*ir.Block).NewAShr),

	kernel.OpEq:  comparison(enum.IPredEQ, enum.FPredOEQ),
	kernel.OpNe:  comparison(enum.IPredNE, enum.FPredUNE),
	kernel.OpLt:  comparison(enum.IPredSLT, enum.FPredOLT),
	kernel.OpLe:  comparison(enum.IPredSLE, enum.FPredOLE),
	kernel.OpULt: comparison(enum.IPredULT, enum.FPredFalse),
}

func lowerLanewise(fn *function, s *kernel.Stmt) value.Value {
	return lanewise[s.Op](fn, s.Args[0].Type.Elem, fn.values(s.Args))
}

// instruction is a method of a block that appends an instruction of two operands.
type instruction[I value.Value] = func(b *ir.Block, x, y value.Value) I

// arithmetic is an instruction for floats, or another for integers and masks.
func arithmetic[F, I value.Value](float instruction[F], integer instruction[I]) func(*function, kernel.Elem, []value.Value) value.Value {
	return func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		if e.IsFloat() {
			return float(fn.b, a[0], a[1])
		}
		return integer(fn.b, a[0], a[1])
	}
}

// shift is a shift by a count modulo the width.
func shift[I value.Value](by instruction[I]) func(*function, kernel.Elem, []value.Value) value.Value {
	return func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		return by(fn.b, a[0], fn.b.NewAnd(a[1], intOf(a[1].Type(), int64(8*e.Bytes()-1))))
	}
}

func unary(name string) func(*function, kernel.Elem, []value.Value) value.Value {
	return func(fn *function, _ kernel.Elem, a []value.Value) value.Value {
		return fn.call(name, a[0].Type(), a[0])
	}
}

func comparison(i enum.IPred, f enum.FPred) func(*function, kernel.Elem, []value.Value) value.Value {
	return func(fn *function, e kernel.Elem, a []value.Value) value.Value {
		if e.IsFloat() {
			return fn.b.NewFCmp(f, a[0], a[1])
		}
		return fn.b.NewICmp(i, a[0], a[1])
	}
}

// extremum is the integer that wins a comparison, or of floats the minimum or
// maximum of IEEE 754-2019: NaN if either is, and -0 below 0.
func (fn *function) extremum(i enum.IPred, name string, e kernel.Elem, a []value.Value) value.Value {
	x, y := a[0], a[1]
	if !e.IsFloat() {
		return fn.b.NewSelect(fn.b.NewICmp(i, x, y), x, y)
	}
	return fn.call(name, x.Type(), x, y)
}

// divisor replaces the divisors that LLVM leaves undefined by 1: zero, and -1
// of the least integer. It also says which were zero.
func (fn *function) divisor(e kernel.Elem, a []value.Value) (zero, safe value.Value) {
	t := a[0].Type()
	zero = fn.b.NewICmp(enum.IPredEQ, a[1], intOf(t, 0))
	least := fn.b.NewICmp(enum.IPredEQ, a[0], intOf(t, -1<<(8*e.Bytes()-1)))
	overflow := fn.b.NewAnd(least, fn.b.NewICmp(enum.IPredEQ, a[1], intOf(t, -1)))
	return zero, fn.b.NewSelect(fn.b.NewOr(zero, overflow), intOf(t, 1), a[1])
}

func (fn *function) splat(v value.Value, lanes int) value.Value {
	if lanes == 1 {
		return v
	}
	vt := vector(v.Type(), lanes)
	one := fn.b.NewInsertElement(constant.NewPoison(vt), v, constant.NewInt(types.I32, 0))
	return fn.b.NewShuffleVector(one, constant.NewPoison(vt), laneList(make([]int, lanes)))
}

func lowerIota(_ *function, s *kernel.Stmt) value.Value {
	if n := s.Result().Type.Lanes; n > 1 {
		return steps(types.I32, 1, n)
	}
	return constant.NewInt(types.I32, 0)
}

// lowerTailMask compares lane numbers with the count, clamped to fit an i32.
func lowerTailMask(fn *function, s *kernel.Stmt) value.Value {
	lanes := s.Result().Type.Lanes
	n := fn.index(s.Index)
	if lanes == 1 {
		return fn.b.NewICmp(enum.IPredSGT, n, constant.NewInt(types.I64, 0))
	}
	clamp := func(p enum.IPred, bound int64) {
		b := constant.NewInt(types.I64, bound)
		n = fn.b.NewSelect(fn.b.NewICmp(p, n, b), n, b)
	}
	clamp(enum.IPredSGT, 0)
	clamp(enum.IPredSLT, int64(lanes))
	count := fn.splat(fn.b.NewTrunc(n, types.I32), lanes)
	return fn.b.NewICmp(enum.IPredSLT, steps(types.I32, 1, lanes), count)
}

func lowerExtract(fn *function, s *kernel.Stmt) value.Value {
	return fn.lane(fn.vals[s.Args[0]], s.Lanes[0])
}

func (fn *function) lane(v value.Value, l int) value.Value {
	if _, n := lanesOf(v.Type()); n == 1 {
		return v
	}
	return fn.b.NewExtractElement(v, constant.NewInt(types.I32, int64(l)))
}

func lowerShuffle(fn *function, s *kernel.Stmt) value.Value {
	x, y := fn.vals[s.Args[0]], fn.vals[s.Args[1]]
	n := s.Args[0].Type.Lanes
	if n > 1 && len(s.Lanes) > 1 {
		return fn.b.NewShuffleVector(x, y, laneList(s.Lanes))
	}
	pick := func(l int) value.Value {
		if l < n {
			return fn.lane(x, l)
		}
		return fn.lane(y, l-n)
	}
	if len(s.Lanes) == 1 {
		return pick(s.Lanes[0])
	}
	var v value.Value = constant.NewPoison(regType(s.Result().Type))
	for i, l := range s.Lanes {
		v = fn.b.NewInsertElement(v, pick(l), constant.NewInt(types.I32, int64(i)))
	}
	return v
}

func lowerSelect(fn *function, s *kernel.Stmt) value.Value {
	return fn.b.NewSelect(fn.vals[s.Args[0]], fn.vals[s.Args[1]], fn.vals[s.Args[2]])
}

// lowerReduce combines the halves of a vector until one lane is left.
func lowerReduce(fn *function, s *kernel.Stmt) value.Value {
	x := s.Args[0]
	v := fn.vals[x]
	for n := x.Type.Lanes / 2; n > 0; n /= 2 {
		lo, hi := make([]int, n), make([]int, n)
		for l := range n {
			lo[l], hi[l] = l, l+n
		}
		var a, b value.Value
		if n == 1 {
			a, b = fn.lane(v, 0), fn.lane(v, 1)
		} else {
			a = fn.b.NewShuffleVector(v, constant.NewPoison(v.Type()), laneList(lo))
			b = fn.b.NewShuffleVector(v, constant.NewPoison(v.Type()), laneList(hi))
		}
		v = lanewise[s.Op.Fold()](fn, x.Type.Elem, []value.Value{a, b})
	}
	return v
}
