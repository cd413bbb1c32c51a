package assign

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// Product is a dot: how its sums and operands lie, and what multiplies.
type Product struct {
	Op    *tile.Op
	Dims  []*tile.Range // of the sums
	At    *layout.Layout
	Over  []*tile.Range     // what is summed, but for positions
	Elems [2]kernel.Elem    // of the operands in shared memory
	In    [2]*layout.Memory // how these lie there
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
	return slices.ContainsFunc(x.At.Reg, func(b layout.Basis) bool { return b[x.Free[1]] == 8 })
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

// contiguous is the dimension of v whose neighbours are next to each other in the memory that most of
// it is loaded from; the last one where that is none.
func contiguous(v *tile.Value) int {
	best, most := max(0, len(v.Type.Dims)-1), 0
	seen := map[*tile.Value]bool{}
	var walk func(x *tile.Value)
	walk = func(x *tile.Value) {
		if seen[x] || x.Def == nil {
			return
		}
		seen[x] = true
		switch o := x.Def; {
		case o.Kind == tile.Load || o.Kind == tile.Copy:
			if r := neighbours(o); r != nil && len(x.Type.Dims) > most {
				if d := slices.Index(v.Type.Dims, r); d >= 0 {
					best, most = d, len(x.Type.Dims)
				}
			}
		case o.Kind == tile.Repeat || elementwise.Known(o.Kind):
			for _, a := range o.Args {
				walk(a)
			}
		}
	}
	walk(v)
	return best
}

// Vec is how many elements e have 16 bytes.
func Vec(e kernel.Elem) int { return max(1, 16/e.Bytes()) }

// turned reports whether v, of eight bits, is transposed on its way into memory.
func turned(v *tile.Value, in *layout.Memory) bool {
	if !v.Type.DType.IsScaled() || len(v.Type.Dims) != 2 {
		return false
	}
	at := in.Bits[contiguous(v)]
	return len(at) > 0 && at[0] != 1
}

// Fragments says where in operand i of a product the rows of 16 bytes are that the lanes of a warp
// give to ldmatrix: of four matrices of 8 rows those of 16 rows and two times as many steps of the
// left operand, of the right one those of two times 8 columns. Matrices whose rows go along the
// free axis are transposed as they are read ("PTX ISA", 9.7.14.5.15), which is for numbers of 16 bits
// only: of f32 the layout is that of the numbers which lanes read for themselves.
func (x *Product) Fragments(i int, in *layout.Memory) *layout.Layout {
	free, k := x.Axes(i)
	along := func(d, n int) layout.Basis {
		b := layout.Basis{0, 0}
		b[d] = n
		return b
	}
	out := &layout.Layout{Sizes: in.Sizes}
	second := []layout.Basis{along(free, 8), along(k, x.Steps/2)} // of four matrices
	if i == 1 {
		second = []layout.Basis{second[1], second[0]}
		if !x.Pairs() {
			second[1] = along(free, 0)
		}
	}
	switch {
	case x.Transposed(i, in) && x.Single():
		out.Lane = []layout.Basis{along(k, 1), along(k, 2), along(free, 1), along(free, 2), along(free, 4)}
		out.Reg = second
		if i == 1 && !x.Pairs() {
			out.Reg = second[:1]
		}
	case x.Transposed(i, in):
		out.Lane = append([]layout.Basis{along(k, 1), along(k, 2), along(k, 4)}, second...)
	default:
		out.Lane = append([]layout.Basis{along(free, 1), along(free, 2), along(free, 4)}, second...)
	}
	for _, w := range x.At.Warp {
		out.Warp = append(out.Warp, Project(w, x.Dims, x.Op.Args[i].Type.Dims))
	}
	return out
}

// Transposed reports whether operand i is contiguous along the axis that is not summed.
func (x *Product) Transposed(i int, in *layout.Memory) bool {
	free, _ := x.Axes(i)
	return in.Bits[free][0] == 1
}
