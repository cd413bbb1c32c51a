package order

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() { verify.AtLevel(ir.Planned, "waits", Check) }

// access is bytes that a call uses since the last wait.
type access struct {
	lo, hi int64
	writes bool
	call   int
}

// Check proves that no call that does not wait touches bytes that a call since
// the last wait writes, or writes those that one of them reads; and that every
// exchange waits, as do transfers, so that what is in other memories needs no
// proof. Functions without waits, which this package has not seen yet,
// have nothing to prove.
func Check(m *ir.Module) diag.List {
	var bugs diag.List
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			bugs = append(bugs, waits(f)...)
		}
	}
	return bugs
}

func waits(f *ir.Func) diag.List {
	var bugs diag.List
	bug := func(o *ir.Op, format string, args ...any) {
		bugs = append(bugs, &diag.Error{Code: "E0394", Pos: o.Pos, Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)})
	}
	ordered := 0
	for _, o := range f.Ops {
		if o.Wait != ir.WaitUnset {
			ordered++
		}
	}
	if ordered == 0 {
		return nil
	}
	at := map[*ir.Value]int64{}
	for _, a := range f.Args {
		at[a.Value] = a.At.Bytes()
	}
	var since []access
	var reads, writes ranges.Map[bool] // the bytes of since: most calls meet none of them
	elsewhere := op.Memories(f)
	for i, o := range f.Ops {
		if o.Wait == ir.WaitUnset {
			bug(o, "%d: `%s` does not say whether it waits", i, o.Name)
			return bugs
		}
		if o.Wait == ir.WaitAll {
			since, reads, writes = since[:0], ranges.Map[bool]{}, ranges.Map[bool]{}
		} else if op.Of(o).Class == op.Collective && !op.Has(o, op.InPlace) {
			bug(o, "%d: `%s` does not wait", i, o.Name)
		}
		var mine []access
		for _, v := range o.Args {
			if elsewhere[v] == ir.Device {
				mine = append(mine, access{at[v], at[v] + int64(v.Type.Bytes()), false, i})
			}
		}
		for j, v := range o.Results {
			if places := o.At; j < len(places) { // memory.Check misses others
				at[v] = places[j]
			}
			if elsewhere[v] == ir.Device {
				mine = append(mine, access{at[v], at[v] + int64(v.Type.Bytes()), true, i})
			}
		}
		if op.Has(o, op.InPlace) {
			continue // it touches nothing
		}
		for _, x := range mine {
			if !writes.Any(x.lo, x.hi) && !(x.writes && reads.Any(x.lo, x.hi)) {
				continue
			}
			for _, y := range since {
				if x.lo < y.hi && y.lo < x.hi && (x.writes || y.writes) {
					bug(o, "%d: `%s` does not wait for %d, whose bytes from %d on it uses", i, o.Name, y.call, max(x.lo, y.lo))
				}
			}
		}
		since = append(since, mine...)
		for _, x := range mine {
			if x.writes {
				writes.Set(x.lo, x.hi, true)
			} else {
				reads.Set(x.lo, x.hi, true)
			}
		}
	}
	return bugs
}
