package memory

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/internal/ranges"
	"ptc/internal/rolled"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
)

// family is where the instances of a value are, of a stack and of microbatches.
type family struct {
	memory ir.Memory
	rolled.Place
	bytes int64
	count int
}

func familyOf(x excerpt.Placed) family {
	return family{x.Memory, x.Place, x.Bytes(), x.Value.Count()}
}

// hull is all bytes of the instances, and those between.
func (x family) hull() ranges.Span {
	lo, hi := x.Ends(x.bytes, x.count)
	return ranges.Span{Lo: lo, Hi: hi + x.Width()}
}

// meets reports whether instances of x and y share bytes, or those of one and bytes
// between those of the other; of two in rows of the same step, it looks between.
func (x family) meets(y family) bool {
	if x.memory != y.memory || !x.hull().Meets(y.hull()) {
		return false
	}
	if x.Step != y.Step || x.MicroStep != 0 || y.MicroStep != 0 || x.Step <= 0 || x.Ring < x.count || y.Ring < y.count {
		return true
	}
	// y's k+d is by at+d·step from x's k: two d at most bring it near enough.
	for d := (x.At - y.At - y.bytes) / x.Step; d*x.Step < x.At-y.At+x.bytes; d++ {
		if at := y.At + d*x.Step; d > -int64(x.count) && d < int64(y.count) && x.At < at+y.bytes && at < x.At+x.bytes {
			return true
		}
	}
	return false
}

// repeated is what is wrong with places of what a run or a tick has: that of what enters
// is that of what was left, and of the first instance, that of what is outside.
func repeated(f *ir.Func) diag.List {
	var bugs diag.List
	at := map[*ir.Value]family{}
	for _, x := range excerpt.Places(f) {
		at[x.Value] = familyOf(x)
	}
	for i, o := range f.Ops {
		bug := func(format string, args ...any) {
			bugs = append(bugs, &diag.Error{Code: "E0391", Pos: o.Pos, Msg: fmt.Sprintf("@%s: %d: ", f.Name, i) + fmt.Sprintf(format, args...)})
		}
		if len(o.At) != len(o.Results) || o.Spread != nil && len(o.Spread) != len(o.Results) {
			bug("%s has no place for every result", o.Name)
			return bugs
		}
		if o.Name == op.LeaveTick && len(o.Args) == 2 {
			x, y, w := at[o.Args[0]], at[o.Args[1]], at[o.Result()]
			x.MicroRing, y.MicroRing = 0, 0
			if x.MicroStep != 0 || x != y || x != w {
				bug("what enters a tick, and what leaves it, are not in one place")
			}
		}
		if o.Name != op.Leave || len(o.Args) != 2 || o.Args[0].Def == nil || o.Args[0].Def.Name != op.Enter {
			continue
		}
		x, y, v0, w := at[o.Args[0]], at[o.Args[1]], at[o.Args[0].Def.Args[0]], at[o.Result()]
		if k, ok := o.Run.Way().Follows(x.Place, y.Place, 0); !ok {
			bug("what enters instance %d of `%s` is not where the one before left it", k, o.Run.Stack.Name)
		}
		for _, z := range []family{y, v0, w} {
			if z.MicroStep != x.MicroStep || x.MicroStep != 0 && z.MicroRing != x.MicroRing {
				bug("what goes from instance to instance of `%s` is not in one ring of places of microbatches", o.Run.Stack.Name)
			}
		}
		first, last := o.Run.Way().Ends()
		if x.Of(first, 0) != v0.At || x.memory != v0.memory {
			bug("what enters the first instance of `%s` is not where it is outside", o.Run.Stack.Name)
		}
		if y.Of(last, 0) != w.At || y.memory != w.memory {
			bug("what the last instance of `%s` leaves is not where it is outside", o.Run.Stack.Name)
		}
	}
	return bugs
}
