package excerpt

import (
	"cmp"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Row is what microbatches have each, in rings of places that lie in each other's
// stretch: Lo up to Hi are all of its places, and Step and Ring those of every value.
type Row struct {
	Memory ir.Memory
	Lo, Hi int64
	Step   int64
	Ring   int
	Values []*ir.Value

	one  int64 // up to where the places of the first microbatch go
	at   []int64
	sets []func(at int64, m microSpread)
}

// Rows are those of f, in the order of their places. ok is false where what microbatches
// have each lies otherwise: in rings of another step or length in one stretch, or
// beyond the place of one microbatch.
func Rows(f *ir.Func) (rows []*Row, ok bool) {
	if len(f.Tasks) == 0 {
		return nil, true
	}
	memory := op.Memories(f)
	add := func(v *ir.Value, at int64, s ir.Spread, set func(int64, microSpread)) {
		if s.MicroRing < 1 {
			return
		}
		lo, hi := at, at+int64(v.Type.Bytes())
		if last := s.Step * int64(max(1, min(s.Ring, v.Count()))-1); last < 0 {
			lo += last
		} else {
			hi += last
		}
		rows = append(rows, &Row{memory[v], lo, hi + s.MicroStep*int64(s.MicroRing-1), s.MicroStep, s.MicroRing, []*ir.Value{v},
			hi, []int64{at}, []func(int64, microSpread){set}})
	}
	for _, a := range f.Args {
		add(a.Value, a.At.Bytes(), a.Spread, func(at int64, m microSpread) { a.At = ir.OffsetOf(at); m.put(&a.Spread) })
	}
	for _, o := range f.Ops {
		for j, v := range o.Results {
			if j < len(o.At) && j < len(o.Spread) {
				add(v, o.At[j], o.Spread[j], func(at int64, m microSpread) { o.At[j] = at; m.put(&o.Spread[j]) })
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Lo, b.Lo)) })
	out := rows[:0]
	for _, x := range rows {
		if len(out) == 0 || out[len(out)-1].Memory != x.Memory || out[len(out)-1].Hi <= x.Lo {
			out = append(out, x)
			continue
		}
		y := out[len(out)-1]
		if x.Step != y.Step || x.Ring != y.Ring {
			return nil, false
		}
		y.Hi, y.one = max(y.Hi, x.Hi), max(y.one, x.one)
		y.Values = append(y.Values, x.Values...)
		y.at, y.sets = append(y.at, x.at...), append(y.sets, x.sets...)
	}
	for _, x := range out {
		if x.Ring > 1 && x.one-x.Lo > x.Step {
			return nil, false
		}
	}
	return out, true
}

// orders are the orders in which microbatches have their turns, one of each, as turns of
// the microbatch 0. ok is false where there are about as many microbatches, or something
// runs once between their turns.
func orders(f *ir.Func) (out [][]ir.Turn, ok bool) {
	all := make([][]ir.Turn, f.Micro)
	first, last := len(f.Turns), -1
	for i, t := range f.Turns {
		if !t.Once {
			all[t.Micro] = append(all[t.Micro], ir.Turn{Task: t.Task})
			first, last = min(first, i), i
		}
	}
	for i, t := range f.Turns {
		if t.Once && first < i && i < last {
			return nil, false
		}
	}
	for _, x := range all {
		if !slices.ContainsFunc(out, func(y []ir.Turn) bool { return slices.Equal(x, y) }) {
			if out = append(out, x); len(out)+1 >= f.Micro {
				return nil, false
			}
		}
	}
	return out, len(out) > 0
}

// micros has e be of few microbatches, if that is possible, and has what each leaves to
// its later turns in frames. It reports whether it lies so that it can be.
func (e *excerpter) micros() bool {
	rows, ok := Rows(e.g)
	if !ok {
		return false
	}
	few, less := orders(e.g)
	if less {
		e.turns(append(few, few[0]))
	}
	for _, x := range rows {
		ring, size := x.Ring, roundUp(x.one-x.Lo)
		if less {
			ring = e.g.Micro
		}
		micro := microSpread{size, ring}
		if ring == 1 {
			micro.step = 0
		}
		begin := e.allot(e.frame(Frame{x.Memory, x.Lo, x.Hi}), x.Lo, size*int64(ring))
		for i, set := range x.sets {
			set(begin+x.at[i]-x.Lo, micro)
		}
	}
	return true
}

// turns gives e the turns of microbatches of these orders, one after the other, between
// what runs once before and behind.
func (e *excerpter) turns(orders [][]ir.Turn) {
	var before, after []ir.Turn
	begun := false
	for _, t := range e.g.Turns {
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
			before = append(before, ir.Turn{Task: t.Task, Micro: m})
		}
	}
	e.g.Turns, e.g.Micro = append(before, after...), len(orders)
}
