package nvptx

import (
	"fmt"
	"math/bits"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// stmt makes instructions of a statement of the arithmetic.
func (b *arithmetic) stmt(s *kernel.Stmt) {
	if s.Math == vmath.Exp && b.near {
		b.of[s.Result()] = b.nearExp(b.operand(s.Args[0]))
		return
	}
	if s.Math != nil {
		b.of[s.Result()] = b.operand(s.Math.Expand(b.Builder, s.Args))
		return
	}
	f := translations[s.Op]
	if f == nil {
		b.Fail(fmt.Errorf("%s is not for one thread", s.Op))
		b.of[s.Result()] = ptx.Imm(0)
		return
	}
	args := make([]ptx.Operand, len(s.Args))
	for i, a := range s.Args {
		args[i] = b.operand(a)
	}
	b.of[s.Result()] = f(b, s, args)
}

// translation makes the instructions of a statement, and gives its result.
type translation func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand

var translations map[kernel.Op]translation

func init() {
	translations = map[kernel.Op]translation{
		kernel.OpConst:   constant,
		kernel.OpToValue: func(b *arithmetic, s *kernel.Stmt, _ []ptx.Operand) ptx.Operand { return b.index(s.Index) },
		kernel.OpAdd:     add, kernel.OpSub: subtract, kernel.OpMul: multiply, kernel.OpDiv: divide, kernel.OpRem: divide,
		kernel.OpMin: extreme("min"), kernel.OpMax: extreme("max"),
		kernel.OpNeg: typed("neg", true), kernel.OpAbs: typed("abs", true),
		kernel.OpFMA: fused, kernel.OpMulAdd: fused,
		kernel.OpSqrt: typed("sqrt.rn", true), kernel.OpFloor: floor,
		kernel.OpMulHi: func(b *arithmetic, _ *kernel.Stmt, a []ptx.Operand) ptx.Operand {
			return b.pure(ptx.B32, "mul.hi.u32", a...)
		},
		kernel.OpAnd: typed("and", false), kernel.OpOr: typed("or", false), kernel.OpXor: typed("xor", false), kernel.OpNot: typed("not", false),
		kernel.OpShl: shift("shl.b"), kernel.OpLShr: shift("shr.u"), kernel.OpAShr: shift("shr.s"),
		kernel.OpEq: compare("eq"), kernel.OpNe: compare("ne"), kernel.OpLt: compare("lt"), kernel.OpLe: compare("le"),
		kernel.OpULt: func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
			return b.pure(ptx.Pred, "setp.lt.u"+size(s), a...)
		},
		kernel.OpSelect: choose, kernel.OpConvert: convert, kernel.OpBitcast: bitcast, kernel.OpRound: round,
	}
}

// size is that of the operands of s in bits, as types of PTX end.
func size(s *kernel.Stmt) string {
	if class(s.Args[len(s.Args)-1].Type.Elem) == ptx.B64 {
		return "64"
	}
	return "32"
}

func elem(s *kernel.Stmt) kernel.Elem { return s.Args[len(s.Args)-1].Type.Elem }

// suffix is the type of arithmetic with e, or of bits.
func suffix(e kernel.Elem, numeric bool) string {
	switch {
	case e == kernel.I1:
		return "pred"
	case !numeric && class(e) == ptx.B64:
		return "b64"
	case !numeric:
		return "b32"
	}
	return map[kernel.Elem]string{kernel.I32: "s32", kernel.I64: "s64", kernel.F32: "f32", kernel.F64: "f64"}[e]
}

func constant(b *arithmetic, s *kernel.Stmt, _ []ptx.Operand) ptx.Operand {
	switch s.Result().Type.Elem {
	case kernel.F32:
		return ptx.Operand{Kind: ptx.IsF32, Imm: int64(s.Bits)}
	case kernel.F64:
		return ptx.Operand{Kind: ptx.IsF64, Imm: int64(s.Bits)}
	case kernel.I32:
		return ptx.Imm(int64(int32(s.Bits)))
	case kernel.I1:
		return b.pure(ptx.Pred, "setp.ne.u32", ptx.Imm(int64(s.Bits)), ptx.Imm(0))
	}
	return ptx.Imm(int64(s.Bits))
}

func isInt(o ptx.Operand) bool            { return o.Kind == ptx.IsImm }
func isConst(o ptx.Operand, n int64) bool { return isInt(o) && o.Imm == n }
func whole(e kernel.Elem, n int64) ptx.Operand { // n as an e
	if e == kernel.I32 {
		n = int64(int32(n))
	}
	return ptx.Imm(n)
}

