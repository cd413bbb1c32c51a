package kernel

import "fmt"

// row is all the form knows of one op. Emitters and the interpreter keep their own
// table from ops to what they do, held complete by a test over Ops.
type row struct {
	name  string
	arity int // number of Args; -1 if it varies
	check func(s *Stmt) error
	fold  Op // reductions: the op that combines two lanes
}

var rows [numOps]row

func init() {
	anyElem := []Elem{F32, F64, I32, I64, I1}
	number := []Elem{F32, F64, I32, I64}
	float := []Elem{F32, F64}
	integer := []Elem{I32, I64}
	bits := []Elem{I32, I64, I1}

	rows = [numOps]row{
		OpConst:    {name: "const", check: typed(result(anyElem...))},
		OpIota:     {name: "iota", check: typed(result(I32))},
		OpSplat:    {name: "splat", arity: 1, check: checkSplat},
		OpToValue:  {name: "index", check: typed(exactly(Scalar(I64)))},
		OpTailMask: {name: "tail", check: typed(result(I1))},
		OpExtract:  {name: "extract", arity: 1, check: checkExtract},
		OpShuffle:  {name: "shuffle", arity: 2, check: checkShuffle},

		OpAdd:    {name: "add", arity: 2, check: typed(same(number))},
		OpSub:    {name: "sub", arity: 2, check: typed(same(number))},
		OpMul:    {name: "mul", arity: 2, check: typed(same(number))},
		OpDiv:    {name: "div", arity: 2, check: typed(same(number))},
		OpRem:    {name: "rem", arity: 2, check: typed(same(integer))},
		OpMin:    {name: "min", arity: 2, check: typed(same(number))},
		OpMax:    {name: "max", arity: 2, check: typed(same(number))},
		OpNeg:    {name: "neg", arity: 1, check: typed(same(number))},
		OpAbs:    {name: "abs", arity: 1, check: typed(same(number))},
		OpFMA:    {name: "fma", arity: 3, check: typed(same(float))},
		OpMulAdd: {name: "muladd", arity: 3, check: typed(same(float))},
		OpSqrt:   {name: "sqrt", arity: 1, check: typed(same(float))},
		OpFloor:  {name: "floor", arity: 1, check: typed(same(float))},
		OpMulHi:  {name: "mulhi", arity: 2, check: typed(same([]Elem{I32}))},

		OpDotBF16: {name: "dot.bf16", arity: 3, check: checkDot},
		OpMatBF16: {name: "mat.bf16", arity: 3, check: checkMat},

		OpPackBF16: {name: "pack.bf16", arity: 2, check: checkPack},
		OpZipBF16:  {name: "zip.bf16", arity: 2, check: checkPack},

		OpAnd:  {name: "and", arity: 2, check: typed(same(bits))},
		OpOr:   {name: "or", arity: 2, check: typed(same(bits))},
		OpXor:  {name: "xor", arity: 2, check: typed(same(bits))},
		OpNot:  {name: "not", arity: 1, check: typed(same(bits))},
		OpShl:  {name: "shl", arity: 2, check: typed(same(integer))},
		OpLShr: {name: "lshr", arity: 2, check: typed(same(integer))},
		OpAShr: {name: "ashr", arity: 2, check: typed(same(integer))},

		OpEq:     {name: "eq", arity: 2, check: typed(compare(number))},
		OpNe:     {name: "ne", arity: 2, check: typed(compare(number))},
		OpLt:     {name: "lt", arity: 2, check: typed(compare(number))},
		OpLe:     {name: "le", arity: 2, check: typed(compare(number))},
		OpULt:    {name: "ult", arity: 2, check: typed(compare(integer))},
		OpSelect: {name: "select", arity: 3, check: checkSelect},

		OpConvert: {name: "convert", arity: 1, check: checkConvert},
		OpBitcast: {name: "bitcast", arity: 1, check: checkBitcast},
		OpRound:   {name: "round", arity: 1, check: checkRound},

		OpReduceAdd: {name: "reduce.add", arity: 1, check: reduces(number), fold: OpAdd},
		OpReduceMax: {name: "reduce.max", arity: 1, check: reduces(number), fold: OpMax},
		OpReduceOr:  {name: "reduce.or", arity: 1, check: reduces(bits), fold: OpOr},

		OpMath: {name: "math", arity: -1, check: typed(checkMath)},

		OpLoad:       {name: "load", check: checkAccess},
		OpStore:      {name: "store", arity: 1, check: checkAccess},
		OpPrefetch:   {name: "prefetch", check: checkPrefetch},
		OpTileZero:   {name: "tile.zero", check: checkTile},
		OpTileLoad:   {name: "tile.load", check: checkTile},
		OpTileStream: {name: "tile.stream", check: checkTile},
		OpTileStore:  {name: "tile.store", check: checkTile},
		OpTileDot:    {name: "tile.dot", check: checkTile},
		OpFor:        {name: "for", arity: -1, check: checkFor},
		OpIf:         {name: "if", arity: 1, check: checkIf},
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

// Fold is the op that a horizontal reduction combines two halves with,
// InvalidOp for other ops.
func (op Op) Fold() Op { return rows[op].fold }
