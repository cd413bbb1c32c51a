package excerpt

import (
	"slices"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
	"ptc/ir"
)

// Row is what microbatches have each, in rings of places that lie in each other's
// stretch: its span are all of its places, and Step and Ring those of every value.
type Row struct {
	Memory ir.Memory
	ranges.Span
	Step   int64
	Ring   int
	Values []*ir.Value

	one    int64 // up to where the places of the first microbatch go
	places []Placed
}

// Rows are those of f, in the order of their places. ok is false where what microbatches
// have each lies otherwise: in rings of another step or length in one stretch, or
// beyond the place of one microbatch.
func Rows(f *ir.Func) (rows []*Row, ok bool) {
	if len(f.Tasks) == 0 {
		return nil, true
	}
	places := slices.DeleteFunc(Places(f), func(x Placed) bool { return x.MicroRing < 1 })
	var hulls []rolled.Hull[ir.Memory]
	for i, x := range places {
		all := x.Hull()
		hulls = append(hulls, rolled.Hull[ir.Memory]{Memory: x.Memory, Lo: all.Lo, Hi: all.Hi, Moves: x.Micro(), ID: i})
	}
	if !rolled.Alike(hulls) {
		return nil, false
	}
	for group := range rolled.Groups(hulls) {
		by := group[0].Moves
		r := &Row{Memory: group[0].Memory, Span: ranges.Span{Lo: group[0].Lo}, Step: by.MicroStep, Ring: by.MicroRing}
		for _, h := range group {
			r.Values, r.places, r.Hi = append(r.Values, places[h.ID].Value), append(r.places, places[h.ID]), max(r.Hi, h.Hi)
		}
		if r.one = r.Hi - by.Width(); r.Ring > 1 && r.one-r.Lo > r.Step {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// orders are the orders in which microbatches have their ticks, one of each, as ticks of
// the microbatch 0. ok is false where there are about as many microbatches, or something
// runs once between their ticks.
func orders(f *ir.Func) (out [][]ir.Tick, ok bool) {
	all := make([][]ir.Tick, f.Micro)
	first, last := len(f.Ticks), -1
	for i, t := range f.Ticks {
		if !t.Once {
			all[t.Micro] = append(all[t.Micro], ir.Tick{Task: t.Task})
			first, last = min(first, i), i
		}
	}
	for i, t := range f.Ticks {
		if t.Once && first < i && i < last {
			return nil, false
		}
	}
	for _, x := range all {
		if !slices.ContainsFunc(out, func(y []ir.Tick) bool { return slices.Equal(x, y) }) {
			if out = append(out, x); len(out)+1 >= f.Micro {
				return nil, false
			}
		}
	}
	return out, len(out) > 0
}

// micros has e be of few microbatches, if that is possible, and has what each leaves to
// its later ticks in frames. It reports whether it lies so that it can be.
func (e *excerpter) micros() bool {
	rows, ok := Rows(e.g)
	if !ok {
		return false
	}
	few, less := orders(e.g)
	if less {
		e.ticks(append(few, few[0]))
	}
	for _, x := range rows {
		ring, size := x.Ring, roundUp(x.one-x.Lo)
		if less {
			ring = e.g.Micro
		}
		micro := ir.Spread{MicroStep: size, MicroRing: ring}
		if ring == 1 {
			micro.MicroStep = 0
		}
		begin := e.allot(e.frame(Frame{x.Memory, x.Span}), x.Lo, size*int64(ring))
		for _, y := range x.places {
			y.put(begin+y.At-x.Lo, micro)
		}
	}
	return true
}

// ticks gives e the ticks of microbatches of these orders, one after the other, between
// what runs once before and behind.
func (e *excerpter) ticks(orders [][]ir.Tick) {
	var before, after []ir.Tick
	begun := false
	for _, t := range e.g.Ticks {
		switch {
		case !t.Once:
			begun = true
		case begun:
			after = append(after, t)
		default:
			before = append(before, t)
		}
	}
	for m, order := range orders {
		for _, t := range order {
			before = append(before, ir.Tick{Task: t.Task, Micro: m})
		}
	}
	e.g.Ticks, e.g.Micro = append(before, after...), len(orders)
}
