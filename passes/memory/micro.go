package memory

import (
	"cmp"
	"slices"

	"ptc/ir"
)

// The turns of tasks are not in the order of the text: while one microbatch goes
// backward, others go forward. What a turn leaves to others, of its microbatch or of
// all, is in use between turns. The planner takes it as in use from the first turn of
// all such tasks through the last, so that the order of turns does not matter: what is
// of one turn alone has its place beside it, and shares it with what is of others. Of
// what every microbatch has until a later turn there are several at once, in a ring of
// places ([row]); how many, the table of turns says.

// stretch finds the tasks whose turns are not in the order of the text: all but those
// that run once, first or last in both.
func (t *timeline) stretch() {
	t.hi = -1
	tasks, turns := t.f.Tasks, t.f.Turns
	n := 0
	for n < len(tasks) && n < len(turns) && tasks[n].Once && turns[n].Task == tasks[n] {
		n++
	}
	m := 0
	for n+m < len(tasks) && m < len(turns) && tasks[len(tasks)-1-m].Once && turns[len(turns)-1-m].Task == tasks[len(tasks)-1-m] {
		m++
	}
	mixed := map[*ir.Task]bool{}
	for _, x := range tasks[n : len(tasks)-m] {
		mixed[x] = true
	}
	for i, o := range t.f.Ops {
		if o.Task == nil || !mixed[o.Task] {
			continue
		}
		if t.hi < 0 {
			t.lo = i
		}
		t.hi = i
	}
}

// begin and finish are when the first turn of these tasks begins, and the last is over.
func (t *timeline) begin() moment  { return moment{seg: t.lo, turn: -through, pos: t.lo} }
func (t *timeline) finish() moment { return moment{seg: t.first[t.hi], turn: through, pos: t.hi} }

// mixed reports whether operation i is in one of these tasks.
func (t *timeline) mixed(i int) bool { return t.lo <= i && i <= t.hi }

// between has the lives of what is in use between turns last from the first turn
// through the last.
func (t *timeline) between(lives map[*ir.Value]life) {
	if t.hi < 0 {
		return
	}
	elsewhere := t.elsewhere()
	for v, l := range lives {
		if v.Def != nil && !elsewhere[v] {
			continue
		}
		if v.Def != nil && t.mixed(t.at(v.Def)) {
			l.from = t.begin()
			l.to = later(l.to, t.begin())
		}
		if !l.to.before(t.begin()) && !t.finish().before(l.to) {
			l.to, l.read = t.finish(), never
		}
		lives[v] = l
	}
}

// between reports whether v is where something is in use between turns.
func (l *layout) between(v *ir.Value) bool {
	b := l.of[v]
	return l.time.hi >= 0 && (b.from == l.time.begin() || b.to == l.time.finish())
}

// elsewhere are the values that turns leave to others.
func (t *timeline) elsewhere() map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for _, o := range t.f.Ops {
		for _, v := range o.Args {
			if v.Def != nil && v.Def.Task != o.Task {
				out[v] = true
			}
		}
		if o.Name == ir.EnterTurn || o.Name == ir.LeaveTurn {
			out[o.Result()] = true
		}
	}
	for _, r := range t.f.Results {
		if r.Value.Def != nil {
			out[r.Value] = true
		}
	}
	return out
}

// row is what microbatches have each of values that are in use in turns of the same
// tasks, side by side: the whole of it is there as often as microbatches have it at
// once.
type row struct {
	tasks   string // by number
	ring    int
	bytes   int64 // of one microbatch
	members []*buffer
	whole   *buffer
}

// enrow puts into rows what microbatches have each between turns; frames have theirs
// already.
func (l *layout) enrow() {
	for _, b := range l.buffers {
		if b.values != nil && b.arg == nil && b.frame == nil && b.tasks != "" {
			l.row(b)
		}
	}
	for _, x := range l.frames {
		if x.tasks != "" {
			x.whole.tasks = x.tasks
			l.row(x.whole)
		}
	}
	for _, x := range l.rows {
		if x.ring = l.ring(x.tasks); x.ring > 1 {
			x.whole.bytes = x.bytes * int64(x.ring)
		}
	}
}

// row puts b into the row of its tasks.
func (l *layout) row(b *buffer) {
	i := slices.IndexFunc(l.rows, func(x *row) bool { return x.tasks == b.tasks && x.whole.memory == b.memory })
	if i < 0 {
		i = len(l.rows)
		x := &row{tasks: b.tasks, whole: &buffer{memory: b.memory, lo: l.time.lo, hi: l.time.hi}}
		x.whole.row = x
		l.rows = append(l.rows, x)
	}
	x := l.rows[i]
	b.row, b.offset = x, x.bytes
	x.members = append(x.members, b)
	x.bytes += b.size()
	x.whole.bytes = x.bytes
}

// tasked notes for every buffer that microbatches have between turns in which tasks it
// is in use.
func (l *layout) tasked() {
	if l.time.hi < 0 {
		return
	}
	number := map[*ir.Task]int{}
	for i, t := range l.f.Tasks {
		number[t] = i
	}
	elsewhere, uses := l.time.elsewhere(), map[*buffer][]int{}
	note := func(v *ir.Value, t *ir.Task) {
		if b := l.of[v]; b.arg == nil {
			uses[b] = append(uses[b], number[t])
		}
	}
	for _, o := range l.f.Ops {
		for _, v := range o.Args {
			note(v, o.Task)
		}
		for _, v := range o.Results {
			note(v, o.Task)
		}
	}
	for _, b := range l.buffers {
		if b.arg != nil || !b.perMicro(elsewhere) {
			continue
		}
		slices.Sort(uses[b])
		text := []byte{}
		for _, n := range slices.Compact(uses[b]) {
			text = append(text, byte(n>>8), byte(n))
		}
		b.tasks = string(text)
	}
}

// perMicro reports whether every microbatch leaves something in b to another turn of
// its own.
func (b *buffer) perMicro(elsewhere map[*ir.Value]bool) bool {
	some := false
	for _, v := range b.values {
		if !v.PerMicro() || v.Def == nil || v.Def.Name == ir.EnterTurn {
			return false
		}
		some = some || elsewhere[v]
	}
	return some
}

// ring is the least number of places that microbatches take in turns, one each from
// the first turn of these tasks through the last, so that none is in the place of
// another.
func (l *layout) ring(tasks string) int {
	of := map[*ir.Task]bool{}
	for i := 0; i < len(tasks); i += 2 {
		of[l.f.Tasks[int(tasks[i])<<8|int(tasks[i+1])]] = true
	}
	type stay struct{ micro, from, to int }
	stays := make([]stay, l.f.Micro)
	for i, t := range l.f.Turns {
		if !of[t.Task] || t.Once {
			continue
		}
		s := &stays[t.Micro]
		if s.to == 0 {
			s.micro, s.from = t.Micro, i+1
		}
		s.to = i + 1
	}
	slices.SortFunc(stays, func(a, b stay) int { return cmp.Compare(a.from, b.from) })
	ends := make([]int, l.f.Micro)
	for i, s := range stays {
		ends[i] = s.to
	}
	slices.Sort(ends)
	ring, over := 1, 0
	for i, s := range stays {
		for ends[over] < s.from {
			over++
		}
		ring = max(ring, i+1-over) // so many are under way
	}
	until := make([]int, l.f.Micro)
	free := func(ring int) bool {
		clear(until)
		for _, s := range stays {
			if p := s.micro % ring; until[p] >= s.from {
				return false
			} else {
				until[p] = s.to
			}
		}
		return true
	}
	for ring < l.f.Micro && !free(ring) {
		ring++
	}
	return ring
}
