package assign

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
)

// products decides how the products of a phase are made.
type products struct {
	*Tiles
	dot   schedule.Dot
	folds bool // a loop reduces what it multiplies, and multiplies what that scales
	made  map[*tile.Op]*Product
}

// of is how o is made.
func (p *products) of(o *tile.Op) *Product {
	if p.made[o] == nil {
		p.made[o] = p.product(o)
	}
	return p.made[o]
}

func (p *products) product(o *tile.Op) *Product {
	x := &Product{Op: o, Dims: o.Result().Type.Dims, Over: summedRanges(o), Free: [2]int{-1, -1}, deep: p.dot.K == float8Steps}
	plain := true // rows of one operand, columns of the other
	for d, r := range x.Dims {
		side := 0
		if !o.Args[0].Type.Has(r) {
			side = 1
		}
		plain = plain && x.Free[side] < 0 && !o.Args[1-side].Type.Has(r)
		x.Free[side] = d
	}
	if !plain {
		x.At = p.Natural(x.Dims)
	} else {
		p.multiply(x)
	}
	for i, v := range o.Args[:2] {
		x.Elems[i], x.In[i] = p.Elem(v), p.memory(x, i)
	}
	return x
}

// multiply chooses what multiplies x, rows of one operand and columns of the other, and how the sums then lie.
func (p *products) multiply(x *Product) {
	m, n := 1, 1
	if x.Free[0] >= 0 {
		m = p.Size(x.Dims[x.Free[0]])
	}
	if x.Free[1] >= 0 {
		n = p.Size(x.Dims[x.Free[1]])
	}
	warps := p.Threads.Warps
	if x.Group = p.grouped(x, m, n); x.Group {
		x.Steps = x.depth()
		x.At = layout.Groups(m, n, warps)
	} else if x.Steps = p.matrices(x, m, n); x.Steps > 0 {
		rows, cols := layout.Arrange(m, n, warps)
		if p.folds { // what rows have in common stays in a warp
			rows = min(warps, max(1, m/16))
			cols = warps / rows
		}
		x.At = layout.Sums(m, n, rows, cols)
	} else {
		x.At = layout.Outer(m, n, p.Threads)
	}
	x.At = x.At.Project([]bool{x.Free[0] >= 0, x.Free[1] >= 0})
	if x.Free[0] == 1 {
		x.At = x.At.Permute([]int{1, 0})
	}
}

// matrices is how many steps of the contracted range a matrix instruction takes, if the schedule wants
// it and the tiles are as large as one; or 0. Numbers of 16 bits have one of 16 steps, those of 8
// one of 32 or that of bf16, f32 one of 8, which rounds them: only a schedule that says so has it.
func (p *products) matrices(x *Product, m, n int) int {
	d := p.dot
	steps := x.depth()
	if x.Single() {
		steps = 8
	}
	wanted := d.K == int64(steps) || d.K == 0 && !x.Single()
	if d.Kind != schedule.MMA && d.Kind != schedule.WGMMA || !wanted || x.Op.Args[0].Type.DType.Bits() > 32 ||
		m < 16 || n < 8 || len(x.Over) != 1 || p.Size(x.Over[0]) < steps {
		return 0
	}
	return steps
}

// grouped reports whether the matrix instructions of warpgroups multiply x, of m rows and n columns: the
// schedule wants them, and the tiles are as large as one and lie as they are read.
func (p *products) grouped(x *Product, m, n int) bool {
	if p.dot.Kind != schedule.WGMMA || x.Single() || p.Threads.Warps%GroupWarps != 0 ||
		m < GroupRows || len(x.Over) != 1 || p.Size(x.Over[0]) < x.depth() {
		return false
	}
	for i := range 2 {
		if p.spans(x, i) == nil {
			return false
		}
	}
	groups := p.Threads.Warps / GroupWarps
	return n/(groups/min(groups, m/GroupRows)) >= 8
}

