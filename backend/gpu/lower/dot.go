package lower

import (
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// product is a dot: how its sums lie, and what multiplies.
type product struct {
	o     *tile.Op
	dims  []*tile.Range // of the sums
	at    *layout.Layout
	over  []*tile.Range // what is summed, but for positions
	steps int           // of a matrix instruction: then left is rows × over, right cols × over; 0: multiply-adds
	free  [2]int        // the dimension of the sums that an operand has; -1 for several or none
	as    int64         // the steps of the schedule's instruction
	group bool          // matrix instructions are those of four warps, which read shared memory
}

func (l *lowering) product(o *tile.Op) product {
	x := product{o: o, dims: o.Result().Type.Dims, free: [2]int{-1, -1}, as: l.p.Schedule.Dot.K}
	for _, r := range o.Over {
		if r.Size > 1 {
			x.over = append(x.over, r)
		}
	}
	plain := true // rows of one operand, columns of the other
	for d, r := range x.dims {
		side := 0
		if !o.Args[0].Type.Has(r) {
			side = 1
		}
		plain = plain && x.free[side] < 0 && !o.Args[1-side].Type.Has(r)
		x.free[side] = d
	}
	if !plain {
		x.at = l.natural(x.dims)
		return x
	}
	m, n := 1, 1
	if x.free[0] >= 0 {
		m = l.size(x.dims[x.free[0]])
	}
	if x.free[1] >= 0 {
		n = l.size(x.dims[x.free[1]])
	}
	if x.group = l.grouped(x, m, n); x.group {
		x.steps = x.depth()
		x.at = layout.Groups(m, n, l.warps)
	} else if x.steps = l.matrices(x, m, n); x.steps > 0 {
		rows, cols := layout.Arrange(m, n, l.warps)
		if l.folds { // what rows have in common stays in a warp
			rows = min(l.warps, max(1, m/16))
			cols = l.warps / rows
		}
		x.at = layout.Sums(m, n, rows, cols)
	} else {
		x.at = layout.Outer(m, n, l.warps)
	}
	x.at = x.at.Project([]bool{x.free[0] >= 0, x.free[1] >= 0})
	if x.free[0] == 1 {
		x.at = x.at.Permute([]int{1, 0})
	}
	return x
}

// matrices is how many steps of the contracted range a matrix instruction takes, if the schedule wants
// it and the tiles are as large as one; or 0. Numbers of 16 bits have one of 16 steps, those of 8
// one of 32 or that of bf16, f32 one of 8, which rounds them: only a schedule that says so has it.
func (l *lowering) matrices(x product, m, n int) int {
	d := l.p.Schedule.Dot
	steps := x.depth()
	if x.single() {
		steps = 8
	}
	wanted := d.K == int64(steps) || d.K == 0 && !x.single()
	if d.Kind != schedule.MMA && d.Kind != schedule.WGMMA || !wanted || x.o.Args[0].Type.DType.Size() > 4 ||
		m < 16 || n < 8 || len(x.over) != 1 || l.size(x.over[0]) < steps {
		return 0
	}
	return steps
}

// memory is how operand i lies in shared memory: contiguous as where it comes from, and such that
// those who read it together meet no bank twice.
func (l *lowering) memory(x product, i int) *layout.Memory {
	v := x.o.Args[i]
	if m := l.rows(x, i); m != nil {
		return m
	}
	fast := l.fast(x, i)
	m := layout.Dense(l.sizes(v.Type.Dims), fast)
	group := x.at.Lane[:3]
	if x.steps > 0 {
		p := placed{dims: v.Type.Dims, in: m}
		if group = x.fragments(i, p).Lane; !x.transposed(i, p) || !x.single() {
			group = group[:3] // rows of 16 bytes
		}
	} else {
		group = append([]layout.Basis(nil), group...)
		for j, b := range group {
			group[j] = project(b, x.dims, v.Type.Dims)
		}
	}
	m.Swizzle(vec(l.operandElem(v)), group)
	return m
}

// mostSums is how many sums of a product a thread may have. It has 255 registers; what is more is
// in memory, and a mistake if it is much more.
const mostSums = 512

// dot multiplies two tiles in shared memory, on top of sums that threads have in registers.
func (l *lowering) dot(o *tile.Op) {
	x := l.product(o)
	if n := x.at.Regs(); n > mostSums {
		l.fail("found a product with %d sums for each thread; expected %d at most, so blocks of fewer rows and columns, or more warps", n, mostSums)
		return
	}
	if x.group {
		l.hold(o.Result(), x.at, l.dotGroups(x))
		return
	}
	left, right := l.share(o.Args[0], l.memory(x, 0)), l.share(o.Args[1], l.memory(x, 1))
	acc := l.sums(x)
	if x.steps > 0 {
		acc = l.multiplyMatrices(x, left, right, acc)
	} else {
		acc = l.multiply(x, x.over, l.reach(left, x.dims, x.at), l.reach(right, x.dims, x.at), left, right, acc)
	}
	l.hold(o.Result(), x.at, acc)
}

// sums are what the product is added to.
func (l *lowering) sums(x product) []*thread.Value {
	if len(x.o.Args) == 3 {
		return l.value(x.o.Args[2], x.at)
	}
	acc := make([]*thread.Value, x.at.Regs())
	for r := range acc {
		acc[r] = l.b.Const(kernel.Scalar(kernel.F32), 0)
	}
	return acc
}
