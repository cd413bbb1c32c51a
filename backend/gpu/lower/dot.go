package lower

import (
	"slices"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

func init() { effects[tile.Dot] = (*task).dot }

// dot multiplies two tiles in shared memory, on top of sums that threads have in registers.
func (t *task) dot(o *tile.Op) {
	x := t.phase.Product(o)
	if x.Group {
		t.know(o.Result(), x.At, t.dotGroups(x))
		return
	}
	left, right := t.share(o.Args[0], x.In[0]), t.share(o.Args[1], x.In[1])
	acc := t.sums(x)
	if x.Steps > 0 {
		m := matrices{t.code, x, [2]kernel.Elem{t.phase.Elem(o.Args[0]), t.phase.Elem(o.Args[1])}}
		acc = m.multiply(left, right, acc)
	} else {
		f := additions{t.code, t.sizes, left, right}
		acc = f.multiply(x.Over, t.reach(left, x.Dims, x.At), t.reach(right, x.Dims, x.At), acc)
	}
	t.know(o.Result(), x.At, acc)
}

// sums are what the product is added to.
func (s *values) sums(x *assign.Product) []*thread.Value {
	if len(x.Op.Args) == 3 {
		return s.value(x.Op.Args[2], x.At)
	}
	acc := make([]*thread.Value, x.At.Regs())
	for r := range acc {
		acc[r] = s.Const(kernel.Scalar(kernel.F32), 0)
	}
	return acc
}

// dotGroups multiplies x by matrix instructions of warpgroups. In a loop of nothing but products it does not wait
// for them, and the registers of the sums stay what they are.
func (t *task) dotGroups(x *assign.Product) []*thread.Value {
	o := x.Op
	g := groups{code: t.code, x: x, elems: [2]kernel.Elem{t.phase.Elem(o.Args[0]), t.phase.Elem(o.Args[1])}, over: t.phase.Size(x.Over[0])}
	if _, shared := t.placed[o.Args[0]]; x.Weights != nil && t.flight == nil && !shared {
		g.regs = g.pack(t.complete(o.Args[0], x.Weights, 0))
	} else {
		g.left = t.share(o.Args[0], x.In[0])
	}
	g.right = t.share(o.Args[1], x.In[1])
	acc := t.sums(x)
	if t.flight != nil && (slices.Contains(t.flight.Op.Loop.Carry, o.Args[2]) || o.Args[2].Def != nil && o.Args[2].Def.Kind == tile.Dot) {
		g.multiply(acc)
		return acc
	}
	acc = t.Sums(acc)
	t.FenceProducts()
	g.multiply(acc)
	if t.flight == nil {
		t.CommitProducts()
		t.AwaitProducts(0)
	}
	return acc
}

// groups multiplies tiles of 16 or 8 bits by matrix instructions of warpgroups.
type groups struct {
	code
	x           *assign.Product
	elems       [2]kernel.Elem
	over        int             // size of the contracted range
	regs        []*thread.Value // the left operand, packed, or nil where it is in shared memory
	left, right placed
}

// pack is the registers of a left operand that threads have as the instruction takes it, in pairs.
func (g *groups) pack(y []*thread.Value) []*thread.Value {
	out := make([]*thread.Value, len(y)/2)
	for i := range out {
		out[i] = g.Pack(g.elems[0], y[2*i], y[2*i+1])
	}
	return g.Sums(out)
}

// multiply starts the products, on top of registers that it changes: of so many
// rows and columns as an instruction has the steps of the contracted range, one after the other.
func (g *groups) multiply(acc []*thread.Value) {
	x := g.x
	var rows *matrix
	if g.regs == nil {
		rows = g.matrix(0, g.left)
	}
	cols := g.matrix(1, g.right)
	count := 8 // columns of a warpgroup
	for _, b := range x.At.Reg {
		if n := b[x.Free[1]]; n > 0 {
			count = max(count, 2*n)
		}
	}
	piece := min(count, assign.GroupCols)
	for k := 0; k < g.over; k += x.Steps {
		for r := 0; r < len(acc); r += piece / 2 {
			m, n := x.At.Offset(r, x.Free[0]), x.At.Offset(r, x.Free[1])
			if g.regs == nil {
				g.MultiplyGroup(g.elems[0], g.elems[1], nil, rows.at(m, k), cols.at(n, k), acc[r:r+piece/2])
				continue
			}
			first := (m/assign.GroupRows*g.over + k) / 4 // of the packed registers: 16 rows by as many steps are 4
			g.MultiplyGroup(g.elems[0], g.elems[1], g.regs[first:first+4], thread.Matrix{}, cols.at(n, k), acc[r:r+piece/2])
		}
	}
}

// matrix is an operand of a product for a warpgroup, at a position of its own tile.
type matrix struct {
	p       placed
	free, k int
	from    thread.Shared // what the warpgroup reads first
}

// matrix is operand i, which is in p.
func (g *groups) matrix(i int, p placed) *matrix {
	m := &matrix{p: p, from: p.mem}
	m.free, m.k = g.x.Axes(i)
	var bases []int
	for _, b := range g.x.At.Warp[2:] {
		bases = append(bases, p.of(g.x.Dims, b))
	}
	if more := g.linear(g.LShr(g.Special(thread.Warp), g.i32(2)), bases); more != nil {
		m.from = g.Within(p.mem, more)
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
