package overlap

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() {
	for _, l := range []ir.Level{ir.Local, ir.Fused, ir.Planned} {
		verify.AtLevel(l, "started collectives", Check)
	}
}

// Check proves that every collective that is started is waited for once: its
// results are the operands, all of them and in order, of one `done`, and
// nothing else reads them; and that not too many are under way.
func Check(m *ir.Module) diag.List {
	var bugs diag.List
	for _, f := range m.Funcs {
		bugs = append(bugs, checkFunc(f)...)
	}
	return bugs
}

func checkFunc(f *ir.Func) diag.List {
	var bugs diag.List
	bug := func(o *ir.Op, format string, args ...any) {
		bugs = append(bugs, &diag.Error{Code: "E0393", Pos: o.Pos, Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)})
	}
	pending := map[*ir.Value]*ir.Op{}
	open := map[string]int{}
	for _, o := range f.Ops {
		if op.Has(o, op.Completes) {
			x := o.Args[0].Def
			if x == nil || !x.Start || len(x.Results) != len(o.Args) {
				bug(o, "`done` of what was not started")
				continue
			}
			for i, a := range o.Args {
				if a != x.Results[i] || pending[a] != x {
					bug(o, "`done` of %%%d, which is not under way", a.ID)
				}
				delete(pending, a)
			}
			open[fmt.Sprint(x.Attrs.Names("over"))]--
			continue
		}
		for _, a := range o.Args {
			if pending[a] != nil || a.Def != nil && a.Def.Start {
				bug(o, "`%s` reads %%%d before its `done`", o.Name, a.ID)
			}
		}
		if !o.Start {
			continue
		}
		for _, r := range o.Results {
			pending[r] = o
		}
		key := fmt.Sprint(o.Attrs.Names("over"))
		if open[key]++; open[key] > MaxOpen {
			bug(o, "more than %d collectives over %s are under way", MaxOpen, key)
		}
	}
	for _, o := range f.Ops {
		for i, r := range o.Results {
			if pending[r] != nil && i == 0 {
				bug(o, "`%s` is started and never done", o.Name)
			}
		}
	}
	for _, r := range f.Results {
		if r.Value.Def != nil && r.Value.Def.Start {
			bug(r.Value.Def, "result %s %q leaves before its `done`", r.Role, r.Path)
		}
	}
	return bugs
}
