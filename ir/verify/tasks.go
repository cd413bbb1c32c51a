package verify

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// tasks checks what runs for each microbatch: that tasks are in their order, each in a
// row and with ticks for all microbatches; that only what runs for a microbatch reads
// what every microbatch has; and that what enters a tick leaves it.
func (c *checker) tasks(f *ir.Func) {
	bad := func(o *ir.Op, format string, args ...any) {
		where, pos := "@"+f.Name, diag.Pos{}
		if o != nil {
			where, pos = at(f, o), o.Pos
		}
		c.add(codeStructure, pos, where, fmt.Sprintf(format, args...), "", "")
	}
	number := map[*ir.Task]int{nil: 0}
	for i, t := range f.Tasks {
		if number[t] != 0 || f.Task(t.Name) != t || !ir.IsIdent(t.Name) {
			bad(nil, "task %q is there twice, or cannot be named", t.Name)
		}
		number[t] = i + 1
	}
	if !c.ticks(f, number, bad) {
		return
	}
	last, late := 0, early(f)
	entered, after := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for _, o := range f.Ops {
		n, known := number[o.Task]
		switch {
		case !known || n < last || n == 0 && len(f.Tasks) > 0 || o.Task != nil && o.Micro:
			bad(o, "it is not in a task, or in one behind later ones")
		case o.PerMicro() && f.Micro == 0:
			bad(o, "it runs for each microbatch, of which there are none")
		}
		last = n
		for _, v := range o.Args {
			if v != nil && v.PerMicro() && !o.PerMicro() {
				bad(o, "it reads %%%d, which every microbatch has", v.ID)
			}
			if v != nil && v.Def != nil && late[passed{v.Def.Task, o.Task, v.PerMicro()}] {
				bad(o, "a tick of its task reads %%%d before it is made", v.ID)
			}
			if v != nil && v.Def != nil && v.Def.Name == ir.EnterTick && !adds(o, v) {
				bad(o, "it reads %%%d, of which there is none in the first tick", v.ID)
			}
			if after[v] && o.PerMicro() {
				bad(o, "it runs for each microbatch and reads %%%d, which is known after all of them", v.ID)
			}
		}
		if o.Accumulates() != "" || !o.PerMicro() && slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return after[v] }) {
			for _, r := range o.Results {
				after[r] = true
			}
		}
		between := o.Name == ir.EnterTick || o.Name == ir.LeaveTick
		if (between || o.Accumulates() != "") && !o.PerMicro() || between && o.Task == nil {
			bad(o, "there are no microbatches to be between")
		}
		switch {
		case o.Name == ir.EnterTick && len(o.Results) == 1:
			entered[o.Results[0]] = true
		case o.Name == ir.LeaveTick && len(o.Args) == 2:
			if x := o.Args[0]; !entered[x] || x.Def.Task != o.Task || x.Def.Run != o.Run {
				bad(o, "its first operand has not entered the tick, or has left it")
			}
			delete(entered, o.Args[0])
		}
	}
	if len(entered) > 0 {
		bad(nil, "%d values enter ticks and do not leave them", len(entered))
	}
	for _, r := range f.Results {
		if r.Value != nil && r.Value.PerMicro() {
			bad(nil, "result %s %q is one of each microbatch", r.Role, r.Path)
		}
	}
}

// adds reports whether o may read what enters a tick: what adds something else to it does
// without in the first one.
func adds(o *ir.Op, entered *ir.Value) bool {
	switch {
	case o.Name == ir.LeaveTick:
		return len(o.Args) == 2 && o.Args[0] == entered && o.Args[1] != entered
	case o.Callee != nil:
		return o.First != nil
	}
	return (o.Name == op.Add || o.Name == op.Max) && !slices.ContainsFunc(o.Args, func(v *ir.Value) bool {
		return v != entered && v != nil && v.Def != nil && v.Def.Name == ir.EnterTick
	}) && len(o.Args) == 2 && o.Args[0] != o.Args[1]
}

// passed is what a task makes and another one reads, of its own microbatch or of all.
type passed struct {
	from, to *ir.Task
	micro    bool
}

// early are those of which a tick reads one before it is made.
func early(f *ir.Func) map[passed]bool {
	tick := map[*ir.Task][]int{} // by microbatch, from 1 on
	first, last := map[*ir.Task]int{}, map[*ir.Task]int{}
	for _, t := range f.Tasks {
		tick[t] = make([]int, max(1, f.Micro))
	}
	for i, t := range f.Ticks {
		tick[t.Task][t.Micro] = i + 1
		if last[t.Task] = i + 1; first[t.Task] == 0 {
			first[t.Task] = i + 1
		}
	}
	out := map[passed]bool{}
	for _, o := range f.Ops {
		for _, v := range o.Args {
			if v == nil || v.Def == nil || v.Def.Task == o.Task || tick[v.Def.Task] == nil || tick[o.Task] == nil {
				continue
			}
			p := passed{v.Def.Task, o.Task, v.PerMicro()}
			if _, known := out[p]; known {
				continue
			}
			if out[p] = !p.micro && last[p.from] >= first[p.to]; !p.micro {
				continue
			}
			for m, at := range tick[p.from] {
				out[p] = out[p] || at >= tick[p.to][m]
			}
		}
	}
	return out
}

// ticks checks that every task has its ticks: once, or for every microbatch once.
func (c *checker) ticks(f *ir.Func, number map[*ir.Task]int, bad func(*ir.Op, string, ...any)) bool {
	had := map[ir.Tick]bool{}
	count := map[*ir.Task]int{}
	for _, t := range f.Ticks {
		if number[t.Task] == 0 || t.Micro < 0 || t.Micro >= max(1, f.Micro) || had[t] || t.Once && t.Micro != 0 {
			bad(nil, "a tick of what is no task, or twice of the same")
			return false
		}
		had[t] = true
		count[t.Task]++
	}
	for _, t := range f.Tasks {
		if want := f.Micro; t.Once && count[t] != 1 || !t.Once && count[t] != want {
			bad(nil, "task `%s` has %d ticks", t.Name, count[t])
			return false
		}
	}
	return true
}
