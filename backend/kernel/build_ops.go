package kernel

import "math"

// Memory.

// Load reads lanes elements from r.
func (b *Builder) Load(r Ref, lanes int) *Value {
	return b.emit(Type{r.Buf.Elem.Register(), lanes}, &Stmt{Op: OpLoad, Ref: r})
}

// Store writes v to r.
func (b *Builder) Store(r Ref, v *Value) {
	b.append(&Stmt{Op: OpStore, Args: []*Value{v}, Ref: r})
}

// Constants and shapes.

// Const is c, converted to t, in every lane. Masks take 0 or 1.
func (b *Builder) Const(t Type, c float64) *Value {
	return b.emit(t, &Stmt{Op: OpConst, Bits: constBits(t.Elem, c)})
}

// ConstInt is the integer c in every lane of a t of i32, i64 or i1.
func (b *Builder) ConstInt(t Type, c int64) *Value {
	bits := uint64(c)
	switch t.Elem {
	case I32:
		bits = uint64(uint32(c))
	case I1:
		bits &= 1
	}
	return b.emit(t, &Stmt{Op: OpConst, Bits: bits})
}

// F32 is the f32 c in every lane.
func (b *Builder) F32(c float32, lanes int) *Value {
	return b.emit(Vec(F32, lanes), &Stmt{Op: OpConst, Bits: uint64(math.Float32bits(c))})
}

// Like is c in every lane of a value of the type of v.
func (b *Builder) Like(v *Value, c float64) *Value { return b.Const(v.Type, c) }

// Iota is the i32 vector 0, 1, 2, …
func (b *Builder) Iota(lanes int) *Value { return b.emit(Vec(I32, lanes), &Stmt{Op: OpIota}) }

// Splat is the scalar v in every lane.
func (b *Builder) Splat(v *Value, lanes int) *Value {
	if lanes == v.Type.Lanes {
		return v
	}
	return b.emit(Type{v.Type.Elem, lanes}, &Stmt{Op: OpSplat, Args: []*Value{v}})
}

// Value is the index x as an i64 scalar.
func (b *Builder) Value(x Index) *Value {
	return b.emit(Scalar(I64), &Stmt{Op: OpToValue, Index: x})
}

// TailMask is the mask of the lanes l < n.
func (b *Builder) TailMask(n Index, lanes int) *Value {
	return b.emit(Vec(I1, lanes), &Stmt{Op: OpTailMask, Index: n})
}

// Extract is one lane of v.
func (b *Builder) Extract(v *Value, lane int) *Value {
	if v.Type.Lanes == 1 && lane == 0 {
		return v
	}
	return b.emit(Scalar(v.Type.Elem), &Stmt{Op: OpExtract, Args: []*Value{v}, Lanes: []int{lane}})
}

// Shuffle picks lanes of x followed by y.
func (b *Builder) Shuffle(x, y *Value, lanes ...int) *Value {
	return b.emit(Type{x.Type.Elem, len(lanes)}, &Stmt{Op: OpShuffle, Args: []*Value{x, y}, Lanes: lanes})
}

func (b *Builder) same(op Op, args ...*Value) *Value {
	return b.emit(args[0].Type, &Stmt{Op: op, Args: args})
}

func (b *Builder) compare(op Op, x, y *Value) *Value {
	return b.emit(x.Type.With(I1), &Stmt{Op: op, Args: []*Value{x, y}})
}

func (b *Builder) reduce(op Op, x *Value) *Value {
	if x.Type.Lanes == 1 {
		return x
	}
	return b.emit(Scalar(x.Type.Elem), &Stmt{Op: op, Args: []*Value{x}})
}

// Arithmetic; the operations are described at their Op constants.

func (b *Builder) Add(x, y *Value) *Value       { return b.same(OpAdd, x, y) }
func (b *Builder) Sub(x, y *Value) *Value       { return b.same(OpSub, x, y) }
func (b *Builder) Mul(x, y *Value) *Value       { return b.same(OpMul, x, y) }
func (b *Builder) Div(x, y *Value) *Value       { return b.same(OpDiv, x, y) }
func (b *Builder) Rem(x, y *Value) *Value       { return b.same(OpRem, x, y) }
func (b *Builder) Min(x, y *Value) *Value       { return b.same(OpMin, x, y) }
func (b *Builder) Max(x, y *Value) *Value       { return b.same(OpMax, x, y) }
func (b *Builder) Neg(x *Value) *Value          { return b.same(OpNeg, x) }
func (b *Builder) Abs(x *Value) *Value          { return b.same(OpAbs, x) }
func (b *Builder) FMA(x, y, z *Value) *Value    { return b.same(OpFMA, x, y, z) }
func (b *Builder) MulAdd(x, y, z *Value) *Value { return b.same(OpMulAdd, x, y, z) }
func (b *Builder) Sqrt(x *Value) *Value         { return b.same(OpSqrt, x) }
func (b *Builder) Floor(x *Value) *Value        { return b.same(OpFloor, x) }
func (b *Builder) MulHi(x, y *Value) *Value     { return b.same(OpMulHi, x, y) }
func (b *Builder) And(x, y *Value) *Value       { return b.same(OpAnd, x, y) }
func (b *Builder) Or(x, y *Value) *Value        { return b.same(OpOr, x, y) }
func (b *Builder) Xor(x, y *Value) *Value       { return b.same(OpXor, x, y) }
func (b *Builder) Not(x *Value) *Value          { return b.same(OpNot, x) }
func (b *Builder) Shl(x, y *Value) *Value       { return b.same(OpShl, x, y) }
func (b *Builder) LShr(x, y *Value) *Value      { return b.same(OpLShr, x, y) }
func (b *Builder) AShr(x, y *Value) *Value      { return b.same(OpAShr, x, y) }