// typed is an instruction on registers of one type; a single operand is in a register.
func typed(name string, numeric bool) translation {
	return func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
		e := elem(s)
		if len(a) == 1 {
			a = []ptx.Operand{b.inReg(s.Args[0])}
		}
		return b.pure(class(e), name+"."+suffix(e, numeric), a...)
	}
}

func add(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	if e.IsInt() {
		return b.sum(e, a[0], a[1])
	}
	return b.pure(class(e), "add.rn."+suffix(e, true), a...)
}

// sum is x + y, integers.
func (b *arithmetic) sum(e kernel.Elem, x, y ptx.Operand) ptx.Operand {
	switch {
	case isInt(x) && isInt(y):
		return whole(e, x.Imm+y.Imm)
	case isConst(x, 0):
		return y
	case isConst(y, 0):
		return x
	case isInt(x):
		x, y = y, x
	}
	return b.pure(class(e), "add."+suffix(e, true), x, y)
}

func subtract(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	switch {
	case e.IsFloat():
		return b.pure(class(e), "sub.rn."+suffix(e, true), a...)
	case isInt(a[1]):
		return b.sum(e, a[0], whole(e, -a[1].Imm))
	}
	return b.pure(class(e), "sub."+suffix(e, true), a...)
}

func multiply(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	if e.IsFloat() {
		return b.pure(class(e), "mul.rn."+suffix(e, true), a...)
	}
	return b.product(e, a[0], a[1])
}

// product is x · y, integers.
func (b *arithmetic) product(e kernel.Elem, x, y ptx.Operand) ptx.Operand {
	if isInt(x) {
		x, y = y, x
	}
	switch {
	case isInt(x):
		return whole(e, x.Imm*y.Imm)
	case isConst(y, 0):
		return y
	case isConst(y, 1):
		return x
	case isInt(y) && y.Imm > 0 && y.Imm&(y.Imm-1) == 0:
		return b.pure(class(e), "shl."+suffix(e, false), x, ptx.Imm(int64(bits.TrailingZeros64(uint64(y.Imm)))))
	}
	return b.pure(class(e), "mul.lo."+suffix(e, true), x, y)
}

// divide is a quotient or a remainder. PTX leaves division by zero open; and of integers
// that are known not to be negative, a power of two divides by a shift: see [Builder.Split].
func divide(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	if e.IsFloat() {
		return b.pure(class(e), "div.rn."+suffix(e, true), a...)
	}
	name, none := "div.", ptx.Imm(0)
	if s.Op == kernel.OpRem {
		name = "rem."
	}
	if isInt(a[1]) && a[1].Imm != 0 {
		if isInt(a[0]) {
			if s.Op == kernel.OpRem {
				return whole(e, a[0].Imm%a[1].Imm)
			}
			return whole(e, a[0].Imm/a[1].Imm)
		}
		return b.pure(class(e), name+suffix(e, true), a...)
	}
	q := b.pure(class(e), name+suffix(e, true), a...)
	zero := b.pure(ptx.Pred, "setp.eq."+suffix(e, true), a[1], ptx.Imm(0))
	return b.pure(class(e), "selp."+suffix(e, false), none, q, zero)
}

// extreme is min or max: NaN if there is one, and of equal numbers the second.
func extreme(name string) translation {
	return func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
		e := elem(s)
		if e.IsInt() {
			return b.pure(class(e), name+"."+suffix(e, true), a...)
		}
		t := suffix(e, true)
		if b.near && e == kernel.F32 { // one instruction in place of four; of zeros, it takes that with the sign
			return b.pure(class(e), name+".NaN."+t, a...)
		}
		order := map[string]string{"min": "lt", "max": "gt"}[name]
		first := b.pure(ptx.Pred, "setp."+order+"."+t, a...)
		x := b.pure(class(e), "selp."+suffix(e, false), a[0], a[1], first)
		nan := b.pure(ptx.Pred, "setp.neu."+t, a[0], a[0]) // the second is taken if it is NaN
		return b.pure(class(e), "selp."+suffix(e, false), a[0], x, nan)
	}
}

func fused(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	return b.pure(class(e), "fma.rn."+suffix(e, true), a...)
}

