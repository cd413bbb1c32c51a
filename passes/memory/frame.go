package memory

import (
	"cmp"
	"slices"

	"ptc/ir"
	"ptc/passes/memory/place"
)

// frame is where each instance of a stack has what it keeps from one run to another:
// places side by side, one for each instance, of step bytes. What is in a place is
// found on the timeline of a place, in which every run stands once: a gradient
// lies where an activation was that is not read any more.
//
// A buffer may be moved by a whole place: in a backward run, which goes down, place
// k+1 is free when instance k has its turn, since its own activations were read in
// the iteration before. So gradients lie in the places of activations of which not one
// has to be over in the same iteration, for the room of one instance's gradients behind
// the last place; those that are made last in an iteration may stay (see stay). What is waited
// for an iteration later, such as the shards of gradients, which are made of these, may be moved
// by two.
//
//	place     0      1      2     …    N-1     N
//	forward   a(0)   a(1)   a(2)       a(N-1)
//	backward         g(0)   g(1)       g(N-2)  g(N-1)
type frame struct {
	stack   *ir.Stack
	row     *row // that it is in
	members []*buffer
	step    int64
	origin  int64   // of place 0, from the frame's begin
	whole   *buffer // all of it, as it is placed among others
}

// enframe makes a frame for each stack and memory in which instances keep something,
// and puts into its gaps what instances need for an iteration. What is in a row of what
// microbatches keep is in a frame of its own.
func (l *layout) enframe() {
	for _, s := range l.f.Stacks {
		for _, mem := range memories {
			var others []*buffer
			frames := map[*row]*frame{}
			first := len(l.frames)
			for _, b := range l.buffers {
				if b.values == nil || b.arg != nil || b.memory != mem || l.stack(b) != s {
					continue
				}
				if b.kind == single && b.chain == single && b.from.seg == b.to.seg && b.row == nil {
					others = append(others, b)
				}
				if b.kind != framed {
					continue
				}
				if frames[b.row] == nil {
					frames[b.row] = &frame{stack: s, row: b.row}
					l.frames = append(l.frames, frames[b.row])
				}
				frames[b.row].members = append(frames[b.row].members, b)
			}
			for _, x := range l.frames[first:] {
				x.build(l, mem)
				x.admit(l, others)
			}
		}
	}
}

// build arranges the members.
func (x *frame) build(l *layout, memory ir.Memory) {
	x.whole = &buffer{memory: memory, lo: len(l.f.Ops), frame: x, row: x.row}
	for _, b := range x.members {
		x.whole.lo, x.whole.hi = min(x.whole.lo, b.lo), max(x.whole.hi, b.hi)
	}
	x.arrange(l.time)
}

// admit has some of others be members, and some be in gaps: in a row, of what is in use
// in its tasks.
func (x *frame) admit(l *layout, others []*buffer) {
	others = slices.DeleteFunc(slices.Clone(others), func(b *buffer) bool {
		return b.frame != nil || b.lo < x.whole.lo || b.hi > x.whole.hi ||
			x.row != nil && (b.once || !x.row.tasks.has(b.tasks) || !l.ordered(x.row.tasks))
	})
	slices.SortStableFunc(others, func(a, b *buffer) int { return cmp.Compare(b.bytes, a.bytes) })
	x.include(l.time, others)
	x.fill(l, others)
}

// seen is b's life from the point of view of a place of the frame.
func (b *buffer) seen(t *timeline, slot int) life { return t.shiftedLife(b.life, slot) }

// problem is how the members are to be placed, as far as they are moved.
func (x *frame) problem(t *timeline) []place.Buffer {
	lives := make([]life, len(x.members))
	var all []moment
	for i, b := range x.members {
		lives[i] = b.seen(t, b.slot)
		all = append(all, lives[i].from, lives[i].to)
	}
	slices.SortFunc(all, moment.compare)
	all = slices.Compact(all)
	rank := func(m moment) int {
		i, _ := slices.BinarySearchFunc(all, m, moment.compare)
		return i
	}
	out := make([]place.Buffer, len(x.members))
	for i, b := range x.members {
		out[i] = place.Buffer{Lo: rank(lives[i].from), Hi: rank(lives[i].to) + 1, Size: b.bytes}
	}
	return out
}

