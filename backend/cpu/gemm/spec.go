package gemm

import (
	"errors"
	"fmt"

	"ptc/backend/kernel"
)

// Along names one of the three axes of a product.
type Along uint8

const (
	AlongM Along = iota // rows of the result
	AlongN              // columns of the result: the vector axis
	AlongK              // contracted
)

// Spec describes result[outer, m, n] = Σ over outerK, k of
// left[outer, m, outerK, k] · right[outer, outerK, k, n], for every outer.
type Spec struct {
	M, N, K int64
	// Outer are the sizes of further loops of the result, OuterK of further
	// contracted loops that cannot be one with K.
	Outer, OuterK []int64
	// Left and Right load the operands.
	Left, Right Operand
	// Begin makes the builder for a kernel of so many tasks, with the buffers
	// of the operands and results declared.
	Begin func(tasks int64) *kernel.Builder
	// Store takes lanes results (f32) of row at.M from column at.N on; lanes
	// for which mask (nil: all) does not hold do not exist. lanes may be 1.
	Store func(at At, acc *kernel.Value, lanes int, mask *kernel.Value)
	// Blocks, if not nil, are the sizes to cut it by.
	Blocks *Blocks
}

func (s *Spec) check() error {
	sizes := append(append([]int64{s.M, s.N, s.K}, s.Outer...), s.OuterK...)
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("gemm: a size is %d, must be at least 1", n)
		}
	}
	if s.Left.Load == nil || s.Right.Load == nil || s.Begin == nil || s.Store == nil {
		return errors.New("gemm: a callback is missing")
	}
	if s.Left.Unit == AlongN || s.Right.Unit == AlongM {
		return errors.New("gemm: an operand is contiguous along an axis it does not have")
	}
	return nil
}

// Operand loads elements of a matrix.
type Operand struct {
	// Load is a vector of lanes elements (f32) along an axis (AlongM or AlongK
	// of the left operand, AlongK or AlongN of the right one) from position at
	// on. Lanes for which mask does not hold are zero; the first one always
	// holds. lanes may be 1.
	Load func(at At, along Along, lanes int, mask *kernel.Value) *kernel.Value
	// Unit is the axis along which neighbours are next to each other in
	// memory, so that vector loads along it are cheap; AlongK where neither.
	Unit Along
	// Cost is what an element takes besides being loaded, in multiply-adds. Where
	// it is 0, Load is a load alone: it may be generated, and run, many times over.
	Cost int64
	// BF16 says that all elements are numbers of bf16, so that machines which multiply pairs of
	// these may pack them as such.
	BF16 bool
}

// At is a position in the iteration space. Indices that an operand does not
// have are ignored.
type At struct {
	Outer, OuterK []kernel.Index
	M, N, K       kernel.Index
}
