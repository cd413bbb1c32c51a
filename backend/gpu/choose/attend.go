package choose

import (
	"slices"

	"ptc/backend/tile/schedule"
	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// What a block of threads may have of an attention.
const (
	attendBlock = 64 // queries, and keys, at a time
	attendLeast = 16
	// attendRegs is how many registers of a thread are for scores and sums: half of what one has.
	attendRegs = 128
	// attendShared is how many bytes of operands and weights there may be: a block of any target
	// has 99 KiB, of which exchanges between threads take the rest.
	attendShared = 80 << 10
	// randomRegs is how many registers of a thread random numbers, as those of dropout, take besides.
	randomRegs = 48
)

// ofAttend has 64 queries and keys at a time where registers and shared memory hold that,
// with eight warps if four have too few registers, and else smaller blocks. Operands are copied by
// each task, those of the next block ahead if there is memory for both. Numbers of 16 bits are
// multiplied by matrix instructions.
func ofAttend(k *fusion.Kernel, on GPU) schedule.Schedule {
	s := schedule.Schedule{Rows: attendBlock, Over: attendBlock, Warps: 4, Left: schedule.PerTask, Right: schedule.PerTask, Stages: 2}
	s.Dot = schedule.Dot{Kind: schedule.MMA, M: 16, N: 8, K: 16}
	if on.Groups {
		s.Dot = schedule.Dot{Kind: schedule.WGMMA, M: 64, N: 64, K: 16}
	}
	for s.Rows > attendLeast || s.Over > attendLeast {
		regs, shared := attendNeeds(k, s)
		shared += on.Spare
		switch {
		case shared <= attendShared && regs <= attendRegs:
			return s
		case shared > attendShared && s.Stages > 1:
			s.Stages = 1
		case shared <= attendShared && s.Warps < blockWarps:
			s.Warps = blockWarps
		case s.Over >= s.Rows:
			s.Over, s.Warps, s.Stages = s.Over/2, 4, 2
		default:
			s.Rows, s.Warps, s.Stages = s.Rows/2, 4, 2
		}
	}
	s.Warps, s.Stages = blockWarps, 1
	return s
}

// LeastShared estimates the bytes of shared memory that an attention takes with the fewest queries and keys at a time.
func LeastShared(k *fusion.Kernel) int64 {
	_, shared := attendNeeds(k, schedule.Schedule{Rows: attendLeast, Over: attendLeast, Warps: blockWarps, Stages: 1})
	return shared
}

// attendNeeds estimates what the largest of the parts of k takes as s cuts it: registers of a
// thread, and bytes of shared memory.
func attendNeeds(k *fusion.Kernel, s schedule.Schedule) (regs, shared int64) {
	a := k.Attention
	rows, keys := int64(1), ceilPower(min(s.Over, int64(a.Key.Size)))
	for _, d := range k.Loops(a.Rows) {
		rows = max(rows, ceilPower(min(s.Rows, d.Size)))
	}
	block := func(v *ir.Value) int64 { // elements of an operand
		n := rows
		if v.Type.Has(a.Key.Name) {
			n = keys
		}
		for _, x := range v.Type.Axes {
			if !slices.ContainsFunc(k.Space, func(y ir.Axis) bool { return x.Name == y.Name }) {
				n *= ceilPower(int64(x.Size))
			}
		}
		return n
	}
	for _, outs := range a.Groups() {
		overKeys := outs[0].Over == fusion.OverKeys
		elems, bytes := int64(len(a.Into)+1)*rows*keys, int64(0)
		seen := map[*ir.Value]bool{}
		slots := func(v *ir.Value) int64 { // that iterations of the loop fill before they read
			if v.Type.Has(a.Key.Name) == overKeys {
				return s.Stages
			}
			return 1
		}
		share := func(v *ir.Value, n int64) {
			if !seen[v] {
				seen[v] = true
				bytes += dtype.Bytes(v.Type.DType, n)
			}
		}
		for _, o := range a.Into {
			for _, v := range o.Args {
				share(v, block(v)*slots(v))
			}
		}
		for _, o := range outs {
			share(o.Weights, rows*keys)
			share(o.Of, block(o.Of)*slots(o.Of))
			elems += block(o.Result())
		}
		regs, shared = max(regs, elems/(32*s.Warps)), max(shared, bytes)
	}
	if slices.ContainsFunc(k.F.Ops, func(o *ir.Op) bool { return o.Name == op.Random }) {
		regs += randomRegs
	}
	return regs, shared
}
