package order

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

type span struct{ lo, hi int64 }

func (s span) meets(t span) bool { return s.lo < t.hi && t.lo < s.hi }

// Run sets wait on every call.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "kernel" {
			continue
		}
		waits := 0
		at := map[*ir.Value]int64{}
		for _, a := range f.Args {
			at[a.Value] = a.Attrs.Int("at", 0)
		}
		var reads, writes []span // since the last wait
		elsewhere := op.Memories(f)
		for _, o := range f.Ops {
			r, w := spans(o, at, elsewhere)
			if op.InPlace(o) {
				o.Attrs = o.Attrs.With("wait", ir.BoolVal(false)) // it is no instruction
				continue
			}
			wait := op.Of(o).Class == op.Collective || meet(r, writes) || meet(w, writes) || meet(w, reads)
			if wait {
				waits++
				reads, writes = reads[:0], writes[:0]
			}
			reads, writes = append(reads, r...), append(writes, w...)
			o.Attrs = o.Attrs.With("wait", ir.BoolVal(wait))
		}
		c.Remarkf(nil, "@%s: %d calls, %d waits", f.Name, len(f.Ops), waits)
	}
	return nil
}

// spans lists the bytes that o reads and writes, and notes where its results
// are. What is in another memory only transfers touch, which wait in any case.
func spans(o *ir.Op, at map[*ir.Value]int64, elsewhere map[*ir.Value]string) (reads, writes []span) {
	for _, a := range o.Args {
		if elsewhere[a] != "" {
			continue
		}
		reads = append(reads, span{at[a], at[a] + int64(a.Type.Bytes())})
	}
	for i, r := range o.Results {
		at[r] = o.Attrs.Ints("at")[i]
		if elsewhere[r] != "" {
			continue
		}
		writes = append(writes, span{at[r], at[r] + int64(r.Type.Bytes())})
	}
	return reads, writes
}

func meet(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.meets(y) {
				return true
			}
		}
	}
	return false
}
