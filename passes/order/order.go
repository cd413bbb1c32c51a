package order

import (
	"slices"
	"sort"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

type span struct{ lo, hi int64 }

// spanSet is bytes: spans that do not touch one another, by lo. Any number of calls
// may follow one another without a wait, so that finding one takes logarithmic
// time.
type spanSet []span

// after is the first span of x that ends behind at.
func (x spanSet) after(at int64) int {
	return sort.Search(len(x), func(i int) bool { return x[i].hi > at })
}

func (x spanSet) meetsAny(spans []span) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		i := x.after(s.lo)
		return i < len(x) && x[i].lo < s.hi
	})
}

// add joins spans with those that they meet or touch.
func (x *spanSet) add(spans []span) {
	for _, s := range spans {
		if s.lo >= s.hi {
			continue
		}
		i := x.after(s.lo - 1)
		j := i
		for ; j < len(*x) && (*x)[j].lo <= s.hi; j++ {
			s.lo, s.hi = min(s.lo, (*x)[j].lo), max(s.hi, (*x)[j].hi)
		}
		*x = slices.Replace(*x, i, j, s)
	}
}

// Run sets wait on every call.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		waits := 0
		at := map[*ir.Value]int64{}
		for _, a := range f.Args {
			at[a.Value] = a.At.Bytes()
		}
		var reads, writes spanSet // since the last wait
		elsewhere := op.Memories(f)
		for _, o := range f.Ops {
			r, w := spans(o, at, elsewhere)
			if op.Has(o, op.InPlace) {
				o.Wait = ir.Waits(false) // it is no instruction
				continue
			}
			wait := op.Of(o).Class == op.Collective || writes.meetsAny(r) || writes.meetsAny(w) || reads.meetsAny(w)
			if wait {
				waits++
				reads, writes = reads[:0], writes[:0]
			}
			reads.add(r)
			writes.add(w)
			o.Wait = ir.Waits(wait)
		}
		c.Remarkf(nil, "@%s: %d calls, %d waits", f.Name, len(f.Ops), waits)
	}
	return nil
}

// spans lists the bytes that o reads and writes, and notes where its results
// are. What is in another memory only transfers touch, which wait in any case.
func spans(o *ir.Op, at map[*ir.Value]int64, elsewhere map[*ir.Value]ir.Memory) (reads, writes []span) {
	for _, a := range o.Args {
		if elsewhere[a] != ir.Device {
			continue
		}
		reads = append(reads, span{at[a], at[a] + int64(a.Type.Bytes())})
	}
	for i, r := range o.Results {
		at[r] = o.At[i]
		if elsewhere[r] != ir.Device {
			continue
		}
		writes = append(writes, span{at[r], at[r] + int64(r.Type.Bytes())})
	}
	return reads, writes
}
