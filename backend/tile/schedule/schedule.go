package schedule

// Schedule says how a kernel is cut and what its pieces are made of. It is comparable:
// two equal schedules of a kernel on one target are one program. The zero value is a
// schedule: whole axes, one stage, fused multiply-adds, nothing packed.
type Schedule struct {
	// Sizes of blocks by the role of an axis; 0 is the whole axis.
	Rows int64 // the second innermost axis of the result: M of a product, queries of an attention
	Cols int64 // the innermost axis of the result: N of a product
	Over int64 // the innermost axis that is reduced or contracted: K of a product, keys of an attention
	// Task is how many rows of an attention are one task's, in whole blocks.
	Task int64
	// Grid is how many of the axes outside of rows and columns number the tasks, from
	// the outermost; the others are loops in a task. -1 is all.
	Grid int64
	// Raster is the order of tasks.
	Raster Raster
	// Group, of a raster in groups, is how many blocks of rows take turns.
	Group int64
	Dot   Dot
	// Left and Right say where the operands of a product are packed.
	Left, Right Pack
	// Stages is how many steps' copies are in flight; 0 and 1 are one.
	Stages int64
	// Split is the number of parts of an axis that are summed on their own and added up
	// in order; 0 and 1 are one. Of a product these are two kernels (ir/fusion, InParts), and
	// the rest of the schedule is not looked at: each of them has one of its own.
	Split int64
	// Warps is how many share a task on a GPU, a power of two; 0 leaves it to the lowering.
	Warps int64
	// Producers is how many warpgroups beside them only copy ahead what the others multiply.
	Producers int64
	// Persistent is how many blocks of a GPU's threads take tasks in turn, where there are producers; 0 is a
	// block for each task.
	Persistent int64
	// Cluster is how many blocks of a GPU's threads share a task: each sums a part of the contracted axis, and one of
	// them adds up the sums in order. 0 and 1 are one.
	Cluster int64
}

// Raster is the order in which tasks visit blocks.
type Raster uint8

// The rasters.
const (
	RowMajor Raster = iota // columns vary fastest
	ColMajor               // rows vary fastest
	Grouped                // rows vary fastest within groups of them, then columns
)

// Pack says how often an operand is copied into the layout that its product wants.
type Pack uint8

// The ways to pack.
const (
	None     Pack = iota // not: it is read where it is
	PerTask              // by each task that uses it
	PerPhase             // once, by a phase before, into work memory
)

// DotKind is the instruction that multiplies.
type DotKind uint8

// The kinds of dot.
const (
	FMA   DotKind = iota // fused multiply-adds of vectors
	Pair                 // instructions that sum pairs or quadruples of narrow products
	MMA                  // a warp's matrix instruction on registers
	WGMMA                // four warps' matrix instruction on shared memory
)

// Dot is a kind with the tile of the result, and the depth, that one instruction or
// one set of registers holds. Zeros leave the tile to the lowering.
type Dot struct {
	Kind    DotKind
	M, N, K int64
}