// born is the run in which b is first written; what goes from instance to instance
// begins before it.
func (b *buffer) born(t *timeline) int {
	at := len(t.f.Ops)
	for _, v := range b.values {
		if v.In() != nil && v.Def != nil {
			at = min(at, t.first[t.at(v.Def)])
		}
	}
	return at
}

// arrange says how far members are moved, those that begin in one run alike, and
// where they are in a place.
func (x *frame) arrange(t *timeline) {
	born := map[int][]*buffer{}
	var runs []int
	for _, b := range x.members {
		at := b.born(t)
		if born[at] == nil {
			runs = append(runs, at)
		}
		born[at] = append(born[at], b)
	}
	slices.Sort(runs)
	bounds := func() (all, moved int64) { // at least: of a place, and of what is moved behind the last one
		bufs := x.problem(t)
		var behind []place.Buffer
		for i, b := range x.members {
			if b.slot != 0 {
				y := bufs[i]
				y.Size *= int64(abs(b.slot))
				behind = append(behind, y)
			}
		}
		return place.Bound(bufs), place.Bound(behind)
	}
	cost := func() int64 { // of all places, and of what is moved
		all, moved := bounds()
		return int64(x.stack.Count)*all + moved
	}
	move := func(run, slot int) int64 {
		for _, b := range born[run] {
			b.slot = slot
		}
		return cost()
	}
	least := cost()
	for _, r := range largest(runs[1:], born) {
		best := 0
		for _, s := range []int{1, -1, 2, -2} {
			if c := move(r, s); c < least {
				best, least = s, c
			}
		}
		move(r, best)
	}
	for _, r := range runs {
		stay(born[r], bounds)
	}
	x.take(x.offsets(x.problem(t), place.Options{Work: arrangement}))
}

// stay has those of members that are moved and need not be stay in their places, from the
// last one to the first: gradients that are made at the end of an iteration, when
// activations of the same place are not read any more.
func stay(members []*buffer, bounds func() (all, moved int64)) {
	if len(members) > filling {
		return
	}
	members = slices.DeleteFunc(slices.Clone(members), func(b *buffer) bool { return b.slot == 0 })
	slices.SortStableFunc(members, func(a, b *buffer) int { return b.from.compare(a.from) })
	all, moved := bounds()
	for _, b := range members {
		slot := b.slot
		b.slot = 0
		if a, m := bounds(); a <= all && m <= moved {
			all, moved = a, m
			continue
		}
		b.slot = slot
	}
}

// moved is the most runs whose members are tried elsewhere: those with the most bytes.
const moved = 8

func largest(runs []int, born map[int][]*buffer) []int {
	if len(runs) <= moved {
		return runs
	}
	bytes := map[int]int64{}
	for _, r := range runs {
		for _, b := range born[r] {
			bytes[r] += b.bytes
		}
	}
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b int) int { return cmp.Compare(bytes[b], bytes[a]) })
	runs = runs[:moved]
	slices.Sort(runs)
	return runs
}

// take has the members be where a trial has them.
func (x *frame) take(c trial) {
	for i, b := range x.members {
		b.offset, b.frame, b.kind = c.offsets[i], x, framed
	}
	lo, hi := x.reach(c.offsets, c.step)
	x.step, x.origin, x.whole.bytes = c.step, -lo, hi-lo
}

// include has some of others, the largest, be members, if the frame becomes no larger
// for that: as many as can be in use together with the members, or half of them, and so on.
func (x *frame) include(t *timeline, others []*buffer) {
	members := x.members
	x.members = append(members[:len(members):len(members)], others...)
	bufs := x.problem(t)
	used := map[int]int64{} // bytes by time
	use := func(b place.Buffer) {
		for at := b.Lo; at < b.Hi; at++ {
			used[at] += b.Size
		}
	}
	for _, b := range bufs[:len(members)] {
		use(b)
	}
	x.members = members[:len(members):len(members)]
	for i, b := range bufs[len(members):] {
		fits := true
		for at := b.Lo; at < b.Hi && fits; at++ {
			fits = used[at]+b.Size <= x.step
		}
		if fits {
			use(b)
			x.members = append(x.members, others[i])
		}
	}
	more := x.members[len(members):]
	for n := len(more); n > 0; n /= 2 {
		x.members = append(members[:len(members):len(members)], more[:n]...)
		if c := x.offsets(x.problem(t), place.Options{Goal: x.step, Work: inclusion}); c.bytes <= x.whole.bytes && c.step <= x.step {
			x.take(c)
			return
		}
	}
	x.members = members
}

