package offload

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// paths counts the kernels that run between two operations of a function.
type paths struct {
	f            *ir.Func
	begins, ends []int
	one, all     []int64 // before each operation of the text: of one instance, and of all
	first, end   map[*ir.Task]int
	gaps         map[[2]*ir.Task][]gap
}

// gap is how many kernels run between ticks of two tasks, and for how many microbatches.
type gap struct{ kernels, count int64 }

func pathsOf(f *ir.Func, begins, ends []int) *paths {
	p := &paths{f: f, begins: begins, ends: ends, one: make([]int64, len(f.Ops)+1), all: make([]int64, len(f.Ops)+1),
		first: map[*ir.Task]int{}, end: map[*ir.Task]int{}, gaps: map[[2]*ir.Task][]gap{}}
	for i, x := range f.Ops {
		p.one[i+1], p.all[i+1] = p.one[i], p.all[i]
		if op.Has(x, op.Calls) {
			p.one[i+1]++
			p.all[i+1] += x.Times()
		}
		if _, ok := p.first[x.Task]; !ok {
			p.first[x.Task] = i
		}
		p.end[x.Task] = i + 1
	}
	return p
}

// between is how many kernels run between where a value leaves and where it comes back,
// for the instance and the microbatch with the most; and for how many of them fewer than
// distance do.
func (p *paths) between(from departure, to arrival) (far, near int64) {
	if from.run != nil && from.run == to.run {
		far = p.one[to.at] - p.one[from.at+1]
		if far < distance {
			near = int64(from.run.Stack.Count) * int64(max(1, p.f.Micro))
		}
		return far, near
	}
	// Instance k: base + each·k.
	count := int64(1)
	after, before := from.at+1, to.at
	var base, each int64
	add := func(n int64, rises bool) { // n for each instance before, or behind
		if rises {
			each += n
		} else {
			base, each = base+n*(count-1), each-n
		}
	}
	if r := from.run; r != nil {
		count, after = int64(r.Stack.Count), p.ends[from.at]
		base += p.one[after] - p.one[from.at+1]
		add(p.one[after]-p.one[p.begins[from.at]], r.Down)
	}
	if r := to.run; r != nil {
		count, before = int64(r.Stack.Count), p.begins[to.at]
		base += p.one[to.at] - p.one[before]
		add(p.one[p.ends[to.at]]-p.one[before], !r.Down)
	}
	a, b := p.f.Ops[from.at].Task, p.f.Ops[to.at].Task
	gaps := []gap{{0, 1}}
	if a == b {
		base += p.all[before] - p.all[after]
	} else {
		base += p.all[p.end[a]] - p.all[after] + p.all[before] - p.all[p.first[b]]
		gaps = p.ticks(a, b)
	}
	for _, g := range gaps {
		base := base + g.kernels
		far = max(far, base, base+each*(count-1))
		near += g.count * fewer(base, each, count)
	}
	return far, near
}

// fewer is for how many k from 0 up to count base + each·k is less than distance.
func fewer(base, each, count int64) int64 {
	switch {
	case each < 0:
		return fewer(base+each*(count-1), -each, count)
	case base >= distance:
		return 0
	case each == 0:
		return count
	}
	return min(count, (distance-base+each-1)/each)
}

// ticks are the gaps between the ticks of a and those of b.
func (p *paths) ticks(a, b *ir.Task) []gap {
	if out, ok := p.gaps[[2]*ir.Task{a, b}]; ok {
		return out
	}
	of, kernels := map[int64]int64{}, int64(0)
	left := map[int]int64{} // by microbatch: kernels up to the end of the tick of a
	for _, t := range p.f.Ticks {
		if at, ok := left[t.Micro]; ok && t.Task == b {
			of[kernels-at]++
		}
		kernels += p.all[p.end[t.Task]] - p.all[p.first[t.Task]]
		if t.Task == a {
			left[t.Micro] = kernels
		}
	}
	var out []gap
	for n, count := range of {
		out = append(out, gap{n, count})
	}
	slices.SortFunc(out, func(x, y gap) int { return int(x.kernels - y.kernels) })
	p.gaps[[2]*ir.Task{a, b}] = out
	return out
}

// bounds gives, for each operation of f, the places where its run begins and behind it,
// or its own.
func bounds(f *ir.Func) (begins, ends []int) {
	f.Runs(func(_ *ir.Run, ops []*ir.Op) {
		at := len(begins)
		for range ops {
			begins, ends = append(begins, at), append(ends, at+len(ops))
		}
	})
	return begins, ends
}
