package choose

import (
	"ptc/backend/tile/schedule"
	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Blocks of products. A block of 128 × 128 reads 1/64 of an element for each multiplication, which is
// what the second cache of a GPU sustains; fewer rows or columns leave threads without work.
const (
	productRows = 128
	productCols = 128
	wideCols    = 256
	// missingShare: wide blocks may have so large a share of columns that do not exist. What blocks of 128 columns
	// read more of the left operand is the same for any number of columns.
	missingShare = 64
	// enoughTasks is how many blocks a grid has at least before blocks become larger: about as many as
	// a large GPU has multiprocessors.
	enoughTasks = 128
	// fewRows is how many rows, or columns, are too few for a matrix instruction to pay.
	fewRows = 16
	// fewCols is from how many columns and steps on it takes zeros for those that are missing.
	fewCols = 4
	// rasterRows is how many blocks of rows take turns: of the blocks that run at a time on a large GPU, two for each
	// multiprocessor, about as many as there are columns side by side.
	rasterRows = 16
	// groupRows is how many rows a matrix instruction of a warpgroup has, leastCols how many columns at least, and
	// groupWarps how many warps.
	groupRows  = 64
	leastCols  = 8
	groupWarps = 4
	// mostParts is the most blocks of a cluster that every GPU with clusters allows, and leastIterations the fewest
	// that are worth a part: copies are three iterations ahead, so with fewer a part would only wait for its first one.
	mostParts       = 8
	leastIterations = 4
)

// ofProduct is the schedule of a product: matrix instructions for numbers of 16 bits, of warpgroups
// where there are such and the product is large enough for them, register tiles of multiply-adds for
// others, and copies of some iterations ahead.
func ofProduct(k *fusion.Kernel, on GPU) schedule.Schedule {
	x := k.Contraction
	m, n, over := fusion.Iterations(x.M), fusion.Iterations(x.N), fusion.Iterations(x.K)
	others := fusion.Iterations(x.Outer)
	fp8 := x.Left.Type.DType.IsScaled()
	narrow := x.Left.Type.DType.Size() == 2 || fp8
	// Floats of eight bits are multiplied by instructions that take twice as many steps, or as bf16.
	steps, size := int64(16), int64(x.Left.Type.DType.Size())
	switch {
	case fp8 && on.FP8:
		steps = 32
	case fp8:
		size = 2
	}
	s := schedule.Schedule{Grid: -1, Left: schedule.PerTask, Right: schedule.PerTask}
	s.Rows, s.Cols = min(productRows, ceilPower(m)), min(productCols, ceilPower(n))
	tasks := func() int64 { return others * ((m + s.Rows - 1) / s.Rows) * ((n + s.Cols - 1) / s.Cols) }
	groups := on.Groups && narrow && m >= groupRows && n >= fewCols && over >= fewCols
	least := int64(64)
	if min(m, n) <= fewRows && !groups { // what is read decides, so many blocks read
		least = 32
	}
	for tasks() < enoughTasks && max(s.Rows, s.Cols) > least {
		if s.Rows >= s.Cols {
			s.Rows /= 2
		} else {
			s.Cols /= 2
		}
	}
	// Of the last block of wide ones, columns that there are not cost as much as others.
	missing := (n+wideCols-1)/wideCols*wideCols - n
	wide := missing*missingShare <= n && s.Cols == productCols && s.Rows == productRows && tasks() >= 4*enoughTasks
	switch {
	case groups: // with zeros for the columns and steps that an instruction has and the product has not
		// The products of an iteration are under way in the next one, which takes a slot more.
		s.Dot = schedule.Dot{Kind: schedule.WGMMA, M: groupRows, N: max(leastCols, s.Cols), K: steps}
		s.Over, s.Stages = min(4*steps, ceilPower(over)), 4
		switch copied := copied(k, x.Left) && copied(k, x.Right); {
		case copied && wide && !on.Section: // an operand that is computed takes the registers
			s.Cols, s.Dot.N = wideCols, wideCols
		case copied && s.Rows*s.Cols == productRows*productCols: // so that a multiprocessor has memory for two blocks
			s.Stages = 3
		}
	case narrow && m >= fewRows && n >= fewCols && over >= fewCols:
		s.Dot = schedule.Dot{Kind: schedule.MMA, M: 16, N: 8, K: steps}
		s.Over, s.Stages = 2*steps, 4
		if wide {
			s.Cols, s.Stages = wideCols, 3
		}
	default:
		s.Over, s.Stages = 16, 3
		// Where rows and columns are few, threads have long reads instead.
		for area := s.Rows * s.Cols; s.Over < 128 && s.Over*area <= 512*64; {
			s.Over *= 2
		}
	}
	fitShared(&s, on.Shared, steps, size)
	if blocks := func(n, of int64) int64 { return (n + of - 1) / of }; blocks(m, s.Rows) > 1 && blocks(n, s.Cols) > 1 && tasks() > 2*enoughTasks {
		s.Raster, s.Group = schedule.Grouped, rasterRows
	}
	if wgmma := s.Dot.Kind == schedule.WGMMA; wgmma && on.Tensor && s.Cols == wideCols && on.Processors > 0 {
		// One such block fits a multiprocessor. Nothing would multiply there while it stores its 64 KiB, for which
		// the multiprocessor's share of the memory takes as long as 200 steps of the contracted axis, or waits for its
		// first copies; so blocks stay, and a producer copies for the next task meanwhile.
		s.Producers, s.Persistent = 1, on.Processors
	} else if on.Clusters && len(x.OuterK) == 0 {
		s.Cluster = parts(tasks(), (over+s.Over-1)/s.Over, on.Processors)
	}
	// A thread has 32 sums at least, and no more than as many elements of an operand that is computed.
	s.Warps = min(blockWarps, max(1, s.Rows*s.Cols/(32*32), max(s.Rows, s.Cols)*s.Over/(32*32)))
	if groups {
		s.Warps = max(s.Warps, groupWarps)
	}
	s.Rows, s.Cols, s.Over = min(s.Rows, m), min(s.Cols, n), min(s.Over, over)
	return s
}

// fitShared takes stages, and then steps of an iteration, from s, until its copies of elements of size fit shared bytes,
// if these are known.
func fitShared(s *schedule.Schedule, shared, steps, size int64) {
	large := func() bool { return shared > 0 && s.Stages*(s.Rows+s.Cols)*s.Over*size > shared }
	for s.Stages > 2 && large() {
		s.Stages--
	}
	for s.Over > steps && large() { // few columns beside many rows, of long reads
		s.Over /= 2
	}
}

// parts is how many blocks share each of so few tasks that most multiprocessors would have none: as many as there is room
// for, of leastIterations iterations of the loop at least, which take longer than to add up sums through shared memory. 0 is one.
func parts(tasks, iterations, processors int64) int64 {
	n := int64(1)
	for n < mostParts && 2*n*tasks <= processors && iterations >= 2*n*leastIterations {
		n *= 2
	}
	if n == 1 {
		return 0
	}
	return n
}

// copied reports whether v is only read, and lies such that copies of 16 bytes bring it.
func copied(k *fusion.Kernel, v *ir.Value) bool {
	w, view := k.Views[v]
	if !view {
		return false
	}
	each := dtype.Elems(v.Type.DType, 16)
	if w.Offset%each != 0 {
		return false
	}
	for _, a := range w.Axes {
		if a.Stride%each != 0 && a.Stride != 1 || a.Stride == 1 && (a.Size+each-1)/each*each > a.Size+a.Pad {
			return false
		}
	}
	return true
}
