package lives

import (
	"cmp"
	"slices"
)

// Peak is the instruction at which most bytes are live, the first of several.
type Peak struct {
	Instruction int
	Bytes       int64
}

// Sweep goes through the instructions of a step and finds how many bytes hold a value at
// each: the length of a union of ranges, of which some come and some go (Bentley,
// "Algorithms for Klee's rectangle problems", 1977). It gives the peak, and the most in
// each of equal parts of the step.
func Sweep(values []Value, instructions, parts int) (Peak, []int64) {
	type event struct{ at, value, add int }
	var events []event
	var edges []int64
	for i := range values {
		v := &values[i]
		events = append(events, event{v.From, i, 1}, event{v.Until, i, -1})
		edges = append(edges, v.Lo, v.Lo+v.Bytes)
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.value, b.value)) })
	slices.Sort(edges)
	edges = slices.Compact(edges)
	u := &union{edges: edges}
	if len(edges) > 1 {
		u.covers, u.length = make([]int, 4*len(edges)), make([]int64, 4*len(edges))
	}
	parts = min(parts, instructions)
	live := make([]int64, parts)
	var peak Peak
	for n, i := 0, 0; i < instructions; {
		for ; n < len(events) && events[n].at <= i; n++ {
			v := &values[events[n].value]
			lo, _ := slices.BinarySearch(edges, v.Lo)
			hi, _ := slices.BinarySearch(edges, v.Lo+v.Bytes)
			u.add(1, 0, len(edges)-1, lo, hi, events[n].add)
		}
		next := instructions
		if n < len(events) {
			next = min(next, events[n].at)
		}
		held := u.held()
		if held > peak.Bytes {
			peak = Peak{Instruction: i, Bytes: held}
		}
		for k := i * parts / instructions; k <= (next-1)*parts/instructions; k++ {
			live[k] = max(live[k], held)
		}
		i = next
	}
	return peak, live
}

// union is ranges between edges, as a tree: a node counts the ranges that cover all of
// its edges and not all of its parent's, and knows what length of it is covered.
type union struct {
	edges  []int64
	covers []int
	length []int64
}

func (u *union) held() int64 {
	if len(u.length) == 0 {
		return 0
	}
	return u.length[1]
}

// add counts a range from edge lo to edge hi, or takes it away, in a node that has the
// edges from to to.
func (u *union) add(node, from, to, lo, hi, n int) {
	if hi <= from || to <= lo {
		return
	}
	if lo <= from && to <= hi {
		u.covers[node] += n
	} else {
		middle := (from + to) / 2
		u.add(2*node, from, middle, lo, hi, n)
		u.add(2*node+1, middle, to, lo, hi, n)
	}
	switch {
	case u.covers[node] > 0:
		u.length[node] = u.edges[to] - u.edges[from]
	case to-from == 1:
		u.length[node] = 0
	default:
		u.length[node] = u.length[2*node] + u.length[2*node+1]
	}
}
