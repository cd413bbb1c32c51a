package memory

import "ptc/ir"

// The ticks of tasks are not in the order of the text: while one microbatch goes
// backward, others go forward. What a tick leaves to others, of its microbatch or of
// all, is in use between ticks. The planner takes it as in use from the first tick of
// all such tasks through the last, so that the order of ticks does not matter: what is
// of one tick alone has a separate place, which values of others share. Of
// what every microbatch keeps for a later tick there are several at once, in a ring of
// places; how many, the table of ticks says. See [row].

// stretch finds the tasks whose ticks are not in the order of the text: all but those
// that run once, first or last in both.
func (t *timeline) stretch() {
	t.hi = -1
	tasks, ticks := t.f.Tasks, t.f.Ticks
	n := 0
	for n < len(tasks) && n < len(ticks) && tasks[n].Once && ticks[n].Task == tasks[n] {
		n++
	}
	m := 0
	for n+m < len(tasks) && m < len(ticks) && tasks[len(tasks)-1-m].Once && ticks[len(ticks)-1-m].Task == tasks[len(tasks)-1-m] {
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

// begin and finish are when the first tick of these tasks begins, and the last is over.
func (t *timeline) begin() moment  { return moment{seg: t.lo, iteration: -through, pos: t.lo} }
func (t *timeline) finish() moment { return moment{seg: t.first[t.hi], iteration: through, pos: t.hi} }

// mixed reports whether operation i is in one of these tasks.
func (t *timeline) mixed(i int) bool { return t.lo <= i && i <= t.hi }

// between has the lives of what is there once, and in use between ticks, last from the
// first tick through the last. What every microbatch has lives as long as in its own
// tasks.
func (t *timeline) between(lives map[*ir.Value]life, elsewhere map[*ir.Value]bool) {
	if t.hi < 0 {
		return
	}
	for v, l := range lives {
		if v.Def != nil && v.Def.TickAhead() { // whatever its microbatch does in the tick before
			l.from = t.begin()
			lives[v] = l
		}
		if v.Def != nil && (!elsewhere[v] || t.perMicro(v)) {
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

// perMicro reports whether every microbatch has a v of its own.
func (t *timeline) perMicro(v *ir.Value) bool {
	return v.Def != nil && v.PerMicro() && v.Def.Name != ir.EnterTick
}

// between reports whether v is where something is in use between ticks.
func (l *layout) between(v *ir.Value) bool { return l.of[v].between }

// elsewhere are the values that ticks leave to others.
func (t *timeline) elsewhere() map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for _, o := range t.f.Ops {
		for _, v := range o.Args {
			if v.Def != nil && v.Def.Task != o.Task {
				out[v] = true
			}
		}
		if o.Name == ir.EnterTick || o.Name == ir.LeaveTick || o.TickAhead() {
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
