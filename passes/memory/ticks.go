package memory

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
)

// ticks is what is wrong with places of microbatches by the table of ticks: no
// microbatch has its place of a ring from one tick to another while another one has it,
// and what has no place in a ring is not there in another task.
func ticks(f *ir.Func) diag.List {
	if len(f.Tasks) == 0 {
		return nil
	}
	var bugs diag.List
	bug := func(v *ir.Value, format string, args ...any) {
		e := &diag.Error{Code: "E0391", Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)}
		if v.Def != nil {
			e.Pos = v.Def.Pos
		}
		bugs = append(bugs, e)
	}
	used := map[*ir.Value][]*ir.Task{}
	rings, ahead := map[*ir.Value]int{}, map[*ir.Value]bool{}
	for _, o := range f.Ops {
		for j, v := range o.Results {
			used[v] = append(used[v], o.Task)
			if j < len(o.Spread) {
				rings[v] = o.Spread[j].MicroRing
			}
			if ahead[v] = o.TickAhead(); ahead[v] && rings[v] == 0 {
				bug(v, "%%%d, which is received in the tick before, has one place for each tick", v.ID)
			}
		}
		for _, v := range o.Args {
			if used[v] = append(used[v], o.Task); v.Def != nil && v.Def.Task != o.Task && v.PerMicro() && rings[v] == 0 && whole(v).PerMicro() {
				bug(v, "%%%d, which every microbatch leaves to task `%s`, has one place for each tick", v.ID, o.Task.Name)
			}
		}
	}
	rows, ok := excerpt.Rows(f)
	if !ok {
		bugs = append(bugs, &diag.Error{Code: "E0391", Msg: fmt.Sprintf("@%s: places of microbatches are not in one ring, or in each other's", f.Name)})
	}
	for _, x := range rows {
		r := &ring{f: f, left: make([]int, f.Micro), has: make([]int, x.Ring), uses: map[*ir.Task]bool{}, ahead: map[*ir.Task]bool{}}
		for _, v := range x.Values {
			if v.Def == nil && x.Ring < f.Micro {
				bug(v, "%%%d of %d microbatches is there in a ring of %d places", v.ID, f.Micro, x.Ring)
			}
			for _, t := range used[v] {
				r.uses[t] = v.Def != nil || r.uses[t]
			}
			if ahead[v] {
				r.ahead[v.Def.Task] = true
			}
		}
		if a, b, ok := r.clash(); ok {
			bug(x.Values[0], "microbatch %d has its place of a ring of %d, from byte %d on, while microbatch %d has it", b, x.Ring, x.Lo, a)
		}
	}
	return bugs
}

// whole is the value of which v is a piece.
func whole(v *ir.Value) *ir.Value {
	for v.Def != nil && op.Has(v.Def, op.Views) {
		v = v.Def.Args[0]
	}
	return v
}

// ring is a ring of places that microbatches have from the first of its ticks in some
// tasks, or from the tick before those of others, through the last.
type ring struct {
	f           *ir.Func
	uses, ahead map[*ir.Task]bool
	left        []int // ticks of each microbatch
	has         []int // each place: the microbatch that has it, and 1
}

// clash is a microbatch that has its place when another one comes to have it.
func (r *ring) clash() (a, b int, ok bool) {
	for _, t := range r.f.Ticks {
		if r.uses[t.Task] && !t.Once {
			r.left[t.Micro]++
		}
	}
	for i, t := range r.f.Ticks {
		if t.Once {
			continue
		}
		if r.uses[t.Task] {
			if a, ok := r.take(t.Micro); !ok {
				return a, t.Micro, true
			}
		}
		if i+1 < len(r.f.Ticks) && !r.f.Ticks[i+1].Once && r.ahead[r.f.Ticks[i+1].Task] {
			next := r.f.Ticks[i+1].Micro
			if a, ok := r.take(next); !ok {
				return a, next, true
			}
		}
		if r.uses[t.Task] {
			if r.left[t.Micro]--; r.left[t.Micro] == 0 {
				r.has[t.Micro%len(r.has)] = 0
			}
		}
	}
	return 0, 0, false
}

// take gives microbatch m its place, if no other one has it, which a is.
func (r *ring) take(m int) (a int, ok bool) {
	place := m % len(r.has)
	if owner := r.has[place] - 1; owner >= 0 && owner != m {
		return owner, false
	}
	r.has[place] = m + 1
	return 0, true
}
