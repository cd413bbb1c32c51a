package verify

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
)

// tasks checks what runs for each microbatch: that tasks are in their order, each in a
// row and with turns for all microbatches; that only what runs for a microbatch reads
// what every microbatch has; and that what enters a turn leaves it.
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
	c.turns(f, number, bad)
	last := 0
	entered := map[*ir.Value]bool{}
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
			if v != nil && v.Def != nil && v.Def.Accumulates() != "" && o.PerMicro() {
				bad(o, "it runs for each microbatch and reads %%%d, which is known after all of them", v.ID)
			}
		}
		between := o.Name == ir.EnterTurn || o.Name == ir.LeaveTurn
		if (between || o.Accumulates() != "") && !o.PerMicro() || between && o.Task == nil {
			bad(o, "there are no microbatches to be between")
		}
		switch {
		case o.Name == ir.EnterTurn && len(o.Results) == 1:
			entered[o.Results[0]] = true
		case o.Name == ir.LeaveTurn && len(o.Args) == 2:
			if x := o.Args[0]; !entered[x] || x.Def.Task != o.Task || x.Def.Run != o.Run {
				bad(o, "its first operand has not entered the turn, or has left it")
			}
			delete(entered, o.Args[0])
		}
	}
	if len(entered) > 0 {
		bad(nil, "%d values enter turns and do not leave them", len(entered))
	}
	for _, r := range f.Results {
		if r.Value != nil && r.Value.PerMicro() {
			bad(nil, "result %s %q is one of each microbatch", r.Role, r.Path)
		}
	}
}

// turns checks that every task has its turns: once, or for every microbatch once.
func (c *checker) turns(f *ir.Func, number map[*ir.Task]int, bad func(*ir.Op, string, ...any)) {
	had := map[ir.Turn]bool{}
	count := map[*ir.Task]int{}
	for _, t := range f.Turns {
		if number[t.Task] == 0 || t.Micro < 0 || t.Micro >= max(1, f.Micro) || had[t] || t.Once && t.Micro != 0 {
			bad(nil, "a turn of what is no task, or twice of the same")
			return
		}
		had[t] = true
		count[t.Task]++
	}
	for _, t := range f.Tasks {
		if want := f.Micro; t.Once && count[t] != 1 || !t.Once && count[t] != want {
			bad(nil, "task `%s` has %d turns", t.Name, count[t])
		}
	}
}
