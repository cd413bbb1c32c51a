package tile

import "ptc/ir/op"

// Kind is the name of an operation. Those that compute elements of tiles from elements
// of tiles, and reductions, are named as in ir/op, whose rows say what they mean;
// [Dot] is as well. The others are here.
type Kind string

// The kinds that the form has of its own, and those of ir/op that it treats apart.
const (
	Load    Kind = "load"    // elements of a view; at a position looked up that is out of range, zero
	Copy    Kind = "copy"    // a load into shared memory that ends by the next wait for it
	Wait    Kind = "wait"    // until a copy has ended
	Store   Kind = "store"   // a tile into a view, repeated along the dimensions that it lacks; what is looked up and out of range is left out
	Scatter Kind = "scatter" // a tile added to a view, element by element in the order of its dimensions
	Dot     Kind = op.Dot    // the sum over ranges of the product of two tiles, on top of a third if there is one
	Const   Kind = op.Const  // a number, in every element of its type
	Index   Kind = op.Index  // the positions of a range
	First   Kind = "first"   // the first position of a range's block
	Last    Kind = "last"    // its last existing position
	Random  Kind = op.Random // from seed, step and site (i32 scalars) and the numbers of the elements, as ir/tensor.Bits has it
	// Repeat is its operand with one more dimension.
	Repeat Kind = op.Broadcast
	For    Kind = "loop"
	If     Kind = "if"
)

// elementwise reports whether k is computed element by element, as its row in ir/op
// says.
func (k Kind) elementwise() bool {
	d := op.Lookup(string(k))
	return d != nil && d.Class == op.Elementwise
}

// reduces reports whether k is a reduction of ir/op.
func (k Kind) reduces() bool {
	d := op.Lookup(string(k))
	return d != nil && d.Class == op.Reduction
}

// own are the kinds that have no elementwise or reducing row.
var own = map[Kind]bool{
	Load: true, Copy: true, Wait: true, Store: true, Scatter: true, Dot: true, Const: true, Index: true,
	First: true, Last: true, Random: true, Repeat: true, For: true, If: true,
}

// known reports whether there is such a kind.
func (k Kind) known() bool { return own[k] || k.elementwise() || k.reduces() }

// hasView reports whether k accesses a view.
func (k Kind) hasView() bool { return k == Load || k == Copy || k == Store || k == Scatter }

// Defines reports whether operations of kind k that are neither loop nor if have a
// result.
func (k Kind) Defines() bool { return k != Wait && k != Store && k != Scatter }
