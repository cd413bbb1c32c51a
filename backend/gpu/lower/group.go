package lower

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// What one matrix instruction of a warpgroup multiplies.
const (
	groupWarps = 4
	groupRows  = 64
	groupCols  = 256 // at most
	groupSteps = 16  // of numbers of 16 bits
)

// grouped reports whether the matrix instructions of warpgroups multiply x, of m rows and n columns: the
// schedule wants them, and the tiles are as large as one and lie as they are read.
func (l *lowering) grouped(x product, m, n int) bool {
	if l.p.Schedule.Dot.Kind != schedule.WGMMA || x.single() || l.warps%groupWarps != 0 ||
		m < groupRows || len(x.over) != 1 || l.size(x.over[0]) < x.depth() {
		return false
	}
	for i := range 2 {
		if l.rows(x, i) == nil {
			return false
		}
	}
	groups := l.warps / groupWarps
	return n/(groups/min(groups, m/groupRows)) >= 8
}

// depth is how many steps a matrix instruction has of numbers that are narrower than f32.
func (x product) depth() int {
	if x.fp8() {
		return float8Steps
	}
	return groupSteps
}

// rows is operand i in shared memory as matrix instructions of warpgroups read it, where the schedule wants these,
// or nil.
func (l *lowering) rows(x product, i int) *layout.Memory {
	v := x.o.Args[i]
	e := l.operandElem(v)
	if l.p.Schedule.Dot.Kind != schedule.WGMMA || !e.IsNarrow() || len(v.Type.Dims) != 2 {
		return nil
	}
	return layout.Spans(l.sizes(v.Type.Dims), l.fast(x, i), e.Bytes())
}

// matrix is operand i of a product for a warpgroup, at a position of its own tile.
type matrix struct {
	l       *lowering
	x       product
	p       placed
	free, k int
	from    thread.Shared // what the warpgroup reads first
}

func (l *lowering) matrix(x product, i int, p placed) *matrix {
	m := &matrix{l: l, x: x, p: p}
	m.free, m.k = x.axes(i, p)
	var bases []int
	for _, b := range x.at.Warp[2:] {
		bases = append(bases, p.of(x.dims, b))
	}
	m.from = p.mem
	if more := l.linear(l.b.LShr(l.warp(), l.i32(2)), bases); more != nil {
		m.from = l.b.Within(m.from, more)
	}
	return m
}

// at is the part from row or column n, and step k, on.
func (m *matrix) at(n, k int) thread.Matrix {
	at := make([]int, 2)
	at[m.free], at[m.k] = n, k
	in := m.p.in
	e := m.p.mem.Elem.Bytes()
	rows := in.Bits[m.free][0] == 1
	out := thread.Matrix{At: m.from.Plus(int64(in.Of(at))), Span: in.Span, Rows: rows, Stride: 8 * in.Span}
	if rows {
		out.Lead = in.Span * in.Elems * e / (in.Sizes[m.free] * e) // a span of each step
	}
	return out
}

// multiplyGroups starts the products of tiles of 16 or 8 bits, on top of registers that it changes: of so many
// rows and columns as an instruction has the steps of the contracted range, one after the other. The left
// operand is in registers where regs is not nil.
func (l *lowering) multiplyGroups(x product, left, right placed, regs, acc []*thread.Value) {
	e, f := l.operandElem(x.o.Args[0]), l.operandElem(x.o.Args[1])
	var rows *matrix
	if regs == nil {
		rows = l.matrix(x, 0, left)
	}
	cols := l.matrix(x, 1, right)
	over := l.size(x.over[0])
	count := 8 // columns of a warpgroup
	for _, b := range x.at.Reg {
		if n := b[x.free[1]]; n > 0 {
			count = max(count, 2*n)
		}
	}
	piece := min(count, groupCols)
	for k := 0; k < over; k += x.steps {
		for r := 0; r < len(acc); r += piece / 2 {
			m, n := x.at.Offset(r, x.free[0]), x.at.Offset(r, x.free[1])
			if regs == nil {
				l.b.MultiplyGroup(e, f, nil, rows.at(m, k), cols.at(n, k), acc[r:r+piece/2])
				continue
			}
			first := (m/groupRows*over + k) / 4 // of the packed registers: 16 rows by as many steps are 4
			l.b.MultiplyGroup(e, f, regs[first:first+4], thread.Matrix{}, cols.at(n, k), acc[r:r+piece/2])
		}
	}
}

// weights are the registers of the left operand of x in pairs, if it is computed of what threads have as
// the instruction takes it, or nil.
func (l *lowering) weights(x product) []*thread.Value {
	v := x.o.Args[0]
	groups := l.warps / groupWarps
	m, over := l.size(x.dims[x.free[0]]), l.size(x.over[0])
	if _, shared := l.placed[v]; shared || x.fp8() || v.Type.Dims[1] != x.over[0] || m < groups*groupRows {
		return nil
	}
	at := layout.Groups(m, over, l.warps)
	if !l.own(v).Equal(at) {
		return nil
	}
	e := l.operandElem(v)
	y := l.complete(v, at)
	out := make([]*thread.Value, len(y)/2)
	for i := range out {
		out[i] = l.b.Pack(e, y[2*i], y[2*i+1])
	}
	return l.b.Sums(out)
}

// dotGroups multiplies x by matrix instructions of warpgroups. In a loop of nothing but products it does not wait
// for them, and the registers of the sums stay what they are.
func (l *lowering) dotGroups(x product) []*thread.Value {
	o := x.o
	var regs []*thread.Value
	if !l.flying {
		regs = l.weights(x)
	}
	var left placed
	if regs == nil {
		left = l.share(o.Args[0], l.memory(x, 0))
	}
	right := l.share(o.Args[1], l.memory(x, 1))
	acc := l.sums(x)
	if l.flying && (slices.Contains(l.carry, o.Args[2]) || o.Args[2].Def != nil && o.Args[2].Def.Kind == tile.Dot) {
		l.multiplyGroups(x, left, right, regs, acc)
		return acc
	}
	acc = l.b.Sums(acc)
	l.b.FenceProducts()
	l.multiplyGroups(x, left, right, regs, acc)
	if !l.flying {
		l.b.CommitProducts()
		l.b.AwaitProducts(0)
	}
	return acc
}
