package kernel

import "fmt"

// row is all the form knows of one op. Emitters keep their own table from ops
// to instructions, held complete by a test over Ops.
type row struct {
	name  string
	arity int // number of Args; -1 if it varies
	check func(s *Stmt) error
	lane  func(e Elem, a [3]uint64) uint64 // lane-wise ops: the result of one lane from operand lanes of element e
	fold  Op                               // reductions: the op that combines two lanes
}

var rows [numOps]row

func init() {
	anyElem := []Elem{F32, F64, I32, I64, I1}
	number := []Elem{F32, F64, I32, I64}
	float := []Elem{F32, F64}
	integer := []Elem{I32, I64}
	bits := []Elem{I32, I64, I1}
	f32 := []Elem{F32}

	rows = [numOps]row{
		OpConst:    {name: "const", check: typed(result(anyElem...))},
		OpIota:     {name: "iota", check: typed(result(I32))},
		OpSplat:    {name: "splat", arity: 1, check: checkSplat},
		OpToValue:  {name: "index", check: typed(exactly(Scalar(I64)))},
		OpTailMask: {name: "tail", check: typed(result(I1))},
		OpExtract:  {name: "extract", arity: 1, check: checkExtract},
		OpShuffle:  {name: "shuffle", arity: 2, check: checkShuffle},

		OpAdd:    {name: "add", arity: 2, check: typed(same(number)), lane: laneAdd},
		OpSub:    {name: "sub", arity: 2, check: typed(same(number)), lane: laneSub},
		OpMul:    {name: "mul", arity: 2, check: typed(same(number)), lane: laneMul},
		OpDiv:    {name: "div", arity: 2, check: typed(same(number)), lane: laneDiv},
		OpRem:    {name: "rem", arity: 2, check: typed(same(integer)), lane: laneRem},
		OpMin:    {name: "min", arity: 2, check: typed(same(number)), lane: laneMin},
		OpMax:    {name: "max", arity: 2, check: typed(same(number)), lane: laneMax},
		OpNeg:    {name: "neg", arity: 1, check: typed(same(number)), lane: laneNeg},
		OpAbs:    {name: "abs", arity: 1, check: typed(same(number)), lane: laneAbs},
		OpFMA:    {name: "fma", arity: 3, check: typed(same(float)), lane: laneFMA},
		OpMulAdd: {name: "muladd", arity: 3, check: typed(same(float)), lane: laneFMA},
		OpSqrt:   {name: "sqrt", arity: 1, check: typed(same(float)), lane: laneSqrt},
		OpFloor:  {name: "floor", arity: 1, check: typed(same(float)), lane: laneFloor},
		OpRint:   {name: "rint", arity: 1, check: typed(same(float)), lane: laneRint},
		OpMulHi:  {name: "mulhi", arity: 2, check: typed(same([]Elem{I32})), lane: laneMulHi},

		OpAnd:  {name: "and", arity: 2, check: typed(same(bits)), lane: laneAnd},
		OpOr:   {name: "or", arity: 2, check: typed(same(bits)), lane: laneOr},
		OpXor:  {name: "xor", arity: 2, check: typed(same(bits)), lane: laneXor},
		OpNot:  {name: "not", arity: 1, check: typed(same(bits)), lane: laneNot},
		OpShl:  {name: "shl", arity: 2, check: typed(same(integer)), lane: laneShl},
		OpLShr: {name: "lshr", arity: 2, check: typed(same(integer)), lane: laneLShr},
		OpAShr: {name: "ashr", arity: 2, check: typed(same(integer)), lane: laneAShr},

		OpEq:     {name: "eq", arity: 2, check: typed(compare(number)), lane: laneEq},
		OpNe:     {name: "ne", arity: 2, check: typed(compare(number)), lane: laneNe},
		OpLt:     {name: "lt", arity: 2, check: typed(compare(number)), lane: laneLt},
		OpLe:     {name: "le", arity: 2, check: typed(compare(number)), lane: laneLe},
		OpULt:    {name: "ult", arity: 2, check: typed(compare(integer)), lane: laneULt},
		OpSelect: {name: "select", arity: 3, check: checkSelect},

		OpConvert: {name: "convert", arity: 1, check: checkConvert},
		OpBitcast: {name: "bitcast", arity: 1, check: checkBitcast},
		OpRound:   {name: "round", arity: 1, check: checkRound},

		OpReduceAdd: {name: "reduce.add", arity: 1, check: reduces(number), fold: OpAdd},
		OpReduceMul: {name: "reduce.mul", arity: 1, check: reduces(number), fold: OpMul},
		OpReduceMin: {name: "reduce.min", arity: 1, check: reduces(number), fold: OpMin},
		OpReduceMax: {name: "reduce.max", arity: 1, check: reduces(number), fold: OpMax},
		OpReduceAnd: {name: "reduce.and", arity: 1, check: reduces(bits), fold: OpAnd},
		OpReduceOr:  {name: "reduce.or", arity: 1, check: reduces(bits), fold: OpOr},

		OpExp:     {name: "exp", arity: 1, check: typed(same(f32)), lane: mathLane(OpExp)},
		OpLog:     {name: "log", arity: 1, check: typed(same(f32)), lane: mathLane(OpLog)},
		OpTanh:    {name: "tanh", arity: 1, check: typed(same(f32)), lane: mathLane(OpTanh)},
		OpErf:     {name: "erf", arity: 1, check: typed(same(f32)), lane: mathLane(OpErf)},
		OpRsqrt:   {name: "rsqrt", arity: 1, check: typed(same(f32)), lane: mathLane(OpRsqrt)},
		OpSigmoid: {name: "sigmoid", arity: 1, check: typed(same(f32)), lane: mathLane(OpSigmoid)},
		OpSin:     {name: "sin", arity: 1, check: typed(same(f32)), lane: mathLane(OpSin)},
		OpCos:     {name: "cos", arity: 1, check: typed(same(f32)), lane: mathLane(OpCos)},
		OpPow:     {name: "pow", arity: 2, check: typed(same(f32)), lane: mathLane(OpPow)},
		OpMod:     {name: "mod", arity: 2, check: typed(same(f32)), lane: mathLane(OpMod)},

		OpDotBF16: {name: "dotbf16", arity: 3, check: checkDot},

		OpLoad:     {name: "load", check: checkAccess},
		OpStore:    {name: "store", arity: 1, check: checkAccess},
		OpPrefetch: {name: "prefetch", check: checkAccess},
		OpBarrier:  {name: "barrier"},
		OpFor:      {name: "for", arity: -1, check: checkFor},
		OpIf:       {name: "if", arity: 1, check: checkIf},
	}
}

func (op Op) String() string {
	if op < numOps && rows[op].name != "" {
		return rows[op].name
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// Ops lists every op, for completeness tests of emitters.
func Ops() []Op {
	var all []Op
	for op := InvalidOp + 1; op < numOps; op++ {
		all = append(all, op)
	}
	return all
}

// IsMath reports whether op is a math call, which vmath expands.
func (op Op) IsMath() bool { return op >= OpExp && op <= OpMod }

// Fold is the op that a horizontal reduction combines two halves with,
// InvalidOp for other ops.
func (op Op) Fold() Op { return rows[op].fold }