// spans is operand i in shared memory as matrix instructions of warpgroups read it, where the schedule wants these,
// or nil.
func (p *products) spans(x *Product, i int) *layout.Memory {
	v := x.Op.Args[i]
	e := p.Elem(v)
	if p.dot.Kind != schedule.WGMMA || !e.IsNarrow() || len(v.Type.Dims) != 2 {
		return nil
	}
	return layout.Spans(p.Sizes(v.Type.Dims), x.fast(i), e.Bytes())
}

// memory is how operand i lies in shared memory: contiguous as where it comes from, and such that
// those who read it together meet no bank twice.
func (p *products) memory(x *Product, i int) *layout.Memory {
	v := x.Op.Args[i]
	if m := p.spans(x, i); m != nil {
		return m
	}
	m := layout.Dense(p.Sizes(v.Type.Dims), x.fast(i))
	var group []layout.Basis
	if x.Steps > 0 {
		if group = x.Fragments(i, m).Lane; !x.Transposed(i, m) || !x.Single() {
			group = group[:3] // rows of 16 bytes
		}
	} else {
		for _, b := range x.At.Lane[:3] {
			group = append(group, Project(b, x.Dims, v.Type.Dims))
		}
	}
	m.Swizzle(Vec(p.Elem(v)), group)
	return m
}

// Elem is the element that v has in shared memory, as an operand of products.
func (p *products) Elem(v *tile.Value) kernel.Elem {
	if v.Type.DType.IsScaled() && p.dot.K != float8Steps {
		return elementwise.Elem(ir.BF16)
	}
	return elementwise.Elem(v.Type.DType)
}

// converts reports whether products of body have operands that become bf16, for which a thread needs more registers than
// the share of four blocks.
func (p *products) converts(body *tile.Block) bool {
	return slices.ContainsFunc(dots(body), func(d *tile.Op) bool {
		return slices.ContainsFunc(d.Args[:2], func(v *tile.Value) bool { return p.Elem(v) != elementwise.Elem(v.Type.DType) })
	})
}

// straight reports whether copies bring v to memory as it is: of the same elements, and contiguous along the same axis.
func (p *products) straight(v *tile.Value, in *layout.Memory) bool {
	return p.Elem(v) == elementwise.Elem(v.Type.DType) && !turned(v, in)
}

// shortestSpan is how many bytes next to each other a matrix of a warpgroup has at least ([layout.Spans]).
const shortestSpan = 32

// pad notes which ranges of the products of body, in which matrix instructions are wanted, are narrower than
// one: fewer than 8 columns, or 16 where a warpgroup reads columns next to each other, or 16 steps. Operands are zero
// where there is nothing.
func (p *products) pad(body *tile.Block) {
	if d := p.dot; d.Kind != schedule.MMA && d.Kind != schedule.WGMMA || d.K != 0 && d.K != groupSteps && d.K != float8Steps {
		return
	}
	for _, o := range body.Ops {
		for _, inner := range inside(o) {
			p.pad(inner)
		}
		if o.Kind == tile.Dot {
			p.padProduct(o)
		}
	}
}

func (p *products) padProduct(o *tile.Op) {
	if !elementwise.Elem(o.Args[0].Type.DType).IsNarrow() || len(o.Result().Type.Dims) != 2 {
		return
	}
	over, dims := summedRanges(o), o.Result().Type.Dims
	rows, cols := dims[0], dims[1]
	if !o.Args[0].Type.Has(rows) {
		rows, cols = cols, rows
	}
	if len(over) != 1 || !o.Args[0].Type.Has(rows) || o.Args[0].Type.Has(cols) || o.Args[1].Type.Has(rows) || !o.Args[1].Type.Has(cols) ||
		p.Size(rows) < 16 || cols.Size < 2 {
		return
	}
	x := &Product{Op: o, Over: over, deep: p.dot.K == float8Steps}
	p.least[over[0]] = max(p.least[over[0]], x.depth())
	p.least[cols] = max(p.least[cols], 8)
	if right := o.Args[1]; p.dot.Kind == schedule.WGMMA && p.Threads.Warps%GroupWarps == 0 && p.Size(rows) >= GroupRows &&
		right.Type.Dims[x.fast(1)] == cols {
		p.least[cols] = max(p.least[cols], shortestSpan/p.Elem(right).Bytes())
	}
}