// The most work to place members and what is included, in the unit of package place.
const (
	arrangement = 1 << 26
	inclusion   = 1 << 22
)

// offsets places the members: as low as can be, and low what is in places before the
// first or behind the last, so that little of these is needed.
func (x *frame) offsets(bufs []place.Buffer, o place.Options) trial {
	plan := place.Place(bufs, o)
	best := x.tried(plan.Offsets, plan.Height)
	try := func(offsets []int64, step int64) {
		if c := x.tried(offsets, step); c.bytes < best.bytes {
			best = c
		}
	}
	mirrored := make([]int64, len(bufs))
	for i, b := range bufs {
		mirrored[i] = plan.Height - plan.Offsets[i] - b.Size
	}
	try(mirrored, plan.Height)
	outside := func(i int) int { // those of which a place is behind the last one come first
		lo, hi := x.members[i].slots()
		return -max(hi, -lo)
	}
	for _, compare := range []func(a, b place.Buffer) int{
		func(a, b place.Buffer) int { return cmp.Compare(b.Size, a.Size) },
		func(a, b place.Buffer) int { return cmp.Compare(b.Size*int64(b.Hi-b.Lo), a.Size*int64(a.Hi-a.Lo)) },
		func(a, b place.Buffer) int { return cmp.Compare(a.Lo, b.Lo) },
	} {
		order := make([]int, len(bufs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Or(cmp.Compare(outside(i), outside(j)), compare(bufs[i], bufs[j]))
		})
		offsets, height := place.InOrder(bufs, order)
		try(offsets, height)
	}
	return best
}

// trial is a way to place the members, with all bytes that it takes.
type trial struct {
	offsets     []int64
	step, bytes int64
}

func (x *frame) tried(offsets []int64, step int64) trial {
	lo, hi := x.reach(offsets, step)
	return trial{offsets, step, hi - lo}
}

// reach is where the members begin and end, from the begin of place 0.
func (x *frame) reach(offsets []int64, step int64) (lo, hi int64) {
	for i, b := range x.members {
		first, last := b.slots()
		from, to := offsets[i]+step*int64(first), offsets[i]+step*int64(last+x.stack.Count-1)+b.bytes
		if i == 0 {
			lo, hi = from, to
		}
		lo, hi = min(lo, from), max(hi, to)
	}
	return lo, hi
}

// slots are by how many places the values of b are moved, the least and the most.
func (b *buffer) slots() (least, most int) { return b.slot + b.least, b.slot + b.most }

// filling is how many members, of each and of what could be filled in, are looked at to
// fill gaps.
const filling = 64

// fill puts what instances need for an iteration into gaps of the frame, where it is there
// in any case: the largest first.
func (x *frame) fill(l *layout, others []*buffer) {
	looks := filling * (len(x.members) + len(others))
	for _, b := range others {
		if b.frame != nil {
			continue
		}
		if looks -= 3 * len(x.members); looks < 0 {
			return
		}
		for _, slot := range []int{0, 1, -1} {
			if x.fit(l.time, b, slot) {
				break
			}
		}
	}
}

// fit puts b into the lowest gap in which it fits if it is moved so, and says
// whether there is one.
func (x *frame) fit(t *timeline, b *buffer, slot int) bool {
	mine := b.seen(t, slot)
	var taken []*buffer
	for _, c := range x.members {
		if other := c.seen(t, c.slot); !other.to.before(mine.from) && !mine.to.before(other.from) {
			taken = append(taken, c)
		}
	}
	slices.SortFunc(taken, func(a, b *buffer) int { return cmp.Compare(a.offset, b.offset) })
	lo := max(0, -x.origin-x.step*int64(slot))
	hi := min(x.step, x.whole.bytes-x.origin-x.step*int64(slot+x.stack.Count-1))
	at := lo
	for _, c := range taken {
		if c.offset-at >= b.bytes {
			break
		}
		at = max(at, c.offset+c.bytes)
	}
	if at+b.bytes > hi {
		return false
	}
	b.frame, b.kind, b.slot, b.offset = x, framed, slot, at
	x.members = append(x.members, b)
	return true
}
