package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
)

// Feature is something that only some devices have.
type Feature int

// FP8: floats of eight bits are converted and multiplied by instructions (sm_89 and later).
const FP8 Feature = 1

// builder begins an entry for a device with these features.
func builder(name string, warps int, has []Feature) *thread.Builder {
	b := thread.New(name, 32*warps)
	for _, f := range has {
		if f == FP8 {
			b.FP8()
		}
	}
	return b
}

// Products of floats of eight bits are made in one of two ways, which the depth of the schedule's instruction says. One of
// 32 steps reads them as they are, but only where each row and column is contiguous along the axis that is summed
// ("PTX ISA", 9.7.14.5 and 9.7.15.5: transposing is for 16 bits), so that what lies otherwise in global memory is transposed on
// its way into shared memory, by threads. Others read them as bf16, which holds all of these numbers.

// float8Steps is how many steps of numbers of 8 bits a matrix instruction has.
const float8Steps = 32

// fp8 reports whether operands are floats of eight bits that matrix instructions read as they are.
func (x product) fp8() bool { return x.as == float8Steps && x.o.Args[0].Type.DType.IsScaled() }

// operandElem is the element that v has in shared memory, as an operand of products.
func (l *lowering) operandElem(v *tile.Value) kernel.Elem {
	if v.Type.DType.IsScaled() && l.p.Schedule.Dot.K != float8Steps {
		return elementwise.Elem(ir.BF16)
	}
	return elementwise.Elem(v.Type.DType)
}

// fast is the dimension of operand i of x that is contiguous in shared memory.
func (l *lowering) fast(x product, i int) int {
	v := x.o.Args[i]
	if x.fp8() && len(x.over) == 1 {
		for d, r := range v.Type.Dims {
			if r == x.over[0] {
				return d
			}
		}
	}
	return l.contiguous(v)
}

// converts reports whether products of body have operands that become bf16, for which a thread needs more registers than
// the share of four blocks.
func (l *lowering) converts(body *tile.Block) bool {
	return slices.ContainsFunc(dots(body), func(d *tile.Op) bool {
		return slices.ContainsFunc(d.Args[:2], func(v *tile.Value) bool { return l.operandElem(v) != elementwise.Elem(v.Type.DType) })
	})
}

// straight reports whether copies bring v to memory as it is: of the same elements, and contiguous along the same axis.
func (l *lowering) straight(v *tile.Value, in *layout.Memory) bool {
	return l.operandElem(v) == elementwise.Elem(v.Type.DType) && !l.turned(v, in)
}

// turned reports whether v, of eight bits, is transposed on its way into memory.
func (l *lowering) turned(v *tile.Value, in *layout.Memory) bool {
	if !v.Type.DType.IsScaled() || len(v.Type.Dims) != 2 {
		return false
	}
	at := in.Bits[l.contiguous(v)]
	return len(at) > 0 && at[0] != 1
}

// turners is the layout in which v is put into memory where it is transposed: a thread has four neighbours along the
// axis that is contiguous where it reads, and four along that which is where it writes, in one word each.
func (l *lowering) turners(v *tile.Value) *layout.Layout {
	from := l.contiguous(v)
	to := make([]layout.Basis, 2)
	for i := range to {
		to[i] = make(layout.Basis, len(v.Type.Dims))
		to[i][1-from] = 1 << i
	}
	return layout.BlockedBut(l.sizes(v.Type.Dims), from, 4, l.warps, to)
}
