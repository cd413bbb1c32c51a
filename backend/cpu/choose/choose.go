package choose

import (
	"ptc/backend/tile/schedule"
	"ptc/ir/fusion"
)

// Schedule is the one of k for a processor with vectors of so many f32: enough tasks for
// many threads, each of them worth a call.
func Schedule(k *fusion.Kernel, lanes int64) schedule.Schedule {
	switch k.Class {
	case fusion.Map:
		return ofMap(k.Loops(k.Space), lanes)
	case fusion.Row:
		return schedule.Schedule{Rows: 1, Grid: tasksOf(k.Loops(k.Kept()), fusion.Iterations(k.Loops(k.Reduce)))}
	case fusion.Column:
		return ofColumn(k.Loops(k.Kept()), lanes)
	case fusion.Pieces:
		return ofPieces(k)
	case fusion.Scatter:
		return ofScatter(k, lanes)
	case fusion.Attend:
		return schedule.Schedule{} // the lowering's own, as it knows the caches
	}
	// How a product is blocked and packed is the lowering's own as well.
	return schedule.Schedule{Rows: 48, Cols: 4 * lanes, Over: 256, Grid: -1}
}

func ofMap(loops []fusion.Loop, lanes int64) schedule.Schedule {
	switch len(loops) {
	case 0:
		return schedule.Schedule{}
	case 1: // whole vectors, few enough that many threads share the work
		n, unit := loops[0].Size, 4*lanes
		block := (n/64 + unit - 1) / unit * unit
		return schedule.Schedule{Cols: max(unit, min(max(block, 2048), 1<<15))}
	}
	n := len(loops) - 1
	return schedule.Schedule{Rows: 1, Grid: tasksOf(loops[:n], loops[n].Size)}
}

func ofColumn(kept []fusion.Loop, lanes int64) schedule.Schedule {
	outer, inner := int64(1), int64(1)
	if n := len(kept) - 1; n >= 0 {
		outer, inner = fusion.Iterations(kept[:n]), kept[n].Size
	}
	u := int64(4)
	for u > 1 && outer*((inner+u*lanes-1)/(u*lanes)) < 16 {
		u /= 2
	}
	return schedule.Schedule{Rows: 1, Cols: u * lanes, Over: 1, Grid: -1}
}

func ofPieces(k *fusion.Kernel) schedule.Schedule {
	out := k.Root.Result().Type
	at := out.Index(k.Root.Attrs.Text("axis"))
	inner := int64(out.Axes[at].Size) * fusion.Iterations(fusion.Each(out.Axes[at+1:]))
	return schedule.Schedule{Rows: 1, Grid: tasksOf(fusion.Each(out.Axes[:at]), inner)}
}

func ofScatter(k *fusion.Kernel, lanes int64) schedule.Schedule {
	s := schedule.Schedule{Over: 1}
	if own := k.Scattering().Own; len(own) > 0 {
		s.Cols = lanes
		for s.Cols*2*8 <= own[0].Size {
			s.Cols *= 2
		}
	}
	return s
}

// tasksOf is how many of the outermost loops number the tasks: enough to balance many
// threads, but no more than useful.
func tasksOf(loops []fusion.Loop, inner int64) int64 {
	const enough, minWork = 64, 4096
	tasks, n := int64(1), int64(0)
	work := inner * fusion.Iterations(loops)
	for n < int64(len(loops)) && tasks < enough && (tasks == 1 || work/tasks > minWork) {
		tasks *= loops[n].Size
		n++
	}
	return n
}
