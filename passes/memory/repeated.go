package memory

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// family is where the instances of a value are, of a stack and of microbatches: instance
// k for microbatch m is Step·(k mod Ring) + MicroStep·(m mod MicroRing) bytes behind the
// first place.
type family struct {
	memory   ir.Memory
	at, size int64
	ir.Spread
	count int
}

// of is where instance k begins, of the first microbatch.
func (x family) of(k int) int64 { return x.at + x.Of(k, 0) }

// hull is all bytes of the instances, and those between.
func (x family) hull() span {
	s := span{x.at, x.at + x.size}
	if last := x.Step * int64(max(1, min(x.Ring, x.count))-1); last < 0 {
		s.lo += last
	} else {
		s.hi += last
	}
	s.hi += x.MicroStep * int64(max(1, x.MicroRing)-1)
	return s
}

// meets reports whether instances of x and y share bytes, or those of one and bytes
// between those of the other; of two in rows of the same step, it looks between.
func (x family) meets(y family) bool {
	if x.memory != y.memory || !x.hull().meets(y.hull()) {
		return false
	}
	if x.Step != y.Step || x.MicroStep != 0 || y.MicroStep != 0 || x.Step <= 0 || x.Ring < x.count || y.Ring < y.count {
		return true
	}
	// y's k+d is by at+d·step from x's k: two d at most bring it near enough.
	for d := (x.at - y.at - y.size) / x.Step; d*x.Step < x.at-y.at+x.size; d++ {
		if d > -int64(x.count) && d < int64(y.count) && (span{x.at, x.at + x.size}).meets(span{y.at + d*x.Step, y.at + d*x.Step + y.size}) {
			return true
		}
	}
	return false
}

// repeated is what is wrong with places of what a run or a turn has: that of what enters
// is that of what was left, and of the first instance, that of what is outside.
func repeated(f *ir.Func) diag.List {
	var bugs diag.List
	at := map[*ir.Value]family{}
	memory := op.Memories(f)
	note := func(v *ir.Value, lo int64, s ir.Spread) {
		at[v] = family{memory[v], lo, int64(v.Type.Bytes()), s, v.Count()}
	}
	for _, a := range f.Args {
		note(a.Value, a.At.Bytes(), a.Spread)
	}
	for i, o := range f.Ops {
		bug := func(format string, args ...any) {
			bugs = append(bugs, &diag.Error{Code: "E0391", Pos: o.Pos, Msg: fmt.Sprintf("@%s: %d: ", f.Name, i) + fmt.Sprintf(format, args...)})
		}
		if len(o.At) != len(o.Results) || o.Spread != nil && len(o.Spread) != len(o.Results) {
			bug("%s has no place for every result", o.Name)
			return bugs
		}
		for j, v := range o.Results {
			s := ir.Spread{}
			if o.Spread != nil {
				s = o.Spread[j]
			}
			note(v, o.At[j], s)
		}
		if o.Name == op.LeaveTurn && len(o.Args) == 2 {
			x, y, w := at[o.Args[0]], at[o.Args[1]], at[o.Result()]
			x.MicroRing, y.MicroRing = 0, 0
			if x.MicroStep != 0 || x != y || x != w {
				bug("what enters a turn, and what leaves it, are not in one place")
			}
		}
		if o.Name != op.Leave || len(o.Args) != 2 || o.Args[0].Def == nil || o.Args[0].Def.Name != op.Enter {
			continue
		}
		x, y, v0, w := at[o.Args[0]], at[o.Args[1]], at[o.Args[0].Def.Args[0]], at[o.Result()]
		if k, ok := coincide(o.Run, x, y); !ok {
			bug("what enters instance %d of `%s` is not where the one before left it", k, o.Run.Stack.Name)
		}
		for _, z := range []family{y, v0, w} {
			if z.MicroStep != x.MicroStep || x.MicroStep != 0 && z.MicroRing != x.MicroRing {
				bug("what goes from instance to instance of `%s` is not in one ring of places of microbatches", o.Run.Stack.Name)
			}
		}
		first, last := o.Run.Ends()
		if x.of(first) != v0.at || x.memory != v0.memory {
			bug("what enters the first instance of `%s` is not where it is outside", o.Run.Stack.Name)
		}
		if y.of(last) != w.at || y.memory != w.memory {
			bug("what the last instance of `%s` leaves is not where it is outside", o.Run.Stack.Name)
		}
	}
	return bugs
}

// coincide reports whether what enters each instance of a run is where the one
// before left it. Places are the number of the instance, or that modulo a ring, times a
// step: where they are the same for the first instances, as many as there are in a ring
// of either and two more, they are for all.
func coincide(run *ir.Run, x, y family) (at int, ok bool) {
	n := run.Stack.Count
	some := 2
	for _, r := range []int{x.Ring, y.Ring} {
		if r > 0 && r < n {
			some *= r
		}
	}
	for i := 1; i < n && i <= some+2; i++ {
		k, before := i, i-1
		if run.Down {
			k, before = n-1-i, n-i
		}
		if x.of(k) != y.of(before) {
			return k, false
		}
	}
	return 0, true
}
