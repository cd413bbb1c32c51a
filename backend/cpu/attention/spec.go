package attention

import (
	"errors"
	"fmt"
	"slices"

	"ptc/backend/kernel"
)

// Along is the axis that the lanes of a vector lie along.
type Along uint8

const (
	AlongCols Along = iota // columns of an operand or a result
	AlongKeys              // keys
)

// Spec describes an attention: at every position of Outer, Inner and Groups, scores of
// every row and key are sums of products of their operands' columns; weights are made
// of the scores; results are products of weights and operands.
type Spec struct {
	// Outer are the loops of problems, which share no result.
	Outer []int64
	// Inner are loops of problems as well, over which Outs of OverAll are summed.
	Inner []int64
	// Groups are loops of rows besides Rows: what meets the same keys.
	Groups     []int64
	Rows, Keys int64

	ByRow, ByKey []Operand
	Into         []Into
	Outs         []Out

	// Top: the largest score of a row is sought, and Score called. Sum: so is the sum
	// of the exponentials.
	Top, Sum bool
	// Keep: Weights needs the results of Into next to the score.
	Keep bool

	// Begin makes the builder for a kernel of so many tasks, with the buffers of
	// operands and results declared.
	Begin func(tasks int64) *kernel.Builder
	// Limits are what bounds the keys that a row of the group at hand sees; nil where
	// nothing does. Keys beyond them add nothing: their exponentials and weights are 0.
	Limits func(at At) []Limit
	// Row runs body with the row at hand, whose position is known.
	Row func(at At, body func())
	// Score makes of the results x of Into the score that the largest is sought of. Where
	// sure holds, no limit is exceeded.
	Score func(at At, x []*kernel.Value, l Lanes) *kernel.Value
	// Base is what the exponential takes off, where the largest score so far is top.
	Base func(top *kernel.Value) *kernel.Value
	// Weights makes of x, the results of Into (where Top is sought: if Keep is set, and
	// the score), the exponentials less base (nil where there is no Top), and the weights that
	// Outs have the numbers of, before they are divided by the sum.
	Weights func(at At, x []*kernel.Value, base *kernel.Value, l Lanes) (e *kernel.Value, w []*kernel.Value)
	// Known is told the largest score and the sum of a row (nil where none is sought),
	// stores what is over the rows, and runs body.
	Known func(at At, top, sum *kernel.Value, body func())
	// Store takes lanes results of Outs[out] along its columns.
	Store func(out int, at At, acc *kernel.Value, l Lanes)
	// Blocks, if not nil, are the sizes to cut it by.
	Blocks *Blocks
}

func (s *Spec) check() error {
	sizes := append(append(append([]int64{s.Rows, s.Keys}, s.Outer...), s.Inner...), s.Groups...)
	for _, o := range append(append([]Operand(nil), s.ByRow...), s.ByKey...) {
		sizes = append(append(sizes, o.Cols), o.Subs...)
		if o.Load == nil {
			return errors.New("attention: an operand has no loader")
		}
	}
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("attention: a size is %d, must be at least 1", n)
		}
	}
	if len(s.Into) == 0 || len(s.Outs) == 0 {
		return errors.New("attention: no product makes the scores, or none reads the weights")
	}
	if s.Begin == nil || s.Row == nil || s.Weights == nil || s.Known == nil || s.Store == nil || s.Top && (s.Score == nil || s.Base == nil) {
		return errors.New("attention: a callback is missing")
	}
	overRows := false
	for _, o := range s.Outs {
		overRows = overRows || o.Over != OverKeys
	}
	if overRows && (s.Top || s.Sum) {
		return errors.New("attention: a product over the rows of weights that are not complete")
	}
	if len(s.Inner) > 0 && !overRows {
		return errors.New("attention: inner loops, and nothing summed over them")
	}
	return nil
}

// across reports whether key operand i is packed with lanes along keys.
func (s *Spec) across(i int) bool {
	return slices.ContainsFunc(s.Into, func(in Into) bool { return in.Key == i })
}

// along reports whether key operand i is packed with lanes along columns.
func (s *Spec) along(i int) bool {
	return slices.ContainsFunc(s.Outs, func(o Out) bool { return o.Over == OverKeys && o.Of == i })
}

// operand is what the weights of o are multiplied by.
func (s *Spec) operand(o Out) *Operand {
	if o.Over == OverKeys {
		return &s.ByKey[o.Of]
	}
	return &s.ByRow[o.Of]
}

// weights is how many products of weights Outs have.
func (s *Spec) weights() int {
	n := 0
	for _, o := range s.Outs {
		n = max(n, o.Weights+1)
	}
	return n
}

// scoreAt is the number of the buffer that keeps the score.
func (s *Spec) scoreAt() int {
	if s.Keep {
		return len(s.Into)
	}
	return 0
}

// Lanes are the lanes of a vector, those for which Mask (nil: all) holds. Where Sure is
// set, each is of a key within the limits.
type Lanes struct {
	N    int
	Mask *kernel.Value
	Sure bool
}

// Operand is a matrix of rows, or of keys, by columns.
type Operand struct {
	Subs []int64 // loops of columns besides Cols
	Cols int64
	// Load is a vector of elements (f32) along an axis, from position at on; lanes
	// that do not exist are zero.
	Load func(at At, along Along, l Lanes) *kernel.Value
	// Unit is the axis along which neighbours are next to each other in memory.
	Unit Along
}

// Into makes scores: row·key, summed over the columns that both operands have.
type Into struct{ Row, Key int } // of ByRow, ByKey

// Over is what a product of weights is summed over.
type Over uint8

const (
	OverKeys Over = iota // Σ over keys of weights · ByKey[Of]: a result by rows
	OverRows             // Σ over rows and groups of weights · ByRow[Of]: a result by keys
	OverAll              // the same, over Inner too
)

// Out is a product of weights.
type Out struct {
	Over    Over
	Weights int
	Of      int
	// Load is what Store has stored of a product over keys: where it is not nil, sums
	// wait there from one block of keys to the next.
	Load func(at At, l Lanes) *kernel.Value
}

// Limit bounds the keys that a row sees, from below or above, both included: by At, or
// At + row.
type Limit struct {
	Upper, Row bool
	At         kernel.Index
}

// At is a position in the iteration space. Indices that an operand does not have are
// ignored.
type At struct {
	Outer, Inner, Group []kernel.Index
	Row, Key            kernel.Index
	Sub                 []kernel.Index
	Col                 kernel.Index
}