// DotBF16 adds the products of two pairs of bf16 in each lane to c: see [OpDotBF16].
func (b *Builder) DotBF16(c, x, y *Value) *Value { return b.same(OpDotBF16, c, x, y) }

// MatBF16 adds the products of matrices of bf16 to c: see [OpMatBF16].
func (b *Builder) MatBF16(c, x, y *Value) *Value { return b.same(OpMatBF16, c, x, y) }

// PairBF16 puts two f32 that are bf16 into one i32: see [OpDotBF16].
func (b *Builder) PairBF16(low, high *Value) *Value {
	x, y := b.Bitcast(low, I32), b.Bitcast(high, I32)
	return b.Or(b.LShr(x, b.ConstInt(x.Type, 16)), b.And(y, b.ConstInt(y.Type, ^0xffff)))
}

// PackBF16 is x and then y as bf16: see [OpPackBF16].
func (b *Builder) PackBF16(x, y *Value) *Value { return b.words(OpPackBF16, x, y) }

// ZipBF16 is x and y as bf16, in turns: see [OpZipBF16].
func (b *Builder) ZipBF16(x, y *Value) *Value { return b.words(OpZipBF16, x, y) }

func (b *Builder) words(op Op, x, y *Value) *Value {
	return b.emit(x.Type.With(I32), &Stmt{Op: op, Args: []*Value{x, y}})
}

// Comparisons → mask.

func (b *Builder) Eq(x, y *Value) *Value  { return b.compare(OpEq, x, y) }
func (b *Builder) Ne(x, y *Value) *Value  { return b.compare(OpNe, x, y) }
func (b *Builder) Lt(x, y *Value) *Value  { return b.compare(OpLt, x, y) }
func (b *Builder) Le(x, y *Value) *Value  { return b.compare(OpLe, x, y) }
func (b *Builder) Gt(x, y *Value) *Value  { return b.compare(OpLt, y, x) }
func (b *Builder) Ge(x, y *Value) *Value  { return b.compare(OpLe, y, x) }
func (b *Builder) ULt(x, y *Value) *Value { return b.compare(OpULt, x, y) }

// Select is x where m holds, else y.
func (b *Builder) Select(m, x, y *Value) *Value {
	return b.emit(x.Type, &Stmt{Op: OpSelect, Args: []*Value{m, x, y}})
}

// Convert is x as elements e; x itself if it is of e already.
func (b *Builder) Convert(x *Value, e Elem) *Value {
	if x.Type.Elem == e {
		return x
	}
	return b.emit(x.Type.With(e), &Stmt{Op: OpConvert, Args: []*Value{x}})
}

// Bitcast is the bits of x as elements e of the same size.
func (b *Builder) Bitcast(x *Value, e Elem) *Value {
	return b.emit(x.Type.With(e), &Stmt{Op: OpBitcast, Args: []*Value{x}})
}

// Round is the f32 x rounded to e (bf16 or f16) and widened back.
func (b *Builder) Round(x *Value, e Elem) *Value {
	return b.emit(x.Type, &Stmt{Op: OpRound, Args: []*Value{x}, Elem: e})
}

// Horizontal reductions; a scalar is its own reduction.

func (b *Builder) ReduceAdd(x *Value) *Value { return b.reduce(OpReduceAdd, x) }
func (b *Builder) ReduceMax(x *Value) *Value { return b.reduce(OpReduceMax, x) }
func (b *Builder) ReduceOr(x *Value) *Value  { return b.reduce(OpReduceOr, x) }

// Call is the function m of a.
func (b *Builder) Call(m *Math, a ...*Value) *Value {
	return b.emit(a[0].Type, &Stmt{Op: OpMath, Args: a, Math: m})
}

func constBits(e Elem, c float64) uint64 {
	switch e {
	case F32:
		return uint64(math.Float32bits(float32(c)))
	case F64:
		return math.Float64bits(c)
	case I32:
		return uint64(uint32(int32(c)))
	case I1:
		if c != 0 {
			return 1
		}
		return 0
	}
	return uint64(int64(c))
}
