package assemble

import (
	"slices"

	"ptc/ir"
	"ptc/runtime/program"
)

// averages copies how validation averages: what no rule is about is the mean of its rows.
func averages(m *ir.Module) []program.Average {
	if !slices.ContainsFunc(m.Funcs, func(f *ir.Func) bool { return programName(f) == "eval" }) {
		return nil
	}
	out := []program.Average{{Rows: 1, Terms: []program.AverageTerm{{}}}}
	t := m.MetaTerm("averages")
	if t == nil {
		return out
	}
	for _, r := range t.Args.Terms("rules") {
		a := program.Average{Name: r.Args.Text("of"), Rows: int(r.Args.Int("rows", 1))}
		for _, x := range r.Args.Terms("terms") {
			a.Terms = append(a.Terms, program.AverageTerm{Sum: x.Args.Text("sum"), Weight: x.Args.Text("weight"),
				Floor: x.Args.Float("at_least", 0), Plus: x.Args.Float("plus", 0), Zero: x.Args.Bool("zero"), Related: x.Args.Text("related")})
		}
		if a.Name == "" {
			out[0] = a
			continue
		}
		a.Stat = ir.MetricPath(a.Name)
		out = append(out, a)
	}
	return out
}
