package memory

import (
	"slices"

	"ptc/ir"
	"ptc/ir/pipeline"
	"ptc/passes/memory/place"
)

// row is what microbatches have each of values that are in use in ticks of the same
// tasks: the whole of it is there as often as microbatches have it at once. In it, the
// time is that of a microbatch: values of which one is read no more when the other one is
// made share bytes.
type row struct {
	tasks   tasks
	ring    int
	bytes   int64 // of one microbatch
	members []*buffer
	whole   *buffer
}

// tasks are those in whose ticks something is in use, by their numbers, in ascending order.
type tasks []taskUse

// taskUse is twice the number of a task in whose ticks something is in use; 1 less where
// it is from the tick before on, as what is received ahead is.
type taskUse int

func (u taskUse) task() int { return int(u+1) / 2 }

func (x tasks) and(y tasks) tasks {
	out := slices.Concat(x, y)
	slices.Sort(out)
	return slices.Compact(out)
}

func (x tasks) has(y tasks) bool { return len(x.and(y)) == len(x) }

// used notes in which tasks each buffer is in use, and what is in it.
func (l *layout) used(elsewhere map[*ir.Value]bool) {
	if l.time.hi < 0 {
		return
	}
	number := map[*ir.Task]int{}
	for i, t := range l.f.Tasks {
		number[t] = i
	}
	note := func(v *ir.Value, u taskUse) {
		if b := l.of[v]; len(b.tasks) == 0 || b.tasks[len(b.tasks)-1] != u {
			b.tasks = append(b.tasks, u) // tasks are in their order
		}
	}
	for i, o := range l.f.Ops {
		use := taskUse(2 * number[o.Task])
		for _, v := range o.Args {
			note(v, use)
		}
		for _, v := range o.Results {
			if o.TickAhead() {
				note(v, use-1)
			}
			note(v, use)
			b := l.of[v]
			b.once = !l.time.perMicro(v)
			b.between = elsewhere[v] && (l.time.mixed(i) || b.to == l.time.finish())
		}
	}
	for _, a := range l.f.Args {
		l.of[a.Value].once = true
	}
}

// kept reports whether every microbatch keeps something in b for another tick of its own.
func (b *buffer) kept() bool { return b.between && !b.once }

// together reports whether c may be written over b, which is read for the last time then,
// by what ticks see of them: what microbatches keep is in order in their own tasks alone.
func (l *layout) together(b, c *buffer) bool {
	switch {
	case !b.kept() && !c.kept():
		return true
	case b.once || c.once || !l.ordered(b.tasks.and(c.tasks)):
		return false
	case b.kept() && c.kept():
		return slices.Equal(b.tasks, c.tasks)
	}
	return b.kept() || b.bytes == c.bytes
}

// ordered reports whether every microbatch has its ticks of tasks in the order of the
// text.
func (l *layout) ordered(of tasks) bool {
	for _, x := range l.orders {
		if slices.Equal(x.of, of) {
			return x.ordered
		}
	}
	number := map[*ir.Task]int{}
	for _, n := range of {
		number[l.f.Tasks[n.task()]] = n.task() + 1
	}
	last, ok := make([]int, max(1, l.f.Micro)), true
	for _, t := range l.f.Ticks {
		if n := number[t.Task]; n > 0 {
			ok = ok && last[t.Micro] <= n
			last[t.Micro] = n
		}
	}
	l.orders = append(l.orders, order{of, ok})
	return ok
}

// order is whether every microbatch has its ticks of tasks in the order of the text.
type order struct {
	of      tasks
	ordered bool
}

// circle is how many places a row of these tasks has.
type circle struct {
	of     tasks
	places int
}

