package fusion

import (
	"math"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

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
	Into []*Into
	// Body is the elementwise work on scores, in order: scale, soft cap, bias, masks,
	// the exponential, dropout; and in the backward phase what leads to the gradient.
	Body []*ir.Op
	// Exp is the exponential of Scores less Base, a value over Both and Rows.
	Exp          *ir.Op
	Scores, Base *ir.Value
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
	Outs []*Out
	// Epilogue is the elementwise work on one of Outs, and on Top, Sum and arguments over
	// Both and Rows, before results are stored; Base is of it where it is made of Top.
	Epilogue []*ir.Op
	// Made has for each result of the kernel the product of Outs that it is made of; nil for one of
	// Top and Sum alone.
	Made []*Out

	from map[*ir.Value]from
}

// Into is a product that makes scores of a row's operand and a key's.
type Into struct {
	*ir.Op
	Row, Key *ir.Value
}

// Out is a product of weights, which are over the scores, and an operand of rows or keys.
type Out struct {
	*ir.Op
	Weights, Of *ir.Value
	Over        Over
	// Divided: the weights are exponentials that the Sum of this kernel divides. It is complete behind
	// the last key, so the product may be divided in the place of the weights.
	Divided bool
	// NeedsScores: the weights need scores other than by the exponential.
	NeedsScores bool
	// Vanishes: the weights are 0 where the exponential is, so that a masked key adds nothing.
	Vanishes bool
}

// Over says which axes a product of weights sums over.
type Over uint8

// The sums of products of weights.
const (
	OverKeys Over = iota
	OverRows      // over Rows
	OverAll       // over Rows and some of Both
)

// Groups are the products of weights by the axes that they sum over, those over keys first.
func (a *Attention) Groups() (groups [][]*Out) {
	for _, keys := range []bool{true, false} {
		at := map[string]int{}
		for _, o := range a.Outs {
			if (o.Over == OverKeys) != keys {
				continue
			}
			over := names(a.shared(o))
			if _, ok := at[over]; !ok {
				at[over] = len(groups)
				groups = append(groups, nil)
			}
			groups[at[over]] = append(groups[at[over]], o)
		}
	}
	return groups
}

// shared are those of Both, larger than 1, that o sums over.
func (a *Attention) shared(o *Out) []ir.Axis {
	return slices.DeleteFunc(slices.Clone(a.Both), func(x ir.Axis) bool {
		return x.Size == 1 || !slices.Contains(o.Attrs.Names("over"), x.Name)
	})
}

// Inverse is 1/c for an operation of Body that divides by the constant c, if both are normal
// numbers; it may multiply by that. false for others.
func Inverse(o *ir.Op) (float64, bool) {
	if o.Name != op.Div || o.Result().Type.DType != ir.F32 {
		return 0, false
	}
	c, is := Literal(o.Args[1])
	return 1 / c, is && math.Abs(c) > 0x1p-100 && math.Abs(c) < 0x1p100
}
