package lower

import (
	"slices"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// clustered makes a phase each of whose tasks the blocks of a cluster share: each sums a part of the contracted or reduced
// axis, and the first adds up, in the order of their ranks, what the others have in their shared memory, and stores:
//
//	rank 0:  sum blocks [0, n/2)    │ meet │ add rank 1's │ meet │ store
//	rank 1:  sum blocks [n/2, n)    │ meet │              │ meet │
//
// So nothing but what threads carry is exchanged, and a result is the same in all runs.
type clustered struct {
	*task
	*assign.Cluster
}

func (x *clustered) loop() *tile.Op { return x.Loop }

// run makes the kernel, and gives the number of its blocks.
func (x *clustered) run() int64 {
	x.Launch.Cluster = int(x.Parts)
	x.locate(x.phase, x.Special(thread.Cluster))
	x.shared = x
	x.task.loop(x.Loop)
	x.shared = nil
	x.When(x.leads(), func() { x.within(func() { x.block(x.Rest) }) })
	return assign.Tasks(x.phase.Tile) * x.Parts
}

// leads holds for the first block of the cluster.
func (x *clustered) leads() *thread.Value { return x.Eq(x.Special(thread.Rank), x.i32(0)) }

// iterate makes the iterations of the block's part, and adds up the sums of all.
func (x *clustered) iterate(_, _ *thread.Value, at []*layout.Layout) []*thread.Value {
	rank, all := x.Special(thread.Rank), x.Loop.Range.Blocks()
	share := func(n *thread.Value) *thread.Value { return x.Div(x.Mul(n, x.i32(all)), x.i32(x.Parts)) }
	var kinds []tile.Kind // by register
	for i, l := range at {
		kinds = append(kinds, slices.Repeat(x.Kinds[i:i+1], l.Regs())...)
	}
	return x.addUp(kinds, x.task.iterate(x.Loop, x.phase.Loops[x.Loop], share(rank), share(x.Add(rank, x.i32(1)))))
}

// addUp is, in the first block, the sum of what all have in a register of a thread, or the maximum.
func (x *clustered) addUp(kinds []tile.Kind, own []*thread.Value) (sums []*thread.Value) {
	threads := int64(x.phase.Threads.Lanes * x.phase.Threads.Warps)
	each := 4 // of an access
	for len(own)%each != 0 {
		each /= 2
	}
	x.Overlay(func() {
		mem := x.NewShared(kernel.F32, len(own)*int(threads), 128)
		mine := x.Within(mem, x.Mul(x.Special(thread.Thread), x.i32(int64(each))))
		at := func(s thread.Shared, r int) thread.Shared { return s.Plus(int64(r) * threads) }
		x.Sync() // what was there before has been read
		x.When(x.Lt(x.i32(0), x.Special(thread.Rank)), func() {
			for r := 0; r < len(own); r += each {
				x.StoreShared(at(mine, r), thread.Access{}, own[r:r+each])
			}
		})
		x.SyncCluster()
		sums = x.If(x.leads(), func() []*thread.Value {
			out := slices.Clone(own)
			for rank := int64(1); rank < x.Parts; rank++ {
				from := x.In(mine, x.i32(rank))
				for r := 0; r < len(own); r += each {
					for i, v := range x.LoadCluster(at(from, r), thread.Access{N: each}) {
						out[r+i] = x.fold(kinds[r+i], out[r+i], v)
					}
				}
			}
			return out
		}, func() []*thread.Value { return own })
		x.SyncCluster() // a block that ends takes its memory with it
	})
	return sums
}