// rowed makes a row of what microbatches keep in the same tasks, and one of two where that
// takes less memory.
func (l *layout) rowed() {
	for _, b := range l.buffers {
		if b.values == nil || b.arg != nil || !b.kept() {
			continue
		}
		i := slices.IndexFunc(l.rows, func(x *row) bool { return x.whole.memory == b.memory && slices.Equal(x.tasks, b.tasks) })
		if i < 0 {
			i = len(l.rows)
			l.rows = append(l.rows, &row{tasks: b.tasks, whole: &buffer{memory: b.memory}})
		}
		l.rows[i].members = append(l.rows[i].members, b)
	}
	for _, x := range l.rows {
		x.ring = l.ring(x.tasks)
	}
	for l.merge() {
	}
	for _, x := range l.rows {
		x.whole.row, x.whole.lo, x.whole.hi = x, l.time.lo, l.time.hi
		for _, b := range x.members {
			if b.row = x; !l.ordered(x.tasks) {
				b.life = life{l.time.begin(), l.time.finish(), never}
			}
		}
		x.members = nil
	}
}

// mergeable is the most rows of which one is made of two.
const mergeable = 16

// merge makes one of the two rows of which that saves most. It reports whether it did.
func (l *layout) merge() bool {
	if len(l.rows) > mergeable {
		return false
	}
	var best *row
	var most int64
	var a, b int
	for i, x := range l.rows {
		for j, y := range l.rows[:i] {
			of := x.tasks.and(y.tasks)
			if x.whole.memory != y.whole.memory || len(of) == len(x.tasks)+len(y.tasks) || !l.ordered(of) {
				continue
			}
			z := &row{tasks: of, ring: l.ring(of), members: slices.Concat(y.members, x.members), whole: y.whole}
			if saved := l.least(x) + l.least(y) - l.least(z); saved > most {
				best, most, a, b = z, saved, j, i
			}
		}
	}
	if best == nil {
		return false
	}
	l.rows[a] = best
	l.rows = slices.Delete(l.rows, b, b+1)
	return true
}

// least is about the bytes that all of x takes.
func (l *layout) least(x *row) int64 {
	if x.bytes > 0 {
		return x.bytes * int64(x.ring)
	}
	bufs := make([]place.Buffer, len(x.members))
	ordered := l.ordered(x.tasks)
	for i, b := range x.members {
		bufs[i] = place.Buffer{Lo: max(0, b.from.pos), Hi: max(b.from.pos, b.to.pos) + 1, Size: b.bytes}
		if s := l.stack(b); s != nil && b.from.seg != b.to.seg {
			bufs[i].Size *= int64(s.Count)
		}
		if !ordered {
			bufs[i].Lo, bufs[i].Hi = 0, 1
		}
	}
	x.bytes = place.Bound(bufs)
	return x.bytes * int64(x.ring)
}

// enrow arranges the rows: frames of what microbatches keep, and what is in none.
func (l *layout) enrow() {
	for _, b := range l.buffers {
		if b.values != nil && b.row != nil && b.frame == nil {
			b.row.members = append(b.row.members, b)
		}
	}
	for _, x := range l.frames {
		if x.whole.row != nil {
			x.whole.row.members = append(x.whole.row.members, x.whole)
		}
	}
	for _, x := range l.rows {
		plan := place.Place(intervals(x.members), place.Options{Work: arrangement})
		for i, b := range x.members {
			b.offset = plan.Offsets[i]
		}
		x.bytes = plan.Height
		x.whole.bytes = plan.Height * int64(x.ring)
	}
}

// ring is how many places there are of a row of these tasks.
func (l *layout) ring(of tasks) int {
	for _, x := range l.rings {
		if slices.Equal(x.of, of) {
			return x.places
		}
	}
	n := l.places(of)
	l.rings = append(l.rings, circle{of, n})
	return n
}

// places is the least number of places that microbatches take in turns, one each from the
// first tick of these tasks through the last.
func (l *layout) places(of tasks) int {
	number := map[*ir.Task]int{}
	for i, t := range l.f.Tasks {
		number[t] = i
	}
	turns := make([]pipeline.Turn, len(l.f.Ticks))
	for i, t := range l.f.Ticks {
		turns[i] = pipeline.Turn{What: number[t.Task], Microbatch: t.Micro}
	}
	use := make([]pipeline.Use, len(l.f.Tasks))
	for _, u := range of {
		if u%2 == 0 {
			use[u.task()] = max(use[u.task()], pipeline.InTurn)
		} else {
			use[u.task()] = pipeline.Before
		}
	}
	return pipeline.Places(turns, l.f.Micro, use)
}
