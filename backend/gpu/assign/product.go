package assign

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

// Product is a dot: how its sums and operands lie, and what multiplies.
type Product struct {
	Op    *tile.Op
	Dims  []*tile.Range // of the sums
	At    *layout.Layout
	Over  []*tile.Range     // what is summed, but for positions
	In    [2]*layout.Memory // the operands in shared memory
	Steps int               // of a matrix instruction: then left is rows × over, right cols × over; 0: multiply-adds
	Free  [2]int            // the dimension of the sums that an operand has; -1 for several or none
	Group bool              // matrix instructions are those of warpgroups, which read shared memory
	// Weights, of a warpgroup's product, is the layout of the left operand where threads may have it in the registers from
	// which the instruction takes it; else nil.
	Weights *layout.Layout
	deep    bool // the schedule's instruction has the steps of numbers of 8 bits
}

// What one matrix instruction of a warpgroup multiplies.
const (
	GroupWarps = 4
	GroupRows  = 64
	GroupCols  = 256 // at most
	groupSteps = 16  // of numbers of 16 bits
)

// mostSums is how many sums of a product a thread may have. It has 255 registers; what is more is
// in memory, and a mistake if it is much more.
const mostSums = 512

// check is an error where threads would have too many sums of x.
func (x *Product) check() error {
	if n := x.At.Regs(); n > mostSums {
		return fmt.Errorf("found a product with %d sums for each thread; expected %d at most, so blocks of fewer rows and columns, or more warps", n, mostSums)
	}
	return nil
}

// Single reports whether operands are f32.
func (x *Product) Single() bool { return !elementwise.Elem(x.Op.Args[0].Type.DType).IsNarrow() }

// depth is how many steps a matrix instruction has of numbers that are narrower than f32.
func (x *Product) depth() int {
	if x.fp8() {
		return float8Steps
	}
	return groupSteps
}

// Pairs reports whether a warp has 16 columns next to each other.
func (x *Product) Pairs() bool {
	for _, b := range x.At.Reg {
		if b[x.Free[1]] == 8 {
			return true
		}
	}
	return false
}

// Axes are the dimensions of operand i: that of the sums, and that which is summed.
func (x *Product) Axes(i int) (free, k int) {
	if x.Op.Args[i].Type.Dims[0] == x.Over[0] {
		return 1, 0
	}
	return 0, 1
}

// Products of floats of eight bits are made in one of two ways, which the depth of the schedule's instruction says. One of
// 32 steps reads them as they are, but only where each row and column is contiguous along the axis that is summed
// ("PTX ISA", 9.7.14.5 and 9.7.15.5: transposing is for 16 bits), so that what lies otherwise in global memory is transposed on
// its way into shared memory, by threads. Others read them as bf16, which holds all of these numbers.

// float8Steps is how many steps of numbers of 8 bits a matrix instruction has.
const float8Steps = 32

// fp8 reports whether operands are floats of eight bits that matrix instructions read as they are.
func (x *Product) fp8() bool { return x.deep && x.Op.Args[0].Type.DType.IsScaled() }

// fast is the dimension of operand i that is contiguous in shared memory.
func (x *Product) fast(i int) int {
	v := x.Op.Args[i]
	if x.fp8() && len(x.Over) == 1 {
		if d := slices.Index(v.Type.Dims, x.Over[0]); d >= 0 {
			return d
		}
	}
	return contiguous(v)
}
