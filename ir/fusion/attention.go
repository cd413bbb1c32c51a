package fusion

import "ptc/ir"

// Attend is the class of products around a softmax: scores are computed, used and
// forgotten a block at a time, and never stored.
//
//	for p in Both { for rows { for block of Key { scores; fold Top, Sum; Outs += … }; store } }
//
// A kernel function of this class holds the operations of the plain softmax as they
// are; in which order a generator folds them (Milakov, Gimelshein, "Online normalizer
// calculation for softmax", 2018, algorithm 3; Dao et al., "FlashAttention", 2022,
// algorithms 1 and 4) is the generator's.
const Attend Class = "attention"

// Attention is what a kernel of class Attend computes, forward or backward. Scores are
// the values over all of Both, Rows and Key.
//
// Where the kernel has Top or Sum, what reads Exp is proportional to it, and all Outs
// are over Key: a block of keys with a larger score scales what has been summed. Base
// may be more than Top, as of a step of a ring, which has the maximum of earlier blocks
// too. Operations on scores read Top through Base alone, and Sum by Norm alone.
type Attention struct {
	Both []ir.Axis // axes of queries and of keys, of which an operand may lack some: each position is a problem of its own
	Rows []ir.Axis // axes of the queries alone: their positions, and the group of heads that share keys
	Key  ir.Axis   // the axis of keys, over which the softmax is taken

	// Into are the products whose results are scores: of queries and keys, and in the
	// backward phase of the result's gradient and the values. Their operands are views
	// of arguments, or elementwise work on those.
	Into []*ir.Op
	// Body is the elementwise work on scores, in order: scale, soft cap, bias, masks,
	// the exponential, dropout; and in the backward phase what leads to the gradient.
	Body []*ir.Op
	// Exp is the exponential of the scores less Base, a value over Both and Rows.
	Exp  *ir.Op
	Base *ir.Value
	// Top and Sum are the reductions over Key: of the scores, and of Exp. A backward
	// kernel has none: it reads what the forward one stored. Top is nil as well where
	// Base is an argument, Sum where the weights are not divided by it here.
	Top, Sum *ir.Op
	// Norm is the division of Exp by Sum, or in a kernel without Sum by a value over
	// Both and Rows, or nil.
	Norm *ir.Op
	// Outs are the products that read what is over the scores: over Key, so that the
	// result has the rows (the output, the gradient of queries), or over Rows, so that
	// it has the keys (the gradients of keys and values). Where all of Both share an
	// operand, the product over Rows that is its gradient is over those axes too.
	Outs []*ir.Op
	// Epilogue is the elementwise work on one of Outs, and on Top, Sum and arguments over
	// Both and Rows, before results are stored; Base is of it where it is made of Top.
	Epilogue []*ir.Op
}
