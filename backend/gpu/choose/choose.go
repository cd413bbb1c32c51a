package choose

import (
	"ptc/backend/gpu/target"
	"ptc/backend/tile/schedule"
	"ptc/ir/fusion"
)

// Blocks of threads, of elementwise work and reductions: a thread has four elements of each tile,
// as one access of 16 bytes to f32.
const (
	blockWarps = 8
	blockTile  = 4 * 32 * blockWarps
	// wholeRow is the longest row of which a block has all: 32 elements of a thread.
	wholeRow = 8 * blockTile
	// rowOfWarp is the longest row that a warp holds, so that its sums need no barrier: as long.
	rowOfWarp = 32 * 32
	// rowsAtOnce is how much of a longer row it has at a time.
	rowsAtOnce = 2 * blockTile
)

// GPU is what a schedule depends on besides the kernel.
type GPU struct {
	Groups     bool  // matrix instructions of four warps, which read shared memory (schedule.WGMMA)
	Tensor     bool  // copies of tiles by one thread
	Section    bool  // the product shares its launch with others, for which blocks of a size that fills a multiprocessor leave none
	FP8        bool  // matrix instructions of floats of eight bits
	Clusters   bool  // blocks that reach each other's shared memory
	Shared     int64 // bytes of shared memory that a block may have; 0 if that is not known
	Processors int64 // multiprocessors; 0 if that is not known
	Spare      int64 // bytes of shared memory that an attention or a product leaves besides those that it leaves for exchanges
	Less       int   // how often other kernels are made smaller, as an earlier schedule took too much
}

// On is what a target offers to a kernel of so many sections, which are not of one size and so have no clusters.
func On(t target.Target, sections int) GPU {
	return GPU{
		Groups: t.Has(target.WGMMA), Tensor: t.Tensor, FP8: t.FP8, Clusters: t.Clusters && sections == 1, Section: sections > 1,
		Shared: int64(t.Shared), Processors: int64(t.Processors),
	}
}

// Schedule is the one of k for a GPU: tiles that a block of threads holds in registers, and as
// many blocks as there are tiles.
func Schedule(k *fusion.Kernel, on GPU) schedule.Schedule {
	switch k.Class {
	case fusion.Map:
		return smaller(ofMap(k.Loops(k.Space)), on.Less)
	case fusion.Row:
		return smaller(ofRow(k.Loops(k.Kept()), k.Loops(k.Reduce)), on.Less)
	case fusion.Column:
		return smaller(ofColumn(k.Loops(k.Kept()), k.Loops(k.Reduce), on), on.Less)
	case fusion.Pieces:
		return smaller(ofPieces(k), on.Less)
	case fusion.Scatter:
		return smaller(ofScatter(k), on.Less)
	case fusion.Attend:
		return ofAttend(k, on)
	}
	if on.Shared > 0 {
		on.Shared = max(1, on.Shared-on.Spare)
	}
	return ofProduct(k, on)
}

// smaller is s with fewer threads in a block, and fewer rows, so many times by half: what
// they exchange takes shared memory.
func smaller(s schedule.Schedule, times int) schedule.Schedule {
	for range times {
		s.Cluster = 0
		s.Warps, s.Rows = max(1, s.Warps/2), max(1, s.Rows/2)
		if s.Split > 1 {
			s.Split /= 2
		}
	}
	return s
}

func ofMap(loops []fusion.Loop) schedule.Schedule {
	s := schedule.Schedule{Grid: -1, Rows: 1, Warps: blockWarps}
	if n := len(loops); n > 0 {
		s.Cols = min(loops[n-1].Size, blockTile)
		if n > 1 {
			s.Rows = min(loops[n-2].Size, max(1, blockTile/ceilPower(s.Cols)))
		}
		s.Warps = warpsFor(ceilPower(s.Cols) * ceilPower(s.Rows))
	}
	return s
}

