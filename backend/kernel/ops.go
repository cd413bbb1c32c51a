package kernel

// Op is what a statement does. Rows of the table ops say how each is typed and
// evaluated; emitters add how each is emitted.
type Op uint8

// The operations. Lane-wise ones take operands of equal type unless stated.
const (
	InvalidOp Op = iota

	// Constants and shapes.
	OpConst    // the same Bits in every lane
	OpIota     // i32 lane numbers 0, 1, 2, …
	OpSplat    // scalar → vector
	OpToValue  // Index → i64 scalar
	OpTailMask // lane l holds l < Index: the mask of a tail of Index elements
	OpExtract  // vector → scalar, lane Lanes[0]
	OpShuffle  // two vectors a, b of n lanes → lanes Lanes of a‖b

	// Arithmetic on floats and integers; integers wrap.
	OpAdd
	OpSub
	OpMul
	OpDiv // integers truncate; x/0 = 0 and min/-1 = min
	OpRem // integers only; sign of the dividend; x%0 = 0
	OpMin // NaN if either is NaN; of zeros, the second operand
	OpMax // NaN if either is NaN; of zeros, the second operand
	OpNeg
	OpAbs
	OpFMA    // a·b+c, one rounding always
	OpMulAdd // a·b+c, one rounding on machines with FMA and two elsewhere
	OpSqrt
	OpFloor
	OpMulHi // upper half of the unsigned i32 × i32 → 64-bit product
	// OpDotBF16 takes sums c (f32) and pairs x, y: i32 whose halves are two bf16. It
	// is c + x₁·y₁ + x₀·y₀, the upper halves first, where each sum is rounded once; the
	// products are exact. Machines with an instruction for it take subnormal operands
	// for zero, and give zero for a subnormal sum.
	OpDotBF16
	// OpMatBF16 takes sums c (f32) and x, y: i32 whose halves are two bf16. In every four
	// lanes c is a matrix of 2 × 2 by rows, x two rows of four bf16 and y two columns of
	// four, and c + x·y is the result, as BFMMLA of Arm's has it: a pair of products is
	// added up, then added to c, the first pair before the second; what is rounded is
	// rounded to odd; subnormal operands and sums are zero.
	OpMatBF16
	// OpPackBF16 takes x and y (f32) of n lanes and gives n words (i32) of two bf16, the
	// lower half first: those of x in order, and then those of y, each rounded to nearest,
	// ties to even. OpZipBF16 has the one of x in the lower half of a lane's word, and the
	// one of y in the upper half. Machines may take subnormal operands for zero.
	OpPackBF16
	OpZipBF16

	// Bits: integers, and masks where it makes sense.
	OpAnd
	OpOr
	OpXor
	OpNot
	OpShl // shift counts are taken modulo the width
	OpLShr
	OpAShr

	// Comparisons → mask. Integers are signed; float ones are false on NaN, but Ne true.
	OpEq
	OpNe
	OpLt
	OpLe
	OpULt    // unsigned integers
	OpSelect // mask (scalar or of as many lanes), a, b → a where it holds, else b

	// Conversions.
	OpConvert // between f32, f64, i32, i64, and from i1 (0 or 1); floats to integers truncate and saturate, NaN to 0
	OpBitcast // f32 ↔ i32, f64 ↔ i64
	OpRound   // f32 rounded to Elem (bf16, f16) and widened back

	// Horizontal reductions, vector → scalar: halves are combined pairwise
	// (lane l with lane l+n/2) until one lane is left; lanes a power of two.
	OpReduceAdd
	OpReduceMax
	OpReduceOr

	OpMath // a function of f32, Stmt.Math, which package vmath expands before emission

	// Memory and control.
	OpLoad
	OpStore
	OpPrefetch   // asks for the line of an element in a cache that is not the nearest; anywhere, without effect
	OpTileZero   // tile register Lanes[0] = 0
	OpTileLoad   // tile register Lanes[0] = rows of 64 bytes from Ref on, Ref.Stride elements apart
	OpTileStream // OpTileLoad of what is not soon loaded again: the nearest cache keeps what it has
	OpTileStore  // the inverse, into f32
	OpTileDot    // tile register Lanes[0] += Lanes[1] · Lanes[2]: see tiles.go
	OpFor
	OpIf // scalar i1 condition; yields of the taken block are the results

	numOps
)
