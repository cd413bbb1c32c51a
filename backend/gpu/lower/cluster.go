package lower

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir/op"
)

// clustered is a phase each of whose tasks the blocks of a cluster share: each sums a part of the contracted or reduced
// axis, and the first adds up, in the order of their ranks, what the others have in their shared memory, and stores:
//
//	rank 0:  sum blocks [0, n/2)    │ meet │ add rank 1's │ meet │ store
//	rank 1:  sum blocks [n/2, n)    │ meet │              │ meet │
//
// So nothing but what threads carry is exchanged, and a result is the same in all runs.
type clustered struct {
	*lowering
	ph    *tile.Phase
	o     *tile.Op
	parts int64
	kinds []tile.Kind // of the reductions that the loop carries
}

// mostParts is how many blocks a cluster has at most on all GPUs that have clusters ("CUDA C++ Programming Guide",
// "Thread Block Clusters").
const mostParts = 8

// cluster is ph as blocks of a cluster do it, or nil where the schedule does not want that, or ph is no sum or maximum
// that begins at nothing, of as many turns as there are blocks.
func (l *lowering) cluster(ph *tile.Phase) *clustered {
	parts := l.p.Schedule.Cluster
	if parts < 2 || len(l.p.Phases) != 1 {
		return nil
	}
	if parts > mostParts || parts&(parts-1) != 0 {
		l.fail("found a cluster of %d blocks; expected 2, 4 or 8", parts)
		return nil
	}
	o := only(ph.Body, reductions...)
	if o == nil || o.Range.Blocks() < parts || o.Range.Reversed || len(o.Loop.Carry) == 0 {
		return nil
	}
	x := &clustered{lowering: l, ph: ph, o: o, parts: parts}
	for i, v := range o.Loop.Carry {
		kind, from := carries(o, i), o.Args[i].Def
		if kind == "" || from == nil || from.Kind != tile.Const || from.Const != identity(kind, v.Type.DType) || kindOf(v.Type.DType).Elem != kernel.F32 {
			return nil
		}
		x.kinds = append(x.kinds, kind)
	}
	return x
}

// carries is the reduction that loop o carries as its i-th value, or none: what it, or a loop in it, adds to that, or
// the larger of both.
func carries(o *tile.Op, i int) tile.Kind {
	v := o.Loop.Carry[i]
	d := o.Loop.Body.Yield[i].Def
	with := func(kind tile.Kind) bool { // what the turn has
		return d.Kind == kind && d.Args[0] == v && !uses(d.Args[1], o.Loop.Carry, map[*tile.Value]bool{})
	}
	switch {
	case d == nil:
	case d.Kind == tile.Dot && len(d.Args) == 3 && d.Args[2] == v, with(op.Add):
		return op.ReduceSum
	case with(op.Max):
		return op.ReduceMax
	case d.Kind == tile.For:
		if j := slices.Index(d.Results, o.Loop.Body.Yield[i]); j >= 0 && d.Args[j] == v {
			return carries(d, j)
		}
	}
	return ""
}

// uses reports whether v is computed of one of some values; not, of those seen before.
func uses(v *tile.Value, some []*tile.Value, seen map[*tile.Value]bool) bool {
	if slices.Contains(some, v) {
		return true
	}
	if seen[v] || v.Def == nil {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(v.Def.Args, func(a *tile.Value) bool { return uses(a, some, seen) })
}

func (x *clustered) loop() *tile.Op { return x.o }

// run makes the kernel, and gives the number of its blocks.
func (x *clustered) run() int64 {
	l := x.lowering
	l.b.Entry().Cluster = int(x.parts)
	l.locate(x.ph, l.b.Special(thread.Cluster))
	l.main = x
	l.loop(x.o)
	l.main = nil
	rest := *x.ph.Body
	rest.Ops = slices.DeleteFunc(slices.Clone(rest.Ops), func(o *tile.Op) bool { return o == x.o })
	l.b.When(x.leads(), func() { l.within(func() { l.block(&rest) }) })
	return blocks(x.ph) * x.parts
}

// leads holds for the first block of the cluster.
func (x *clustered) leads() *thread.Value { return x.b.Eq(x.b.Special(thread.Rank), x.i32(0)) }

// turns makes those of the block's part, and adds up the sums of all.
func (x *clustered) turns(_, _ *thread.Value, at []*layout.Layout) []*thread.Value {
	b, rank, all := x.b, x.b.Special(thread.Rank), x.o.Range.Blocks()
	share := func(n *thread.Value) *thread.Value { return b.Div(b.Mul(n, x.i32(all)), x.i32(x.parts)) }
	var kinds []tile.Kind // by register
	for i, l := range at {
		kinds = append(kinds, slices.Repeat(x.kinds[i:i+1], l.Regs())...)
	}
	return x.addUp(kinds, x.lowering.turns(x.o, share(rank), share(b.Add(rank, x.i32(1))), at))
}

// addUp is, in the first block, the sum of what all have in a register of a thread, or the maximum.
func (x *clustered) addUp(kinds []tile.Kind, own []*thread.Value) (sums []*thread.Value) {
	b := x.b
	threads := int64(lanes * x.warps)
	each := 4 // of an access
	for len(own)%each != 0 {
		each /= 2
	}
	b.Overlay(func() {
		mem := b.NewShared(kernel.F32, len(own)*int(threads), 128)
		mine := b.Within(mem, b.Mul(b.Special(thread.Thread), x.i32(int64(each))))
		at := func(s thread.Shared, r int) thread.Shared { return s.Plus(int64(r) * threads) }
		b.Sync() // what was there before has been read
		b.When(b.Lt(x.i32(0), b.Special(thread.Rank)), func() {
			for r := 0; r < len(own); r += each {
				b.StoreShared(at(mine, r), thread.Access{}, own[r:r+each])
			}
		})
		b.SyncCluster()
		sums = b.If(x.leads(), func() []*thread.Value {
			out := slices.Clone(own)
			for rank := int64(1); rank < x.parts; rank++ {
				from := b.In(mine, x.i32(rank))
				for r := 0; r < len(own); r += each {
					for i, v := range b.LoadCluster(at(from, r), thread.Access{N: each}) {
						out[r+i] = x.fold(kinds[r+i], out[r+i], v)
					}
				}
			}
			return out
		}, func() []*thread.Value { return own })
		b.SyncCluster() // a block that ends takes its memory with it
	})
	return sums
}
