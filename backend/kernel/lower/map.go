package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// mapped generates elementwise kernels: the last loop is the vector axis.
func (g *gen) mapped() (*kernel.Kernel, error) {
	dims := g.dims(g.k.Space)
	if len(dims) == 0 {
		g.begin(1)
		g.storeAll()
		return g.b.Finish()
	}
	lastDim := dims[len(dims)-1]
	if len(dims) == 1 {
		return g.flat(lastDim)
	}
	outer, inner, tasks := tasksOf(dims[:len(dims)-1], lastDim.size)
	g.begin(tasks)
	body := g.body()
	g.hoist(body)(dims)
	g.position(outer, g.taskValue())
	g.nest(inner, func(dims []dim) { g.hoist(body)(append(dims[:len(dims):len(dims)], lastDim)) }, func() {
		g.hoist(body)([]dim{lastDim})
		g.sweep(lastDim, kernel.Int(0), lastDim.size, g.storeAll)
	})
	return g.b.Finish()
}

// flat generates a kernel of one loop, cut into blocks.
func (g *gen) flat(d dim) (*kernel.Kernel, error) {
	block := g.block(d.size)
	tasks := (d.size + block - 1) / block
	g.begin(tasks)
	g.hoist(g.body())([]dim{d})
	lo := g.b.Task().Mul(block)
	rest := d.size - (tasks-1)*block
	if rest == block {
		g.sweep(d, lo, block, g.storeAll)
		return g.b.Finish()
	}
	t := g.taskValue()
	full := g.b.Lt(t, g.b.ConstInt(t.Type, tasks-1))
	g.b.If(full,
		func() []*kernel.Value { g.within(func() { g.sweep(d, lo, block, g.storeAll) }); return nil },
		func() []*kernel.Value { g.within(func() { g.sweep(d, lo, rest, g.storeAll) }); return nil })
	return g.b.Finish()
}

// block is the number of elements of a task: whole vectors, few enough that
// many threads share the work, many enough that a task is worth a call.
func (g *gen) block(n int64) int64 {
	unit := 4 * g.vectorLanes()
	block := (n/64 + unit - 1) / unit * unit
	return max(unit, min(max(block, 2048), 1<<15))
}

// vectorLanes is the number of f32 lanes of a vector; all other types follow.
func (g *gen) vectorLanes() int64 { return int64(g.m.Lanes(kernel.F32)) }

// body lists the operations that compute.
func (g *gen) body() []*ir.Op {
	var out []*ir.Op
	for _, o := range g.k.F.Ops {
		if _, view := g.k.Views[o.Result()]; !view {
			out = append(out, o)
		}
	}
	return out
}

// storeAll computes every result at the present position, and then stores
// them: one may lie over an argument that another is computed from.
func (g *gen) storeAll() {
	out := make([]*kernel.Value, len(g.k.F.Results))
	for i, r := range g.k.F.Results {
		out[i] = g.value(r.Value)
	}
	for i, x := range out {
		g.store(i, x)
	}
}

// unroll is how many vectors a sweep takes at a time: a few where there is little work
// on each, one where that work fills the processor's registers and queues by itself.
func (g *gen) unroll() int {
	const long = 24
	var flops int64
	for _, o := range g.body() {
		flops += op.Of(o).Flops(o) / int64(max(1, o.Result().Type.Elems()))
	}
	if flops > long {
		return 1
	}
	return 4
}

// sweep runs body over positions lo..lo+n-1 of d, a vector at a time: whole
// vectors in a loop, then the tail under a mask.
func (g *gen) sweep(d dim, lo kernel.Index, n int64, body func()) {
	lanes := g.vectorLanes()
	at := func(i kernel.Index) {
		g.within(func() {
			g.set(d, coord{idx: i, vec: true})
			body()
		})
	}
	g.lanes = int(lanes)
	whole := n / lanes * lanes
	if whole > 0 {
		g.b.For(kernel.Between(lo, lo.Plus(whole)).By(lanes).Unrolled(g.unroll()), at)
	}
	if n > whole {
		g.mask = g.b.TailMask(kernel.Int(n-whole), int(lanes))
		at(lo.Plus(whole))
		g.mask = nil
	}
	g.lanes = 1
}