func floor(b *arithmetic, s *kernel.Stmt, _ []ptx.Operand) ptx.Operand {
	e := elem(s)
	t := suffix(e, true)
	return b.pure(class(e), "cvt.rmi."+t+"."+t, b.inReg(s.Args[0]))
}

// shift takes counts modulo the size.
func shift(name string) translation {
	return func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
		e, n := elem(s), int64(class(elem(s)).Bits())
		count := a[1]
		if isInt(count) {
			count.Imm &= n - 1
			if count.Imm == 0 {
				return a[0]
			}
			if isInt(a[0]) && name == "shl.b" {
				return whole(e, a[0].Imm<<count.Imm)
			}
		} else {
			count = b.pure(class(e), "and."+suffix(e, false), count, ptx.Imm(n-1))
			if n == 64 {
				count = b.pure(ptx.B32, "cvt.u32.u64", count)
			}
		}
		return b.pure(class(e), name+size(s), a[0], count)
	}
}

func compare(how string) translation {
	return func(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
		e := elem(s)
		if how == "ne" && e.IsFloat() {
			return b.pure(ptx.Pred, "setp.neu."+suffix(e, true), a...)
		}
		return b.pure(ptx.Pred, "setp."+how+"."+suffix(e, true), a...)
	}
}

func choose(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	e := elem(s)
	if e == kernel.I1 { // there is no selection of predicates
		yes := b.pure(ptx.Pred, "and.pred", a[0], a[1])
		not := b.pure(ptx.Pred, "not.pred", a[0])
		no := b.pure(ptx.Pred, "and.pred", not, a[2])
		return b.pure(ptx.Pred, "or.pred", yes, no)
	}
	return b.pure(class(e), "selp."+suffix(e, false), a[1], a[2], a[0])
}

func bitcast(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	o := a[0] // registers have no type
	switch to := s.Result().Type.Elem; {
	case o.Kind == ptx.IsReg:
	case to == kernel.F32:
		o = ptx.Operand{Kind: ptx.IsF32, Imm: int64(uint32(o.Imm))}
	case to == kernel.F64:
		o = ptx.Operand{Kind: ptx.IsF64, Imm: o.Imm}
	default:
		o = whole(to, o.Imm)
	}
	return o
}

// convert is between numbers: floats to integers truncate and saturate, and so does PTX.
func convert(b *arithmetic, s *kernel.Stmt, a []ptx.Operand) ptx.Operand {
	from, to := elem(s), s.Result().Type.Elem
	if from == kernel.I1 {
		switch to {
		case kernel.F32:
			return b.pure(ptx.B32, "selp.b32", ptx.Imm(0x3f800000), ptx.Imm(0), a[0])
		case kernel.F64:
			return b.pure(ptx.B64, "selp.b64", ptx.Imm(0x3ff<<52), ptx.Imm(0), a[0])
		}
		return b.pure(class(to), "selp."+suffix(to, false), ptx.Imm(1), ptx.Imm(0), a[0])
	}
	if isInt(a[0]) && to.IsInt() {
		return whole(to, a[0].Imm)
	}
	how := ""
	switch {
	case from.IsFloat() && to.IsInt():
		how = ".rzi"
	case from.IsInt() && to.IsFloat(), from == kernel.F64 && to == kernel.F32:
		how = ".rn"
	}
	return b.pure(class(to), "cvt"+how+"."+suffix(to, true)+"."+suffix(from, true), b.inReg(s.Args[0]))
}

// round is an f32 rounded to bf16, f16 or a float of eight bits, and back.
func round(b *arithmetic, s *kernel.Stmt, _ []ptx.Operand) ptx.Operand {
	if s.Elem.DType().IsScaled() {
		return b.inReg(b.widenFloat8s(s.Elem, b.narrowFloat8s(s.Elem, ptx.B16, s.Args), 1)[0])
	}
	half := halfName(s.Elem)
	h := b.pure(ptx.B16, "cvt.rn."+half+".f32", b.inReg(s.Args[0]))
	return b.widen(half, h)
}

// index is the value of x, an i64.
func (b *arithmetic) index(x kernel.Index) ptx.Operand {
	sum := ptx.Imm(0)
	for _, t := range x.Terms {
		sum = b.sum(kernel.I64, sum, b.product(kernel.I64, b.operand(t.Var), ptx.Imm(t.Coef)))
	}
	return b.sum(kernel.I64, sum, ptx.Imm(x.Const))
}
