package emit

import (
	"fmt"
	"math"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"

	"ptc/backend/kernel"
)

// memType is how an element lies in memory. Booleans, and floats that registers do not
// have, are integers there, since not every target knows them.
func memType(e kernel.Elem) types.Type {
	switch {
	case e.IsFloat() && e.Bytes() == 4:
		return types.Float
	case e.IsFloat():
		return types.Double
	}
	return integers[e.Bytes()]
}

// integers are LLVM's by their bytes.
var integers = map[int]types.Type{1: types.I8, 2: types.I16, 4: types.I32, 8: types.I64}

// regType is the type of a register.
func regType(t kernel.Type) types.Type {
	if t.Elem == kernel.I1 {
		return vector(types.I1, t.Lanes)
	}
	return vector(memType(t.Elem), t.Lanes)
}

// vector is lanes elements e; one lane is a scalar.
func vector(e types.Type, lanes int) types.Type {
	if lanes == 1 {
		return e
	}
	return types.NewVector(uint64(lanes), e)
}

// lanesOf is the inverse of vector.
func lanesOf(t types.Type) (elem types.Type, lanes int) {
	if v, ok := t.(*types.VectorType); ok {
		return v.ElemType, int(v.Len)
	}
	return t, 1
}

// like is a type with the lanes of t and another element.
func like(t, elem types.Type) types.Type {
	_, n := lanesOf(t)
	return vector(elem, n)
}

// mangle is the suffix by which overloaded intrinsics name a type.
func mangle(t types.Type) string {
	e, n := lanesOf(t)
	var s string
	switch e := e.(type) {
	case *types.IntType:
		s = fmt.Sprintf("i%d", e.BitSize)
	case *types.FloatType:
		s = map[types.FloatKind]string{types.FloatKindHalf: "f16", types.FloatKindFloat: "f32", types.FloatKindDouble: "f64"}[e.Kind]
	case *types.PointerType:
		s = "p0"
	}
	if n > 1 {
		s = fmt.Sprintf("v%d%s", n, s)
	}
	return s
}

// literal is a constant by its text; llir's own floats do not round-trip every
// value.
type literal struct {
	typ  types.Type
	text string
}

func (l *literal) String() string   { return l.typ.String() + " " + l.text }
func (l *literal) Type() types.Type { return l.typ }
func (l *literal) Ident() string    { return l.text }
func (l *literal) IsConstant()      {}

// splatOf is the scalar constant c in every lane of t.
func splatOf(t types.Type, c constant.Constant) constant.Constant {
	v, ok := t.(*types.VectorType)
	if !ok {
		return c
	}
	all := make([]constant.Constant, v.Len)
	for i := range all {
		all[i] = c
	}
	return constant.NewVector(v, all...)
}

// intOf is the integer n in every lane of t.
func intOf(t types.Type, n int64) constant.Constant {
	e, _ := lanesOf(t)
	it := e.(*types.IntType)
	if it.BitSize == 32 {
		n = int64(int32(n))
	}
	return splatOf(t, constant.NewInt(it, n))
}

// floatOf is f in every lane of t, in LLVM's notation: the bits of the float64.
func floatOf(t types.Type, f float64) constant.Constant {
	e, _ := lanesOf(t)
	return splatOf(t, &literal{e, fmt.Sprintf("0x%016X", math.Float64bits(f))})
}

// constantOf is a register constant of the form by its bits.
func constantOf(t kernel.Type, bits uint64) constant.Constant {
	rt := regType(t)
	switch t.Elem {
	case kernel.F32:
		return floatOf(rt, float64(math.Float32frombits(uint32(bits))))
	case kernel.F64:
		return floatOf(rt, math.Float64frombits(bits))
	case kernel.I1:
		return splatOf(rt, constant.NewBool(bits != 0))
	}
	return intOf(rt, int64(bits))
}

// steps is the vector 0, s, 2s, … of n integers of type e.
func steps(e *types.IntType, s int64, n int) constant.Constant {
	all := make([]constant.Constant, n)
	for i := range all {
		all[i] = constant.NewInt(e, s*int64(i))
	}
	return constant.NewVector(nil, all...)
}

// laneList is a shuffle mask.
func laneList(lanes []int) constant.Constant {
	all := make([]constant.Constant, len(lanes))
	for i, l := range lanes {
		all[i] = constant.NewInt(types.I32, int64(l))
	}
	return constant.NewVector(nil, all...)
}
