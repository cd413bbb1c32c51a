package lower

import (
	"cmp"
	"slices"

	"ptc/backend/cpu/attention"
	"ptc/backend/cpu/gemm"
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/ir/fusion"
)

// Choices lists schedules of k, which has no sections, that are worth measuring on m. The
// first is the one that [Kernel] takes by itself. There is none where nothing is left to
// choose, as for elementwise work.
func Choices(k *fusion.Kernel, m kernel.Machine) ([]schedule.Schedule, error) {
	switch k.Class {
	case fusion.Gemm:
		return choicesOfProduct(k, m)
	case fusion.Attend:
		return choicesOfAttention(k, m)
	}
	return nil, nil
}

func choicesOfProduct(k *fusion.Kernel, m kernel.Machine) (out []schedule.Schedule, err error) {
	spec, err := specOf(k, m)
	if err != nil {
		return nil, err
	}
	list, err := gemm.Choices(spec, m)
	for _, b := range list {
		out = append(out, scheduleOf(b))
	}
	return append(out, inPartsToTry(k, m)...), err
}

// inPartsToTry are schedules of product k in parts, those that are estimated best. Blocks
// of these are the kernel's that sums the parts.
func inPartsToTry(k *fusion.Kernel, m kernel.Machine) (out []schedule.Schedule) {
	const most, lost = 2, -0.1
	if k.Parted() {
		return nil
	}
	all := inParts(k, m)
	slices.SortStableFunc(all, func(a, b cutting) int { return cmp.Compare(b.saves, a.saves) })
	for _, c := range all {
		if len(out) < most && c.saves > lost {
			out = append(out, schedule.Schedule{Split: c.n})
		}
	}
	return out
}

func choicesOfAttention(k *fusion.Kernel, m kernel.Machine) (out []schedule.Schedule, err error) {
	x, err := attendingOf(k.F.Name, k, schedule.Schedule{}, m)
	if err != nil {
		return nil, err
	}
	list, err := attention.Choices(x.spec, m)
	for _, b := range list {
		out = append(out, schedule.Schedule{Rows: b.Rows, Over: b.Keys, Task: b.Task})
	}
	return out, err
}

// blocksOf are the sizes that s gives, or nil where it leaves them to the generator.
func blocksOf(s schedule.Schedule) *gemm.Blocks {
	if s.Dot.M == 0 || s.Dot.N == 0 {
		return nil
	}
	return &gemm.Blocks{TileRows: s.Dot.M, TileCols: s.Dot.N, Depth: whole(s.Over), Rows: whole(s.Rows), Cols: whole(s.Cols)}
}

// whole is the size of a block, of which 0 is all.
func whole(n int64) int64 {
	if n == 0 {
		return gemm.Whole
	}
	return n
}

// scheduleOf is the schedule whose blocks are b.
func scheduleOf(b gemm.Blocks) schedule.Schedule {
	return schedule.Schedule{Rows: b.Rows, Cols: b.Cols, Over: b.Depth, Grid: -1, Dot: schedule.Dot{M: b.TileRows, N: b.TileCols, K: 1}}
}