// ofRow has rows that a warp holds, each in a warp of its own; longer ones in all warps of a
// block, and those that do not fit in there piece by piece.
func ofRow(kept, reduced []fusion.Loop) schedule.Schedule {
	s := schedule.Schedule{Grid: -1, Rows: 1}
	all, rows := int64(1), int64(1)
	for _, d := range reduced {
		all *= ceilPower(d.Size)
	}
	if n := len(kept); n > 0 {
		rows = kept[n-1].Size
	}
	switch {
	case all > wholeRow:
		s.Over = min(rowsAtOnce, reduced[len(reduced)-1].Size)
		s.Warps = warpsFor(ceilPower(s.Over))
	case all <= rowOfWarp && rows > 1:
		s.Rows = min(rows, max(blockWarps, blockTile/2/all))
		s.Warps = min(blockWarps, ceilPower(s.Rows+1)/2)
	default:
		s.Warps = warpsFor(all)
	}
	return s
}

// ofColumn has as many adjacent threads as read whole sectors, and the others in
// them at further positions of what is reduced. Where columns are few, blocks of a cluster share them.
func ofColumn(kept, reduced []fusion.Loop, on GPU) schedule.Schedule {
	s := schedule.Schedule{Grid: -1, Rows: 1, Over: 1, Warps: blockWarps}
	cols := int64(1)
	if n := len(kept); n > 0 {
		s.Cols = min(kept[n-1].Size, 32)
		cols = ceilPower(s.Cols)
	}
	if n := len(reduced); n > 0 {
		last := reduced[n-1].Size
		for s.Split = blockTile / cols; s.Split > 1 && last%s.Split != 0; {
			s.Split /= 2
		}
		s.Over = min(4, last/max(1, s.Split))
		if iterations := reduced[0].Size; on.Clusters && s.Cols > 0 {
			if len(reduced) == 1 {
				iterations = last / max(1, s.Split) / max(1, s.Over)
			}
			cols := kept[len(kept)-1].Size
			s.Cluster = parts(fusion.Iterations(kept)/cols*((cols+s.Cols-1)/s.Cols), iterations, on.Processors)
		}
	}
	return s
}

// ofPieces has blocks of what is behind the axis, and so many positions along it as make a tile of them. Where
// nothing is behind it, a block has as many rows of the longest piece as make one: what all of these rows share, as the
// angles of a rotary embedding, which its heads share, is computed once.
func ofPieces(k *fusion.Kernel) schedule.Schedule {
	out := k.Root.Result().Type
	at := out.Index(k.Root.Attrs.Text("axis"))
	s := schedule.Schedule{Rows: 1, Cols: blockTile, Grid: -1, Warps: blockWarps}
	if after := fusion.Each(out.Axes[at+1:]); len(after) > 0 {
		s.Over = min(after[len(after)-1].Size, blockTile)
		s.Cols = blockTile / ceilPower(s.Over)
		return s
	}
	longest := int64(1)
	for _, p := range k.Pieces() {
		longest = max(longest, p.Size)
	}
	s.Cols = min(longest, blockTile)
	if before := fusion.Each(out.Axes[:at]); len(before) > 0 {
		s.Rows = min(before[len(before)-1].Size, blockTile/ceilPower(s.Cols))
	}
	s.Warps = max(1, warpsFor(ceilPower(s.Cols)*ceilPower(s.Rows))/4) // each of which computes the angles
	return s
}

// ofScatter has tasks own so many positions of what is looked up that there are a few tasks for
// each multiprocessor, and few enough updates for each to find.
func ofScatter(k *fusion.Kernel) schedule.Schedule {
	loops := k.Scattering()
	own := loops.Own
	s := schedule.Schedule{Rows: 32, Over: 128, Warps: blockWarps, Task: max(1, loops.Axis.Size/ownersOfScatter)}
	if len(own) > 0 {
		s.Cols = min(own[0].Size, blockTile)
	}
	return s
}

// ownersOfScatter is into how many tasks the positions of a scatter are dealt.
const ownersOfScatter = 512

// warpsFor is how many warps have four elements of a tile in each thread, or more where there are
// enough of them.
func warpsFor(elems int64) int64 { return max(1, min(blockWarps, elems/(4*32))) }

// ceilPower is the least power of two that is at least n.
func ceilPower(n int64) int64 {
	p := int64(1)
	for p < n {
		p *= 2
	}
	return p
}
